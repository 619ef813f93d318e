"""`ganglift explain`: why a gang of a live cluster has not started, or where it is about to go."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
import yaml

from ganglift.base.errors import GangliftError
from ganglift.base.ids import Key
from ganglift.cli.plan import DOES_NOT_FIT, QueuePolicy
from ganglift.cli.snapshot import Context, Kubeconfig
from ganglift.plan.queue import Policy

if TYPE_CHECKING:
    from ganglift.api.pod import Pod
    from ganglift.offline.inventory import Inventory
    from ganglift.offline.outlook import Outlook, Survey


class Form(StrEnum):
    """How an explanation is written."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class NotFound(GangliftError):
    """There is nothing of that name to explain."""


def explain(
    *,
    name: Annotated[
        str, typer.Argument(help="A PodGroup, a pod or a Job, by name, or as podgroup/NAME, pod/NAME, job/NAME.")
    ],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where it is.")] = "default",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    queue_policy: QueuePolicy = Policy.BACKFILL,
    output: Annotated[Form, typer.Option("--output", "-o", help="How to write it.")] = Form.TEXT,
) -> None:
    """Explain how a gang of a live cluster stands: what keeps it, node by node, what would help, who has the room.

    It is looked at and planned anew, as the operator does, and compared with what its status says. Reads only.

    Exit codes: 0 it runs, starts or fits, 3 it does not, 1 there is no such gang or no answer, 2 wrong usage.
    """
    from ganglift.cli.live import look
    from ganglift.offline.explanation import group_lines, pod_lines
    from ganglift.offline.loading import without_collection
    from ganglift.offline.outlook import Survey
    from ganglift.offline.report import report

    with without_collection():
        inventory = look(kubeconfig, context)
        survey = Survey(inventory, queue_policy)
        outlook, pod = _find(inventory, survey, name, namespace)
        chosen = (outlook,) if outlook is not None else ()
        if output is Form.TEXT:
            for line in pod_lines(pod, outlook) if pod is not None else ():
                typer.echo(line)
            for line in group_lines(survey, outlook) if outlook is not None else ():
                typer.echo(line)
            for note in inventory.notes:
                typer.echo(f"note: {note}", err=True)
        elif output is Form.JSON:
            typer.echo(json.dumps(report(survey, chosen, inventory.notes), indent=2))
        else:
            typer.echo(yaml.safe_dump(report(survey, chosen, inventory.notes), sort_keys=False), nl=False)
    raise typer.Exit(0 if outlook is None or outlook.result.is_well else DOES_NOT_FIT)


def _find(inventory: "Inventory", survey: "Survey", text: str, namespace: str) -> "tuple[Outlook | None, Pod | None]":
    """Return the group that is meant, and the pod if that is meant; a group comes before a pod, a pod before a Job."""
    from ganglift.api.job import BatchJob
    from ganglift.api.pod import Pod
    from ganglift.api.scheduling import PodGroup
    from ganglift.gang.membership import group_name_of
    from ganglift.offline.explanation import group_of_pod, missing_group_words

    kind, slash, name = text.rpartition("/")
    key = Key(namespace, name)
    if PodGroup not in inventory.listed:
        raise NotFound("PodGroups can't be listed: are ganglift's CRDs installed, and may you list its kinds?")
    if kind in ("", "podgroup", "gpg") and key in survey.outlooks:
        return survey.outlooks[key], None
    if kind in ("", "pod") and (pod := inventory.get(Pod, key)) is not None:
        return group_of_pod(survey, pod), pod
    if kind in ("", "job", "gjob") and (job := inventory.get(BatchJob, key)) is not None:
        group = Key(namespace, group_name_of(job))
        if group in survey.outlooks:
            return survey.outlooks[group], None
        key = group
    if kind in ("", "podgroup", "gpg", "job", "gjob") and (pods := missing_group_words(inventory.all(Pod), key)):
        raise NotFound(f"there is no PodGroup {key.name} in namespace {namespace}, and {pods}")
    kinds = f"{kind} of the name" if slash else "PodGroup, pod or Job of a gang of the name"
    raise NotFound(f"there is no {kinds} {name} in namespace {namespace}")
