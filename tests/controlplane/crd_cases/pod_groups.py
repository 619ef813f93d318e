"""PodGroups, whole and changed."""

from tests.controlplane.crd_cases.builders import BASIC, CLAIM, RACK, ZONE, Case, gang, pod_group

POD_GROUPS = (
    Case(name="gang", first=pod_group(gang(1))),
    Case(name="basic", first=pod_group(BASIC)),
    Case(name="of a workload", first=pod_group(workloadRef={"workloadName": "llm.v2", "templateName": "decode"})),
    Case(name="of a class", first=pod_group(priorityClassName="high")),
    Case(
        name="no spec",
        first={"apiVersion": "scheduling.ganglift.dev/v1beta1", "kind": "PodGroup"},
        refused="spec: Requ",
    ),
    Case(name="neither policy", first=pod_group({}), refused="no policy is set: set gang with a minCount, or basic"),
    Case(name="both policies", first=pod_group({**BASIC, **gang(2)}), refused="basic and gang exclude each other"),
    Case(name="minCount 0", first=pod_group(gang(0)), refused="greater than or equal to 1"),
    Case(name="minCount below 0", first=pod_group(gang(-3)), refused="greater than or equal to 1"),
    Case(name="no minCount", first=pod_group({"gang": {}}), refused="minCount: Required value"),
    Case(name="unknown policy", first=pod_group({"pack": {}}), refused='unknown field "spec.schedulingPolicy.pack"'),
    Case(
        name="reference without template",
        first=pod_group(workloadRef={"workloadName": "llm"}),
        refused="templateName: Required value",
    ),
    Case(
        name="reference of other letters",
        first=pod_group(workloadRef={"workloadName": "llm/2", "templateName": "a"}),
        refused="must be the name of a Workload",
    ),
    Case(
        name="both disruption modes",
        first=pod_group(disruptionMode={"single": {}, "all": {}}),
        refused="set exactly one of single and all",
    ),
    Case(name="no disruption mode", first=pod_group(disruptionMode={}), refused="set exactly one of single and all"),
    Case(
        name="topology key that is none",
        first=pod_group(schedulingConstraints={"topology": [{"key": "rack of mine"}]}),
        refused="must be the key of a node label",
    ),
    Case(
        name="three levels of topology",
        first=pod_group(schedulingConstraints={"topology": [ZONE, {"key": "block"}, {**RACK, "slices": 2}]}),
        differs="upstream takes one level",
    ),
    Case(
        name="four levels of topology",
        first=pod_group(schedulingConstraints={"topology": [ZONE, {"key": "block"}, RACK, {"key": "host"}]}),
        refused="must have at most 3 items",
    ),
    Case(
        name="unknown topology mode",
        first=pod_group(schedulingConstraints={"topology": [{**RACK, "mode": "Maybe"}]}),
        refused='supported values: "Required", "Preferred"',
    ),
    Case(
        name="claim by name and template",
        first=pod_group(resourceClaims=[{**CLAIM, "resourceClaimTemplateName": "nics"}]),
        refused="set exactly one of resourceClaimName and resourceClaimTemplateName",
    ),
    Case(
        name="five claims",
        first=pod_group(resourceClaims=[{"name": f"c{i}", "resourceClaimName": "shared"} for i in range(5)]),
        refused="must have at most 4 items",
    ),
    Case(name="timeout 0", first=pod_group(scheduleTimeoutSeconds=0), refused="greater than or equal to 1"),
    Case(
        name="name too long for a label",
        first={**pod_group(), "metadata": {"name": "g" * 64}},
        refused="must be at most 63 characters: pods join the group by a label",
        differs="upstream's pods name their group in a field",
    ),
    Case(name="change of minCount", first=pod_group(gang(4)), then=pod_group(gang(3))),
    Case(
        name="change of the timeout",
        first=pod_group(),
        then=pod_group(scheduleTimeoutSeconds=5),
        differs="a field of ours",
    ),
    Case(
        name="default disruption mode written out",
        first=pod_group(),
        then=pod_group(disruptionMode={"single": {}}),
    ),
    Case(
        name="gang to basic",
        first=pod_group(),
        then=pod_group(BASIC),
        refused="the policy cannot change between gang and basic",
    ),
    Case(
        name="workload added",
        first=pod_group(),
        then=pod_group(workloadRef={"workloadName": "a", "templateName": "b"}),
        refused="workloadRef: Forbidden: cannot change after creation: delete the PodGroup and create it anew",
    ),
    Case(
        name="disruption mode changed",
        first=pod_group(),
        then=pod_group(disruptionMode={"all": {}}),
        refused="disruptionMode: Forbidden: cannot change after creation",
    ),
    Case(
        name="constraints removed",
        first=pod_group(schedulingConstraints={"topology": [RACK]}),
        then=pod_group(),
        refused="schedulingConstraints: Forbidden: cannot change after creation",
    ),
    Case(
        name="claims changed",
        first=pod_group(resourceClaims=[CLAIM]),
        then=pod_group(resourceClaims=[{**CLAIM, "resourceClaimName": "other"}]),
        refused="resourceClaims: Forbidden: cannot change after creation",
    ),
    Case(
        name="class changed",
        first=pod_group(priorityClassName="high"),
        then=pod_group(priorityClassName="low"),
        refused="priorityClassName: Forbidden: cannot change after creation",
    ),
    Case(
        name="preemption policy changed",
        first=pod_group(preemptionPolicy="PreemptLowerPriority"),
        then=pod_group(preemptionPolicy="Never"),
        refused="preemptionPolicy: Forbidden: cannot change after creation",
    ),
)
