"""The words of scenario files: clusters and gangs in a few lines each.

nodes   name; gpus, cpu, memory, zone, rack, taint [key, value, effect], ready, cordoned, resources, labels;
        `repeat` makes so many, the name being a pattern for {i}, in racks of `per_rack` nodes
pods    name; at, nominated, gated, terminating, pinned; gpu, cpu, memory, resources, labels, namespace;
        spec and status as in a manifest
gangs   name, count; need, created, priority, topology; and what pods have, for members NAME-0 and on
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.builders import RACK, NodeBuilder, PodBuilder, gang, members, node, pod

from ganglift.api.pod import Pod
from ganglift.api.scheduling import TopologyConstraint
from ganglift.base.ids import Key, Uid
from ganglift.plan.books import Books, Kind
from ganglift.plan.plan import plan
from ganglift.plan.request import GroupRequest
from ganglift.plan.verdict import Fits
from ganglift.plan.words import words_of

Entry = dict[str, Any]


class Scenario:
    """A cluster that changes step by step, in one set of books."""

    def __init__(self) -> None:
        self.books = Books()
        self.gangs: dict[str, GroupRequest] = {}

    def change(self, step: Entry) -> None:
        """Apply what a step says of nodes, pods and gangs."""
        for entry in step.get("nodes", ()):
            for one in _nodes(entry):
                self.books.set_node(one.made)
        for entry in step.get("pods", ()):
            self._hold(_pod(pod(entry["name"]), entry).made, entry)
        for name in step.get("gone", ()):
            self.books.remove(Uid(f"uid-{name}"))
            self.books.remove_node(name)
        for entry in step.get("gangs", ()):
            self.gangs[entry["name"]] = _gang(entry)

    def outcome(self, name: str) -> Entry:
        """Return what was planned for a gang, in the words of `expect`."""
        result = plan(self.books.snapshot(), self.gangs.values())
        key = Key("default", name)
        verdict = result.verdicts[key]
        fits = verdict if isinstance(verdict, Fits) else Fits(())
        nodes = [str(placement.node) for placement in fits.placements]
        return {
            "fits": isinstance(verdict, Fits),
            "places": dict(Counter(nodes)),
            "order": nodes,
            "racks": sorted(Counter(dict(p.pins).get(RACK, "") for p in fits.placements).values()),
            "extras": len(result.extras.get(key, ())),
            "unjudged": list(fits.unjudged),
            "says": words_of(verdict),
        }

    def _hold(self, made: Pod, entry: Entry) -> None:
        if made.is_bound:
            self.books.place(made, made.spec.node_name, Kind.TERMINATING if made.is_deleting else Kind.BOUND)
        elif made.nominated:
            self.books.place(made, made.nominated, Kind.RESERVED if made.is_gated else Kind.LIFTED)
        elif "pinned" in entry:
            self.books.place(made, entry["pinned"], Kind.PINNED)
        else:
            self.books.remove(made.uid)


def differences(expected: Entry, found: Entry) -> dict[str, tuple[Any, Any]]:
    """Return what is not as expected; of messages a part is enough."""
    return {
        word: (want, found[word])
        for word, want in expected.items()
        if (want not in found[word] if word == "says" else want != found[word])
    }


def _nodes(entry: Entry) -> Iterator[NodeBuilder]:
    for i in range(entry.get("repeat", 1)):
        made = _node(node(entry["name"].format(i=f"{i:04}")), entry)
        yield made.rack(f"rack-{i // entry['per_rack']:03}") if "per_rack" in entry else made


def _node(made: NodeBuilder, entry: Entry) -> NodeBuilder:
    amounts = {"nvidia.com/gpu": entry.get("gpus"), "cpu": entry.get("cpu"), "memory": entry.get("memory")}
    for name, amount in (amounts | entry.get("resources", {})).items():
        made = made.resource(name, amount) if amount is not None else made
    labels = {"topology.kubernetes.io/zone": entry.get("zone"), RACK: entry.get("rack")}
    for key, value in (labels | entry.get("labels", {})).items():
        made = made.label(key, value) if value is not None else made
    made = made.taint(*entry["taint"]) if "taint" in entry else made
    made = made.cordoned() if entry.get("cordoned") else made
    return made if entry.get("ready", True) else made.unready()


def _pod(made: PodBuilder, entry: Entry) -> PodBuilder:
    amounts = {"nvidia.com/gpu": entry.get("gpu"), "cpu": entry.get("cpu"), "memory": entry.get("memory")}
    for name, amount in (amounts | entry.get("resources", {})).items():
        made = made.resource(name, amount) if amount is not None else made
    for key, value in entry.get("labels", {}).items():
        made = made.label(key, value)
    made = made.namespace(entry["namespace"]) if "namespace" in entry else made
    made = made.on(entry["at"]) if "at" in entry else made
    made = made.nominated(entry["nominated"]) if "nominated" in entry else made
    made = made.gated() if entry.get("gated") else made
    made = made.terminating() if entry.get("terminating") else made
    wire = made.wire
    for part in ("spec", "status"):
        wire = wire | {part: wire[part] | entry.get(part, {})}
    return PodBuilder(wire)


def _gang(entry: Entry) -> GroupRequest:
    name = entry["name"]
    like = _pod(pod(name).gang(name), entry)
    topology = tuple(TopologyConstraint.model_validate(level) for level in entry.get("topology", ()))
    request = gang(name, members(entry["count"], like, name), entry.get("need"), topology=topology)
    return replace(request, created=entry.get("created", 0), priority=entry.get("priority", 0))
