"""An inventory into a snapshot file: what the planner reads of each object, and nothing else, one object a line.

Images, commands, environments, volumes without a say in placement, and notes of other programs are left out, so that a
snapshot is small and may be shown to others. Names, labels and requests are in it.
"""

import gzip
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from pydantic import ValidationError
from pydantic_core import from_json, to_json

import ganglift
from ganglift.api.job import BatchJob, GangJob
from ganglift.api.model import Object, ObjectMeta
from ganglift.api.names import BATCH_GROUP, SCHEDULING_GROUP
from ganglift.api.pod import Pod, PodSpec, Volume
from ganglift.api.storage import BIND_COMPLETED, SELECTED_NODE
from ganglift.offline.documents import SNAPSHOT_API, SNAPSHOT_KIND, Data
from ganglift.offline.inventory import Inventory
from ganglift.offline.kinds import CLUSTER_KINDS

_KEPT_ANNOTATIONS = (
    f"{SCHEDULING_GROUP}/",
    f"{BATCH_GROUP}/",
    "batch.kubernetes.io/",
    "alpha.jobset.sigs.k8s.io/",
    "volume.beta.kubernetes.io/",
    BIND_COMPLETED,
    SELECTED_NODE,
)


def snapshot_bytes(inventory: Inventory, *, compress: bool = False) -> bytes:
    """Return the content of a snapshot file."""
    lines = b",\n".join(_lines(inventory))
    data = _head(inventory) + (lines + b"\n" if lines else b"") + b"]}\n"
    return gzip.compress(data, mtime=0) if compress else data


def _head(inventory: Inventory) -> bytes:
    taken_at = inventory.taken_at or datetime.now(UTC)
    head = {
        "apiVersion": SNAPSHOT_API,
        "kind": SNAPSHOT_KIND,
        "metadata": {
            "takenAt": taken_at.replace(microsecond=0).isoformat().replace("+00:00", "Z"),
            "kubernetes": inventory.kubernetes,
            "ganglift": ganglift.__version__,
        },
        "listed": [kind.name for kind in CLUSTER_KINDS if kind.model in inventory.listed],
        "counts": {kind.name: inventory.count(kind.model) for kind in CLUSTER_KINDS},
        "items": [],
    }
    return to_json(head).removesuffix(b"]}") + b"\n"


def _lines(inventory: Inventory) -> Iterator[bytes]:
    for kind in CLUSTER_KINDS:
        start = to_json({"apiVersion": kind.resource.api_version, "kind": kind.resource.kind})[:-1] + b","
        objects: Iterable[Object] = inventory.all(kind.model)
        for one in sorted(objects, key=lambda one: one.key):
            body = _trimmed(one).model_dump_json(by_alias=True, exclude_unset=True, exclude_none=True).encode()
            if (author := inventory.nominators.get(one.uid)) is not None:
                body = _with_author(body, author)
            yield start + body.removeprefix(b"{")


def _trimmed(one: Object) -> Object:
    update: Data = {"metadata": _metadata(one.metadata)}
    if isinstance(one, Pod):
        volumes = tuple(volume for volume in one.spec.volumes if _matters(volume))
        update["spec"] = one.spec.model_copy(update={"volumes": volumes})
    elif isinstance(one, BatchJob | GangJob):
        update["spec"] = one.spec.model_copy(update={"template": _template(one.spec.template)})
    return one.model_copy(update=update)


def _metadata(metadata: ObjectMeta) -> ObjectMeta:
    kept = _kept(metadata.annotations)
    return metadata if kept == metadata.annotations else metadata.model_copy(update={"annotations": kept})


def _kept(annotations: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in annotations.items() if name.startswith(_KEPT_ANNOTATIONS)}


def _matters(volume: Volume) -> bool:
    """Whether a volume has a say in where its pod goes."""
    return any(value is not None for name, value in volume if name != "name")


def _template(template: Data) -> Data:
    """Return a pod template without what placement does not read; of one that can't be read, its labels alone."""
    metadata = template.get("metadata") or {}
    kept = {"labels": metadata.get("labels") or {}, "annotations": _kept(metadata.get("annotations") or {})}
    try:
        spec = PodSpec.model_validate(template.get("spec") or {})
    except ValidationError:
        return {"metadata": kept}
    volumes = tuple(volume for volume in spec.volumes if _matters(volume))
    return {"metadata": kept, "spec": spec.model_copy(update={"volumes": volumes}).wire()}


def _with_author(body: bytes, author: str) -> bytes:
    """Note who has nominated the pod, as the API server does."""
    data = from_json(body)
    fields: Data = {"f:status": {"f:nominatedNodeName": {}}}
    data["metadata"]["managedFields"] = [{"manager": author, "subresource": "status", "fieldsV1": fields}]
    return to_json(data)
