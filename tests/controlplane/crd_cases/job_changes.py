"""Changes of a Job that exists."""

from tests.controlplane.crd_cases.builders import BASIC, EXIT_42, RACK, Case, failure_rule, gang_job, indexed, job

JOB_CHANGES = (
    Case(name="change of minCount", first=gang_job(4, parallelism=4), then=gang_job(3, parallelism=4)),
    Case(name="gang of all becomes gang of some", first=gang_job(parallelism=4), then=gang_job(3, parallelism=4)),
    Case(name="both grow at once", first=gang_job(4, parallelism=4), then=gang_job(6, parallelism=6)),
    Case(name="both shrink at once", first=gang_job(4, parallelism=4), then=gang_job(2, parallelism=2)),
    Case(name="suspended later", first=job(), then=job(suspend=True)),
    Case(
        name="limits changed", first=job(), then=job(backoffLimit=1, activeDeadlineSeconds=9, ttlSecondsAfterFinished=0)
    ),
    Case(name="indexes added", first=indexed(), then=indexed(completions=9, parallelism=9)),
    Case(name="completions written out", first=job(), then=job(completions=1)),
    Case(name="parallelism raised from nothing", first=job(), then=job(parallelism=3)),
    Case(
        name="parallelism below minCount",
        first=gang_job(4, parallelism=4),
        then=gang_job(4, parallelism=3),
        refused="minCount 4 is above parallelism 3: lower minCount or raise parallelism",
    ),
    Case(
        name="gang added",
        first=job(),
        then=gang_job(),
        refused="scheduling: Forbidden: cannot be added or removed after creation",
    ),
    Case(
        name="gang removed",
        first=gang_job(),
        then=job(),
        refused="scheduling: Forbidden: cannot be added or removed after creation",
    ),
    Case(
        name="policy added",
        first=job(scheduling={}),
        then=job(scheduling={"schedulingPolicy": BASIC}),
        refused="schedulingPolicy: Forbidden: cannot be added or removed after creation",
    ),
    Case(
        name="gang to basic",
        first=gang_job(),
        then=job(scheduling={"schedulingPolicy": BASIC}),
        refused="the policy cannot change between gang and basic",
    ),
    Case(
        name="constraints added",
        first=job(scheduling={"schedulingPolicy": {"gang": {}}}),
        then=job(scheduling={"schedulingPolicy": {"gang": {}}, "schedulingConstraints": {"topology": [RACK]}}),
        refused="schedulingConstraints: Forbidden: cannot change after creation",
    ),
    Case(
        name="image changed",
        first=job(),
        then=job({"containers": [{"name": "main", "image": "alpine"}]}),
        refused="spec.template: Forbidden: cannot change after creation: delete the Job and create it anew",
    ),
    Case(
        name="image of a suspended Job changed",
        first=job(suspend=True),
        then=job({"containers": [{"name": "main", "image": "alpine"}]}, suspend=True),
        refused="spec.template: Forbidden",
    ),
    Case(
        name="tolerations of a suspended Job changed",
        first=job(suspend=True),
        then=job({"tolerations": [{"operator": "Exists"}]}, suspend=True),
        refused="spec.template: Forbidden",
        differs="upstream lets a suspended Job be placed elsewhere",
    ),
    Case(
        name="completions changed",
        first=job(completions=4, parallelism=2),
        then=job(completions=5, parallelism=2),
        refused="cannot change after creation, except for an Indexed Job",
    ),
    Case(
        name="indexes added alone",
        first=indexed(),
        then=indexed(completions=9),
        refused="can only change together with parallelism: set both to the same value",
    ),
    Case(
        name="completion mode changed",
        first=indexed(),
        then=job(completions=8, parallelism=8),
        refused="completionMode: Forbidden: cannot change after creation",
    ),
    Case(
        name="failure policy added",
        first=job(),
        then=failure_rule(EXIT_42),
        refused="podFailurePolicy: Forbidden: cannot change after creation",
    ),
    Case(
        name="success policy removed",
        first=indexed(successPolicy={"rules": [{"succeededCount": 1}]}),
        then=indexed(),
        refused="successPolicy: Forbidden: cannot change after creation",
    ),
    Case(
        name="limit per index changed",
        first=indexed(backoffLimitPerIndex=1),
        then=indexed(backoffLimitPerIndex=2),
        refused="backoffLimitPerIndex: Forbidden: cannot change after creation",
    ),
    Case(
        name="manager added",
        first=job(),
        then=job(managedBy="acme.io/jobs"),
        refused="managedBy: Forbidden: cannot change after creation",
    ),
    Case(
        name="selector made manual",
        first=job(),
        then=job(manualSelector=True),
        refused="manualSelector: Forbidden: cannot change after creation",
        differs="upstream takes it and does nothing",
    ),
)
