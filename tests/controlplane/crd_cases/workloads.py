"""Workloads, whole and changed."""

from tests.controlplane.crd_cases.builders import BASIC, CLAIM, RACK, Case, gang, template, workload

WORKLOADS = (
    Case(name="one gang", first=workload(template("workers"))),
    Case(name="gang and basic", first=workload(template("prefill"), template("decode", BASIC))),
    Case(name="eight templates", first=workload(*(template(f"t{i}") for i in range(8)))),
    Case(
        name="all fields",
        first=workload(
            template(
                "workers",
                schedulingConstraints={"topology": [RACK]},
                resourceClaims=[CLAIM],
                disruptionMode={"all": {}},
                priorityClassName="high",
                priority=1000,
                preemptionPolicy="Never",
            ),
            controllerRef={"apiGroup": "leaderworkerset.x-k8s.io", "kind": "LeaderWorkerSet", "name": "llm"},
        ),
    ),
    Case(name="no template", first=workload(), refused="spec.podGroupTemplates"),
    Case(name="nine templates", first=workload(*(template(f"t{i}") for i in range(9))), refused="must have at most 8"),
    Case(name="duplicate names", first=workload(template("a"), template("a")), refused="Duplicate value"),
    Case(name="no name", first=workload({"schedulingPolicy": gang(2)}), refused="name: Required value"),
    Case(
        name="name of other letters",
        first=workload(template("Workers_1")),
        refused="lower-case letters, digits and '-'",
    ),
    Case(name="neither policy", first=workload(template("a", {})), refused="no policy is set: set gang"),
    Case(name="both policies", first=workload(template("a", {**BASIC, **gang(2)})), refused="remove one of them"),
    Case(name="minCount 0", first=workload(template("a", gang(0))), refused="greater than or equal to 1"),
    Case(name="no minCount", first=workload(template("a", {"gang": {}})), refused="minCount: Required value"),
    Case(
        name="priority too high",
        first=workload(template("a", priority=1_000_000_001)),
        refused="or equal to 1000000000",
    ),
    Case(
        name="two priority classes",
        first=workload(template("a", priorityClassName="high"), template("b", priorityClassName="low")),
        refused="need the same priorityClassName and priority",
    ),
    Case(
        name="two priorities",
        first=workload(template("a", priority=1), template("b")),
        refused="need the same priorityClassName and priority",
    ),
    Case(
        name="unknown preemption policy",
        first=workload(template("a", preemptionPolicy="Sometimes")),
        refused='supported values: "PreemptLowerPriority", "Never"',
    ),
    Case(
        name="controller without kind",
        first=workload(template("a"), controllerRef={"name": "llm"}),
        refused="kind: Required value",
    ),
    Case(
        name="group of groups",
        first=workload(compositePodGroupTemplates=[{"name": "a", "schedulingPolicy": {"basic": {}}}]),
        refused='unknown field "spec.compositePodGroupTemplates"',
    ),
    Case(
        name="change of minCount",
        first=workload(template("a", gang(4)), template("b")),
        then=workload(template("a", gang(3)), template("b")),
    ),
    Case(
        name="change of the timeout",
        first=workload(template("a")),
        then=workload(template("a", scheduleTimeoutSeconds=5)),
        differs="a field of ours",
    ),
    Case(
        name="templates in another order",
        first=workload(template("a"), template("b")),
        then=workload(template("b"), template("a")),
    ),
    Case(
        name="template added",
        first=workload(template("a")),
        then=workload(template("a"), template("b")),
        refused="templates cannot be added, removed or renamed",
    ),
    Case(
        name="template removed",
        first=workload(template("a"), template("b")),
        then=workload(template("a")),
        refused="templates cannot be added, removed or renamed",
    ),
    Case(
        name="template renamed",
        first=workload(template("a")),
        then=workload(template("b")),
        refused="templates cannot be added, removed or renamed",
    ),
    Case(
        name="gang to basic",
        first=workload(template("a")),
        then=workload(template("a", BASIC)),
        refused="cannot change between gang and basic",
    ),
    Case(
        name="basic to gang",
        first=workload(template("a", BASIC)),
        then=workload(template("a")),
        refused="cannot change between gang and basic",
    ),
    Case(
        name="controller added",
        first=workload(template("a")),
        then=workload(template("a"), controllerRef={"kind": "Pod", "name": "x"}),
        refused="controllerRef: Forbidden: cannot change after creation",
    ),
    Case(
        name="constraints added",
        first=workload(template("a")),
        then=workload(template("a", schedulingConstraints={"topology": [RACK]})),
        refused="schedulingConstraints: Forbidden: cannot change after creation",
    ),
    Case(
        name="class changed",
        first=workload(template("a", priorityClassName="high")),
        then=workload(template("a", priorityClassName="low")),
        refused="priorityClassName: Forbidden: cannot change after creation",
    ),
    Case(
        name="disruption mode changed",
        first=workload(template("a", disruptionMode={"single": {}})),
        then=workload(template("a", disruptionMode={"all": {}})),
        refused="disruptionMode: Forbidden: cannot change after creation",
    ),
)
