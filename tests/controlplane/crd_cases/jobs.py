"""Jobs as they are created."""

from tests.controlplane.crd_cases.builders import BASIC, EXIT_42, Case, failure_rule, gang_job, indexed, job

JOBS = (
    Case(name="plain", first=job()),
    Case(name="gang of all", first=gang_job(parallelism=4)),
    Case(name="gang of some", first=gang_job(3, parallelism=4)),
    Case(name="gang of one by default", first=gang_job(1)),
    Case(name="gang of none for now", first=gang_job(parallelism=0)),
    Case(name="basic", first=job(scheduling={"schedulingPolicy": BASIC})),
    Case(name="scheduling without policy", first=job(scheduling={})),
    Case(name="work queue", first=job(parallelism=4)),
    Case(
        name="indexed with all policies",
        first=indexed(
            backoffLimitPerIndex=1,
            maxFailedIndexes=2,
            podFailurePolicy={
                "rules": [{"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [0, 3]}}]
            },
            successPolicy={"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 1}]},
        ),
    ),
    Case(name="minCount 0", first=gang_job(0), refused="greater than or equal to 1"),
    Case(
        name="minCount above parallelism",
        first=gang_job(5, parallelism=4),
        refused="minCount 5 is above parallelism 4: lower minCount or raise parallelism",
    ),
    Case(
        name="minCount above unset parallelism",
        first=gang_job(2),
        refused="minCount 2 is above parallelism 1: lower minCount or raise parallelism",
    ),
    Case(
        name="neither policy",
        first=job(scheduling={"schedulingPolicy": {}}),
        refused="no policy is set: set gang or basic",
    ),
    Case(
        name="both policies",
        first=job(scheduling={"schedulingPolicy": {**BASIC, "gang": {}}}),
        refused="basic and gang exclude each other: remove one of them",
    ),
    Case(
        name="all go together without a gang",
        first=job(scheduling={"disruptionMode": {"all": {}}}),
        refused="all needs a gang: set schedulingPolicy.gang or choose single",
    ),
    Case(
        name="gang at the wrong place",
        first=job(schedulingPolicy={"gang": {}}),
        refused='unknown field "spec.schedulingPolicy"',
    ),
    Case(
        name="no restart policy",
        first=job({"restartPolicy": None}),
        refused="a Job cannot use the default, Always: set Never or OnFailure",
    ),
    Case(
        name="restart always", first=job({"restartPolicy": "Always"}), refused='supported values: "Never", "OnFailure"'
    ),
    Case(name="no container", first=job({"containers": None}), refused="spec.template.spec.containers"),
    Case(
        name="containers of one name",
        first=job({"containers": [{"name": "a", "image": "b"}, {"name": "a", "image": "c"}]}),
        refused="Duplicate value",
    ),
    Case(
        name="field that no pod has",
        first=job({"colour": "red"}),
        differs="shown as a condition when the batch/v1 Job is made",
    ),
    Case(
        name="rule on a container that is not there",
        first=failure_rule(
            {"action": "Ignore", "onExitCodes": {"containerName": "x", "operator": "In", "values": [1]}}
        ),
        differs="shown as a condition when the batch/v1 Job is made",
    ),
    Case(
        name="success of an index that is not there",
        first=indexed(successPolicy={"rules": [{"succeededIndexes": "8"}]}),
        differs="shown as a condition when the batch/v1 Job is made",
    ),
    Case(
        name="null for unset", first=job(completions=None, scheduling={"schedulingPolicy": {"basic": None, "gang": {}}})
    ),
    Case(name="parallelism below 0", first=job(parallelism=-1), refused="greater than or equal to 0"),
    Case(
        name="name with a dot",
        first={**job(), "metadata": {"name": "train.v2"}},
        refused="must be at most 63 characters without '.'",
        differs="upstream warns",
    ),
    Case(
        name="name too long", first={**job(), "metadata": {"name": "j" * 64}}, refused="must be at most 63 characters"
    ),
    Case(name="longest name", first={**job(), "metadata": {"name": "j" * 63}}),
    Case(
        name="name too long for its indexes",
        first={**indexed(completions=200), "metadata": {"name": "j" * 60}},
        refused="must be at most 59 characters with 200 indexes",
    ),
    Case(name="longest name for its indexes", first={**indexed(completions=200), "metadata": {"name": "j" * 59}}),
    Case(
        name="indexed without completions",
        first=job(completionMode="Indexed", parallelism=2),
        refused="an Indexed Job has one index for each completion: set completions",
    ),
    Case(
        name="indexed with too many at once",
        first=indexed(parallelism=100_001, completions=100_001),
        refused="must be at most 100000 when completionMode is Indexed",
    ),
    Case(
        name="limit per index without indexes",
        first=job(backoffLimitPerIndex=1),
        refused="needs indexes: set completionMode to Indexed",
    ),
    Case(
        name="failed indexes without limit per index",
        first=indexed(maxFailedIndexes=1),
        refused="set backoffLimitPerIndex",
    ),
    Case(
        name="more failed indexes than there are",
        first=indexed(backoffLimitPerIndex=1, maxFailedIndexes=9),
        refused="must be at most completions",
    ),
    Case(
        name="very many indexes without limit",
        first=indexed(completions=100_001, backoffLimitPerIndex=1),
        refused="must be set, to at most 10000, when completions is above 100000",
    ),
    Case(
        name="very many indexes with many at once",
        first=indexed(completions=100_001, parallelism=10_001, backoffLimitPerIndex=1, maxFailedIndexes=1),
        refused="must be at most 10000 when completions is above 100000",
    ),
    Case(
        name="success policy without indexes",
        first=job(completions=2, successPolicy={"rules": [{"succeededCount": 1}]}),
        refused="needs indexes: set completionMode to Indexed",
    ),
    Case(
        name="success rule that says nothing",
        first=indexed(successPolicy={"rules": [{}]}),
        refused="set succeededIndexes or succeededCount",
    ),
    Case(name="no success rule", first=indexed(successPolicy={"rules": []}), refused="should have at least 1 items"),
    Case(
        name="more successes than indexes",
        first=indexed(successPolicy={"rules": [{"succeededCount": 9}]}),
        refused="succeededCount must be at most completions",
    ),
    Case(name="failure rule on exit codes", first=failure_rule(EXIT_42)),
    Case(
        name="failure rule on conditions",
        first=failure_rule({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}),
    ),
    Case(
        name="failure rule on nothing",
        first=failure_rule({"action": "Ignore"}),
        refused="set exactly one of onExitCodes and onPodConditions",
    ),
    Case(
        name="failure rule on both",
        first=failure_rule({**EXIT_42, "onPodConditions": [{"type": "DisruptionTarget"}]}),
        refused="set exactly one of onExitCodes and onPodConditions",
    ),
    Case(
        name="failure rule on success",
        first=failure_rule({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [0, 1]}}),
        refused="0 is success and cannot be matched by In",
    ),
    Case(
        name="exit codes in disorder",
        first=failure_rule({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3, 2]}}),
        refused="must be in rising order",
    ),
    Case(
        name="exit codes twice",
        first=failure_rule({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [2, 2]}}),
        refused="Duplicate value",
    ),
    Case(
        name="unknown action",
        first=failure_rule({**EXIT_42, "action": "Retry"}),
        refused='supported values: "FailJob", "FailIndex", "Ignore", "Count"',
    ),
    Case(
        name="index fails without limit per index",
        first=failure_rule({**EXIT_42, "action": "FailIndex"}),
        refused="FailIndex needs backoffLimitPerIndex",
    ),
    Case(
        name="failure policy with restarts",
        first=job({"restartPolicy": "OnFailure"}, podFailurePolicy={"rules": [EXIT_42]}),
        refused="must be Never when podFailurePolicy is set",
    ),
    Case(
        name="failure policy with early replacement",
        first=failure_rule(EXIT_42, podReplacementPolicy="TerminatingOrFailed"),
        refused="must be Failed, or unset, when podFailurePolicy is set",
    ),
    Case(name="managed by another", first=job(managedBy="acme.io/jobs")),
    Case(name="manager without domain", first=job(managedBy="jobs"), refused="must be a domain, '/' and a path"),
    Case(name="manager without path", first=job(managedBy="acme.io/"), refused="must be a domain, '/' and a path"),
)
