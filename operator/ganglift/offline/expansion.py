"""What becomes of the objects asked for: the same steps that the handlers take, carried out on an inventory.

    1. what they stand for in the cluster already goes
    2. our Jobs become Workload, PodGroup and batch/v1 Job; Workloads become PodGroups; batch/v1 Jobs are adopted
    3. owners of templates become pods, as the API server would store them
    4. groups that are split by a label become parts

All of it is younger than anything in the cluster, and in the order of the files.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.model import Object
from ganglift.api.names import SCHEDULING, SCHEDULING_GROUP
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup, Workload
from ganglift.base.ids import Key
from ganglift.gang.actions import Announce, Create, Kind, Patch, Step
from ganglift.gang.adopt import adoption_step, names_for, wants_adoption
from ganglift.gang.child import is_hands_off, member_template
from ganglift.gang.job import JobWorld, job_step
from ganglift.gang.naming import TEMPLATE, group_names
from ganglift.gang.split import is_split, marked, part_names, parts_step, value_of
from ganglift.gang.workload import workload_step
from ganglift.offline.defaults import Defaults
from ganglift.offline.inventory import Asked, Inventory
from ganglift.offline.kinds import BY_KIND, group_of
from ganglift.offline.members import Members
from ganglift.offline.offered import Offered
from ganglift.offline.owners import Template, replicas_of, replicas_of_job
from ganglift.offline.problems import InvalidInput, Place, Problem, invalid, parsed
from ganglift.offline.replacing import replace
from ganglift.offline.rules import group_findings, rule_findings
from ganglift.offline.schema import Schema, violations

_MOST_STEPS = 12
_NEWEST_MINOR = 37
_EARLY = ("PodGroup", "Workload", "Job", "CronJob")
"""Kinds that come before all others: groups before those whose pods name them."""
_BEGINNING = datetime.fromtimestamp(0, UTC)
_MODELS: dict[Kind, type[Object]] = {
    Kind.WORKLOAD: Workload,
    Kind.POD_GROUP: PodGroup,
    Kind.BATCH_JOB: BatchJob,
}


def expand(inventory: Inventory, schemas: Mapping[tuple[str, str], Schema]) -> tuple[Key, ...]:
    """Bring what is asked for into the inventory, and return the keys of all groups that this concerns.

    `schemas` are those of our kinds. Raises InvalidInput with all that is wrong with the objects asked for.
    """
    problems = [*_duplicates(inventory), *_violations(inventory, schemas)]
    if problems:
        raise InvalidInput(problems)
    replace(inventory)
    offered = Offered(inventory)
    for asked in inventory.asked:
        for field, words in offered.topology_findings(asked):
            inventory.note(f"{asked.place}: {field}: {words}")
    return _Expansion(inventory, schemas).run()


def _duplicates(inventory: Inventory) -> Iterator[Problem]:
    seen: dict[tuple[str, str, Key], Asked] = {}
    for asked in inventory.asked:
        name = (group_of(asked.api_version), asked.kind, asked.key)
        if (first := seen.setdefault(name, asked)) is not asked:
            yield Problem(asked.place, f"there is another of that name in {first.place.file}")


def _violations(inventory: Inventory, schemas: Mapping[tuple[str, str], Schema]) -> Iterator[Problem]:
    for asked in inventory.asked:
        schema = schemas.get((group_of(asked.api_version), asked.kind))
        found = list(violations(schema, asked.data)) if schema is not None else []
        for field, words in found or rule_findings(asked):
            yield Problem(asked.place, words, field)


class _Expansion:
    """The inventory on its way, one object after the other."""

    def __init__(self, inventory: Inventory, schemas: Mapping[tuple[str, str], Schema]) -> None:
        self._inventory = inventory
        self._schemas = schemas
        self._members = Members(inventory, Defaults(inventory))
        self._concerned: dict[Key, None] = {}
        self._referring: dict[Key, list[Key]] = {}
        """PodGroups by the Workload that they refer to."""
        self._now = _BEGINNING
        for group in inventory.all(PodGroup):
            self._index(group)
            self._now = max(self._now, group.metadata.creation_timestamp or _BEGINNING)

    def run(self) -> tuple[Key, ...]:
        """Expand everything; groups first, since what comes later looks for them."""
        begun = self._now
        for number, asked in sorted(enumerate(self._inventory.asked, 1), key=_stage):
            self._now = begun + timedelta(seconds=number)
            self._expand(asked)
        self._members.finish()
        self._concerned |= dict.fromkeys(self._members.groups)
        for key in tuple(self._concerned):
            self._split(key)
        return tuple(self._concerned)

    def _expand(self, asked: Asked) -> None:
        kind = BY_KIND.get((group_of(asked.api_version), asked.kind))
        match kind.model.__name__ if kind is not None else asked.kind:
            case "PodGroup":
                self._take(self._made(PodGroup, asked))
            case "Workload":
                self._workload(self._made(Workload, asked))
            case "GangJob":
                self._job(self._made(GangJob, asked), asked.place)
            case "BatchJob":
                self._batch_job(self._made(BatchJob, asked), asked.place, "spec.template")
            case "CronJob":
                self._cron_job(asked)
            case "Pod":
                self._members.add_pod(asked, self._now)
            case _:
                for replicas in replicas_of(asked):
                    self._members.add(replicas, self._now)

    def _made(self, model: type[Object], asked: Asked) -> Any:
        """Return an object as it is once it has been created."""
        metadata = asked.data["metadata"] | {"uid": asked.uid, "creationTimestamp": self._now, "generation": 1}
        made = parsed(model, {**asked.data, "metadata": metadata}, asked.place)
        if isinstance(made, GangJob | BatchJob):
            parsed(Template, made.spec.template, asked.place, "spec.template")
        return made

    def _take(self, one: Object) -> None:
        self._inventory.put(one)
        if isinstance(one, PodGroup):
            self._index(one)
            self._concerned[one.key] = None

    def _index(self, group: PodGroup) -> None:
        if (ref := group.spec.workload_ref) is not None:
            key = Key(group.metadata.namespace, ref.workload_name)
            self._referring.setdefault(key, []).append(group.key)

    # Steps of the handlers

    def _settle(self, step_of: Callable[[], Step]) -> Step:
        """Do what is to be made, step by step; return the step after which there is nothing more to make."""
        step = step_of()
        for _ in range(_MOST_STEPS):
            creates = [action for action in step.actions if isinstance(action, Create)]
            if not creates:
                break
            for create in creates:
                self._create(create)
            step = step_of()
        return step

    def _create(self, create: Create) -> None:
        made = {"uid": f"made/{create.kind}/{create.key}", "creationTimestamp": self._now, "generation": 1}
        body = {**create.body, "metadata": {**create.body["metadata"], **made}}
        self._take(_MODELS[create.kind].model_validate(body))

    def _near(self, workload: Key, names: tuple[str, ...]) -> dict[str, PodGroup]:
        """Return the PodGroups that refer to a Workload or bear one of these names, by name."""
        keys = [*self._referring.get(workload, ()), *(Key(workload.namespace, name) for name in names)]
        found = (self._inventory.get(PodGroup, key) for key in keys)
        return {group.name: group for group in found if group is not None}

    def _workload(self, workload: Workload) -> None:
        self._take(workload)
        templates = workload.spec.pod_group_templates
        names = tuple(name for one in templates for name in group_names(workload.name, one.name))
        self._settle(lambda: workload_step(workload, self._near(workload.key, names).values(), self._now))

    def _job(self, job: GangJob, place: Place) -> None:
        if is_hands_off(job):
            self._inventory.note(f"{place}: another controller manages it, by spec.managedBy")
            return
        self._take(job)
        step = self._settle(lambda: job_step(job, self._around(job), self._now))
        child = self._inventory.get(BatchJob, job.key)
        if child is None or child.controller is None or child.controller.uid != job.uid:
            raise invalid(place, _trouble(step))
        self._members.add(replicas_of_job(child, place), self._now)

    def _around(self, job: GangJob) -> JobWorld:
        workload, child = self._inventory.get(Workload, job.key), self._inventory.get(BatchJob, job.key)
        return JobWorld(workload, child, self._near(job.key, group_names(job.name, TEMPLATE)))

    def _batch_job(self, job: BatchJob, place: Place, path: str) -> None:
        """A batch/v1 Job is adopted if it asks for that; else label and gate are in its template, or it is no gang."""
        if wants_adoption(job):
            job = self._adopted(job, place, path)
        self._take(job)
        if job.spec.suspend:
            self._inventory.note(f"{place}: it is suspended and has no pods")
        else:
            self._members.add(replicas_of_job(job, place, path), self._now)

    def _adopted(self, job: BatchJob, place: Place, path: str) -> BatchJob:
        near = self._near(job.key, names_for(job)).values()
        field = f"{path.removesuffix('spec.template')}metadata.annotations[{SCHEDULING}]"
        for action in adoption_step(job, near, self._minor).actions:
            if isinstance(action, Announce):
                raise invalid(place, action.message.removeprefix(f"annotation {SCHEDULING}: "), field)
            if isinstance(action, Create):
                self._try(action, place, field)
                self._create(action)
                is_gang = "gang" in action.body["spec"]["schedulingPolicy"]
                template = member_template(job.spec.template, action.key.name, is_gang=is_gang)
                spec = job.spec.model_copy(update={"suspend": False, "template": template})
                return job.model_copy(update={"spec": spec})
        return job

    def _try(self, create: Create, place: Place, field: str) -> None:
        """Have a PodGroup judged as the API server would, before the Job is touched."""
        schema = self._schemas.get((SCHEDULING_GROUP, "PodGroup"))
        found = list(violations(schema, create.body)) if schema is not None else []
        problems = found or list(group_findings(create.body["spec"]))
        if problems:
            raise InvalidInput(Problem(place, f"{at.removeprefix('spec.')}: {words}", field) for at, words in problems)

    @property
    def _minor(self) -> int:
        parts = self._inventory.kubernetes.split(".")
        return int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else _NEWEST_MINOR

    def _cron_job(self, asked: Asked) -> None:
        """A CronJob is planned as its next run."""
        template = asked.data.get("spec", {}).get("jobTemplate") if isinstance(asked.data.get("spec"), dict) else None
        given = template.get("metadata", {}) if isinstance(template, dict) else None
        if not isinstance(template, dict) or not isinstance(given, dict):
            raise invalid(asked.place, "is missing or not an object", "spec.jobTemplate")
        key = Key(asked.key.namespace, f"{asked.key.name}-next")
        metadata = given | {"name": key.name, "namespace": key.namespace}
        data = {"metadata": metadata, "spec": template.get("spec", {})}
        run = Asked(asked.place, "batch/v1", "Job", key, data)
        try:
            job = self._made(BatchJob, run)
        except InvalidInput as error:
            inner = [Problem(one.place, one.message, f"spec.jobTemplate.{one.field}") for one in error.problems]
            raise InvalidInput(inner) from error
        self._batch_job(job, asked.place, "spec.jobTemplate.spec.template")

    def _split(self, key: Key) -> None:
        group = self._inventory.get(PodGroup, key)
        if group is None or not is_split(group):
            return
        group = marked(group)
        pods = [pod for pod in self._inventory.all(Pod) if pod.group == key]
        names = tuple(name for pod in pods for name in part_names(group.name, value_of(pod, group)))
        self._settle(lambda: parts_step(group, pods, self._near(key, names).values()))


def _stage(numbered: tuple[int, Asked]) -> tuple[int, int]:
    number, asked = numbered
    return _EARLY.index(asked.kind) if asked.kind in _EARLY else len(_EARLY), number


def _trouble(step: Step) -> str:
    """Return what the Job's status would say is in the way."""
    for patch in step.actions:
        if isinstance(patch, Patch):
            conditions = patch.body.get("status", {}).get("conditions", [])
            messages = [one.get("message") for one in conditions if one.get("status") == "False"]
            if messages:
                return str(messages[0])
    return "it makes no pods"
