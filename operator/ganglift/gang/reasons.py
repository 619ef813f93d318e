"""The one list of reasons: of conditions, of events, of what `explain` says. Each has its paragraph for the docs.

A reason is what a user greps for, so it is never renamed; docs/troubleshooting has one section per member, checked by a
test against `Reason`. Whether an event with it is a warning is said here as well, in one place.
"""

from enum import StrEnum


class ConditionType(StrEnum):
    """Types of conditions that ganglift writes on its own kinds."""

    INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"
    """Upstream's, terminal: once True it never goes back."""
    SCHEDULED = "Scheduled"
    """Live: need members are bound now."""
    DEGRADED = "Degraded"
    """The gang was whole and has been below need for some seconds."""
    PRIORITY_MISMATCH = "PriorityMismatch"
    """Present and True while members have other priorities than each other or their group, or its class is missing."""
    DISRUPTION_TARGET = "DisruptionTarget"
    """Upstream's: the gang is about to be disrupted as one."""
    SPEC_APPLIED = "SpecApplied"
    """Of a Job: present and False while the API server refuses a change of its spec for what already runs."""
    POD_GROUPS_READY = "PodGroupsReady"
    """Of a Workload: each template has its PodGroup."""


class Reason(StrEnum):
    """Why a gang stands as it does. `text` is the paragraph for the docs, `is_warning` the type of its events."""

    text: str
    is_warning: bool

    def __new__(cls, word: str, text: str = "", is_warning: bool = False) -> "Reason":
        member = str.__new__(cls, word)
        member._value_ = word
        member.text = text
        member.is_warning = is_warning
        return member

    # Gathering.
    WAITING_FOR_MEMBERS = (
        "WaitingForMembers",
        "Fewer live pods exist than must start together. The message says how many of how many, has the API "
        "server's words where it refuses a Job's pods, and names the pattern where the owner makes its pods one after "
        "another and so never makes enough: such pods can't gather.",
    )
    WAITING_FOR_QUOTA = (
        "WaitingForQuota",
        "The namespace's ResourceQuota keeps the owner from making all pods. Gated pods count in a quota, so only the "
        "first gang in queue order gathers and later ones are parked until it has its pods, one that alone is over the "
        "quota last. Raise the quota or wait.",
    )
    WAITING_FOR_OLD_JOB = (
        "WaitingForOldJob",
        "An object of the same name from an earlier run is still there or is being deleted. The new run starts by "
        "itself as soon as the garbage collector has removed the old one; pods of the old run are not counted.",
    )
    FOREIGN_GATE = (
        "ForeignGate",
        "A member carries a scheduling gate of another owner, named in the message. ganglift removes its own gate "
        "only, and from nobody before every needed member is free of other gates. Ask the owner of that gate.",
    )
    OTHER_SCHEDULER = (
        "OtherScheduler",
        "A member names another schedulerName. The reservation works through kube-scheduler, so such pods can't count. "
        "Remove schedulerName from the pod template.",
        True,
    )
    NATIVE_SCHEDULING_GROUP = (
        "NativeSchedulingGroup",
        "A member has spec.schedulingGroup, so kube-scheduler's own gang scheduling decides about it. Use one of the "
        "two: remove schedulingGroup or remove ganglift's label and gate.",
        True,
    )
    SUSPENDED = (
        "Suspended",
        "The Job is suspended: no pods, no reservation. Set spec.suspend to false to queue the gang again.",
    )

    DELETING = ("Deleting", "The Job or the group is being deleted: nothing of it starts any more.")

    SPLIT = (
        "Split",
        "The group's pods are split by a label into groups of their own, as its annotation group-by asks. Look at "
        "those: they are named after this one and the label's value. When the annotation is changed or removed they "
        "keep the pods until you delete them.",
    )

    # Planning, reserving, lifting.
    QUEUED = ("Queued", "Enough members exist; the gang waits for the next look at the cluster.")
    UNSCHEDULABLE = (
        "Unschedulable",
        "The members that must start together do not fit on the nodes as they are now. The message says how many fit, "
        "and counts the nodes by what is wrong with them. Nothing of the gang is started and nothing is held.",
        True,
    )
    RESERVED = (
        "Reserved",
        "Every needed member has a place that kube-scheduler keeps free for it. The gates are removed once it is "
        "certain that nobody else is on the way to these places.",
    )
    LIFTING = ("Lifting", "The gates of the planned members are being removed.")
    SETTLING = (
        "Settling",
        "All gates are gone and kube-scheduler binds the members. If one of them is refused its place, it is given "
        "another; if there is none, the gang is taken back.",
    )
    HELD = (
        "Held",
        "The gang has waited long and would fit on the empty cluster, so room is held for it on the nodes named in the "
        "message, which become free one after another.",
    )
    PREEMPTING = (
        "Preempting",
        "There is no room for the whole gang, and there will be once pods of lower priority are gone, which are "
        "being evicted. Their room is reserved before it is free. An eviction that a PodDisruptionBudget forbids is "
        "asked for again; nobody is evicted for a gang that would still not fit.",
    )
    PREEMPTED = (
        "Preempted",
        "The pod was evicted so that a gang of higher priority, named in the message, fits as a whole. Members of a "
        "Job are made anew, gated, and are not counted as failed.",
        True,
    )
    BACK_OFF = (
        "BackOff",
        "The last attempt failed, as the message says. The next one comes at the time given there; the pause grows "
        "from attempt to attempt and ends early when capacity is added.",
        True,
    )
    STUCK = (
        "Stuck",
        "Members were released and could not all be bound, and some of them are pods without an owner, which ganglift "
        "does not delete since nobody would make them again. Delete and create these pods, with the gate.",
        True,
    )
    LIFT_REFUSED = (
        "LiftRefused",
        "The API server refused to remove a gate, usually by an admission policy or a webhook. The message has its "
        "own words. Nothing of the gang was started.",
        True,
    )
    FENCE_UNAVAILABLE = (
        "FenceUnavailable",
        "Other pods compete for the same nodes, and the fence pod that proves the reservation safe could not be made "
        "or was not answered by kube-scheduler. Nothing is started meanwhile. Check that the operator's namespace and "
        "the PriorityClass ganglift-fence exist and that pods may be created there.",
        True,
    )

    READY = ("Ready", "Each template of the Workload has its PodGroup.")

    # What is wrong with the objects.
    NAME_CONFLICT = (
        "NameConflict",
        "An object of the needed name exists and belongs to someone else. It is left untouched: rename it or the Job.",
        True,
    )
    CHILD_DELETED = (
        "ChildDeleted",
        "The batch/v1 Job that ran the pods was deleted before its end was seen. It is not made a second time, since "
        "the work may have been done: delete the Job and create it again to run it anew.",
        True,
    )
    REFUSED = (
        "Refused",
        "The API server refused an object that the operator wanted to create or change, for example a pod template "
        "that is not valid. The message has its own words. It is tried again with growing pauses.",
        True,
    )
    WORKLOAD_MISSING = (
        "WorkloadMissing",
        "The PodGroup names a Workload or a template that does not exist. Create it, or create the PodGroup without "
        "workloadRef.",
        True,
    )
    INVALID = (
        "Invalid",
        "The object asks for something that can't be done. The message says what to change.",
        True,
    )
    NOT_ADOPTED = (
        "NotAdopted",
        "A batch/v1 Job asks by annotation to be scheduled as a gang and can't be changed in the way that this needs. "
        "The message says what to do instead: create it suspended, or put label and gate into its pod template.",
        True,
    )
    ADOPTED = (
        "Adopted",
        "A batch/v1 Job that was created suspended, with the annotation, was given label and gate and resumed.",
    )
    MANAGED_ELSEWHERE = (
        "ManagedElsewhere",
        "spec.managedBy names another controller, so ganglift leaves this Job alone.",
    )
    PRIORITY_MISMATCH = (
        "PriorityMismatch",
        "Members have different priorities, or another one than their group. Room is defended at the lowest of them: "
        "give the pod template and the group the same PriorityClass.",
        True,
    )
    NOT_A_MEMBER = (
        "NotAMember",
        "A pod carries the group's label and does not belong to it: its owner is not the Job that the group was made "
        "for. It is not counted, and it stays gated unless its own owner is alive and no earlier run of this Job.",
        True,
    )
    NOT_GATED = (
        "NotGated",
        "A pod carries the label of a gang and was created without the gate, so kube-scheduler places it by itself, "
        "before and without the others. It counts as a member. Put the gate into the template beside the label.",
        True,
    )
    MEMBERS_REPLACED = (
        "MembersReplaced",
        "Something deletes the gang's pods while they wait behind the gate, again and again, and their owner makes "
        "them anew. The gang keeps its place in the queue, which goes by the age of the group, and can't start while "
        "that goes on: have whatever cleans up waiting pods leave those with the gate alone.",
        True,
    )
    GROUP_MISSING = (
        "GroupMissing",
        "A pod carries the label of a PodGroup that does not exist in its namespace, so it waits. Create the PodGroup "
        "or correct the label.",
        True,
    )

    # Whole, broken, over.
    SCHEDULED = ("Scheduled", "All members that must run together are bound.")
    SCHEDULER_ERROR = (
        "SchedulerError",
        "Upstream's word in PodGroupInitiallyScheduled for a failure that is not a lack of room. The Scheduled "
        "condition has the cause.",
        True,
    )
    MEMBERS_LOST = (
        "MembersLost",
        "The gang was whole and has been below its need for more than five seconds. A replacement goes before other "
        "work; with disruptionMode all the gang is restarted as one.",
        True,
    )
    NEED_RAISED = (
        "NeedRaised",
        "More members are needed than when the gang was last whole, after an edit. Running members stay.",
    )
    GANG_TAKEN_BACK = (
        "GangTakenBack",
        "The gang could not be made whole in time, so its members were taken back: the owner makes them anew, gated.",
        True,
    )
    SUCCEEDED = ("Succeeded", "The gang has done its work.")
    FAILED = ("Failed", "The Job of the gang has failed.", True)
    BASIC = ("Basic", "The group has no gang policy: each pod is scheduled by itself.")
