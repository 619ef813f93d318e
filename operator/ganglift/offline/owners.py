"""The pods that the owners of templates make: how many, and what their controllers add to the template.

Owners that make their pods one after another, and so never make enough for a gang, are taken at that: a StatefulSet
with podManagementPolicy OrderedReady has one pod, a JobSet with startupPolicy InOrder those of its first Job, a
LeaderWorkerSet with startupPolicy LeaderReady its leaders, a JobSet with exclusive topology the first pod of each Job.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from pydantic import Field

from ganglift.api.job import BatchJob
from ganglift.api.model import Model, OwnerReference
from ganglift.api.names import COMPLETION_INDEX, JOB_NAME_LABEL
from ganglift.api.pod import ClaimRef, Pod, PodSpec, Volume
from ganglift.base.ids import Uid
from ganglift.offline.checks import count_of
from ganglift.offline.defaults import Defaults
from ganglift.offline.documents import Data
from ganglift.offline.inventory import Asked
from ganglift.offline.problems import Place, invalid, parsed

_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_LWS = "leaderworkerset.sigs.k8s.io"
_JOBSET = "jobset.sigs.k8s.io"


class TemplateMeta(Model):
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class Template(Model):
    """A pod template, as far as its fields must be of the right type before it is worked with."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


@dataclass(frozen=True, slots=True)
class Seat:
    """What is a pod's own beside its template."""

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)
    """Claims made for this pod, by volume."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """Pods of one template. `path` is where it stands in the object at `place`."""

    place: Place
    namespace: str
    path: str
    template: Data
    owner: OwnerReference
    seats: tuple[Seat, ...]

    def pods(self, defaults: Defaults, created: datetime) -> list[Pod]:
        """Return the pods, as the API server stores them; raise InvalidInput for a template that it would refuse."""
        if not self.seats:
            return []
        parsed(Template, self.template, self.place, self.path)
        metadata = self.template.get("metadata", {})
        given = {name: metadata[name] for name in ("labels", "annotations") if name in metadata}
        named = {"name": self.seats[0].name, "namespace": self.namespace, **given}
        first = defaults.pod({"metadata": named, "spec": self.template.get("spec")}, self.place, self.path)
        common = {"owner_references": (self.owner,), "creation_timestamp": created}
        return [self._pod(first, seat, number, common) for number, seat in enumerate(self.seats)]

    def _pod(self, like: Pod, seat: Seat, number: int, common: dict[str, Any]) -> Pod:
        own = {
            "name": seat.name,
            "uid": Uid(f"{self.owner.uid}/{self.path}/{number}"),
            "labels": like.metadata.labels | seat.labels,
            "annotations": like.metadata.annotations | seat.annotations,
        }
        update: dict[str, Any] = {"metadata": like.metadata.model_copy(update=common | own)}
        if seat.claims:
            claimed = tuple(
                Volume(name=name, persistent_volume_claim=ClaimRef(claim_name=claim))
                for name, claim in seat.claims.items()
            )
            others = tuple(volume for volume in like.spec.volumes if volume.name not in seat.claims)
            update["spec"] = like.spec.model_copy(update={"volumes": (*others, *claimed)})
        return like.model_copy(update=update)


def replicas_of(asked: Asked) -> Iterator[Replicas]:
    """Yield the templates of a Deployment, ReplicaSet, StatefulSet, LeaderWorkerSet or JobSet, with their pods."""
    match asked.kind:
        case "StatefulSet":
            yield _stateful_set(asked)
        case "LeaderWorkerSet":
            yield from _leader_worker_set(asked)
        case "JobSet":
            yield from _job_set(asked)
        case _:
            count = _count(asked, _spec(asked), "spec", "replicas", 1)
            hashed = {"pod-template-hash": "planned"}
            seats = tuple(Seat(f"{asked.key.name}-{number}", hashed) for number in range(count))
            yield _replicas(asked, "spec.template", "ReplicaSet", seats)


def replicas_of_job(
    job: BatchJob, place: Place, path: str = "spec.template", labels: dict[str, str] | None = None
) -> Replicas:
    """Return the pods of a batch/v1 Job before any of them has ended; `labels` are further ones that they bear."""
    spec = job.spec
    for name, value in (("parallelism", spec.parallelism), ("completions", spec.completions)):
        if isinstance(words := count_of(value, 0), str):
            raise invalid(place, words, f"{path.removesuffix('template')}{name}")
    count = spec.parallelism if spec.completions is None else min(spec.parallelism, spec.completions)
    is_indexed = spec.completion_mode == "Indexed"
    common = {JOB_NAME_LABEL: job.name, "job-name": job.name, **(labels or {})}
    seats = tuple(
        Seat(
            f"{job.name}-{number}",
            common | ({COMPLETION_INDEX: str(number)} if is_indexed else {}),
            {COMPLETION_INDEX: str(number)} if is_indexed else {},
        )
        for number in range(0 if spec.suspend else count)
    )
    owner = OwnerReference(api_version="batch/v1", kind="Job", name=job.name, uid=job.uid, controller=True)
    return Replicas(place, job.metadata.namespace, path, spec.template, owner, seats)


def _stateful_set(asked: Asked) -> Replicas:
    spec = _spec(asked)
    count = _count(asked, spec, "spec", "replicas", 1)
    start = _count(asked, _part(asked, spec, "spec", "ordinals"), "spec.ordinals", "start", 0)
    is_parallel = spec.get("podManagementPolicy") == "Parallel"
    volumes = _claim_names(asked, spec)
    seats = []
    for ordinal in range(start, start + (count if is_parallel else min(count, 1))):
        name = f"{asked.key.name}-{ordinal}"
        labels = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
        seats.append(Seat(name, labels, claims={volume: f"{volume}-{name}" for volume in volumes}))
    return _replicas(asked, "spec.template", "StatefulSet", tuple(seats))


def _claim_names(asked: Asked, spec: Data) -> list[str]:
    """Return the names of the volumes for which each pod of a StatefulSet gets a claim of its own."""
    templates = _list(asked, spec, "volumeClaimTemplates")
    for number, one in enumerate(templates):
        if not isinstance(one, dict) or not isinstance(one.get("metadata"), dict):
            raise invalid(asked.place, "is missing", f"spec.volumeClaimTemplates[{number}].metadata")
    return [str(one["metadata"].get("name", "")) for one in templates]


def _leader_worker_set(asked: Asked) -> Iterator[Replicas]:
    spec = _spec(asked)
    path = "spec.leaderWorkerTemplate"
    both = _part(asked, spec, "spec", "leaderWorkerTemplate")
    groups, size = _count(asked, spec, "spec", "replicas", 1), _count(asked, both, path, "size", 1)
    if isinstance(words := count_of(groups * size, 0), str):
        raise invalid(asked.place, words, "spec.replicas")
    leaders: list[Seat] = []
    workers: list[Seat] = []
    for group in range(groups):
        for worker in range(size):
            name = f"{asked.key.name}-{group}" + (f"-{worker}" if worker else "")
            labels = {"name": asked.key.name, "group-index": str(group), "worker-index": str(worker)}
            seat = Seat(name, {f"{_LWS}/{label}": value for label, value in labels.items()})
            (workers if worker else leaders).append(seat)
    leader_path = f"{path}.{'leaderTemplate' if 'leaderTemplate' in both else 'workerTemplate'}"
    yield _replicas(asked, leader_path, "StatefulSet", tuple(leaders), part="leaders")
    if spec.get("startupPolicy") != "LeaderReady":
        yield _replicas(asked, f"{path}.workerTemplate", "StatefulSet", tuple(workers), part="workers")


def _job_set(asked: Asked) -> Iterator[Replicas]:
    spec = _spec(asked)
    is_in_order = _part(asked, spec, "spec", "startupPolicy").get("startupPolicyOrder") == "InOrder"
    jobs = _list(asked, spec, "replicatedJobs")
    for number, replicated in enumerate(jobs[:1] if is_in_order else jobs):
        yield from _replicated_job(asked, f"spec.replicatedJobs[{number}]", replicated)


def _replicated_job(asked: Asked, path: str, replicated: Any) -> Iterator[Replicas]:
    if not isinstance(replicated, dict) or not isinstance(replicated.get("name"), str):
        raise invalid(asked.place, "is missing", f"{path}.name")
    template = _part(asked, _part(asked, replicated, path, "template"), f"{path}.template", "spec")
    suspend = {"suspend": True} if _spec(asked).get("suspend") else {}
    is_exclusive = _EXCLUSIVE in asked.data["metadata"].get("annotations", {})
    count = _count(asked, replicated, path, "replicas", 1)
    for index in range(count):
        name = f"{asked.key.name}-{replicated['name']}-{index}"
        job = _job(asked, name, template | suspend, path)
        labels = {"jobset-name": asked.key.name, "replicatedjob-name": replicated["name"], "job-index": str(index)}
        marks = {f"{_JOBSET}/{label}": value for label, value in labels.items()}
        found = replicas_of_job(job, asked.place, f"{path}.template.spec.template", marks)
        if isinstance(words := count_of(count * len(found.seats), 0), str):
            raise invalid(asked.place, words, f"{path}.replicas")
        yield _only_first(found) if is_exclusive else found


def _only_first(replicas: Replicas) -> Replicas:
    seats = tuple(Seat(s.name, s.labels, s.annotations | {_EXCLUSIVE: ""}) for s in islice(replicas.seats, 1))
    return Replicas(replicas.place, replicas.namespace, replicas.path, replicas.template, replicas.owner, seats)


def _job(asked: Asked, name: str, spec: Data, path: str) -> BatchJob:
    metadata = {"name": name, "namespace": asked.key.namespace, "uid": f"{asked.uid}/{name}"}
    return parsed(BatchJob, {"metadata": metadata, "spec": spec}, asked.place, f"{path}.template")


def _replicas(asked: Asked, path: str, kind: str, seats: tuple[Seat, ...], part: str = "") -> Replicas:
    template: Any = asked.data
    for step in path.split("."):
        template = template.get(step) if isinstance(template, dict) else None
    if not isinstance(template, dict):
        raise invalid(asked.place, "is missing", path)
    uid = Uid(f"{asked.uid}/{part}") if part else asked.uid
    owner = OwnerReference(api_version=asked.api_version, kind=kind, name=asked.key.name, uid=uid, controller=True)
    return Replicas(asked.place, asked.key.namespace, path, template, owner, seats)


def _spec(asked: Asked) -> Data:
    return _part(asked, asked.data, "", "spec")


def _part(asked: Asked, data: Data, path: str, name: str) -> Data:
    """Return an object inside, empty where it is not set."""
    part = data.get(name, {})
    if not isinstance(part, dict):
        raise invalid(asked.place, "is not an object", f"{path}.{name}" if path else name)
    return part


def _list(asked: Asked, spec: Data, name: str) -> list[Any]:
    found = spec.get(name, [])
    if not isinstance(found, list):
        raise invalid(asked.place, "is not a list", f"spec.{name}")
    return found


def _count(asked: Asked, data: Data, path: str, name: str, default: int) -> int:
    count = count_of(data.get(name), default)
    if isinstance(count, str):
        raise invalid(asked.place, count, f"{path}.{name}")
    return count
