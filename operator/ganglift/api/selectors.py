"""Selectors, affinity, tolerations and spread as core/v1 spells them."""

from pydantic import Field

from ganglift.api.model import Model


class Requirement(Model):
    """A node or label selector requirement. Operators: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Model):
    match_labels: dict[str, str] = Field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()


class NodeSelectorTerm(Model):
    """All of its requirements must hold; a term with none matches nothing."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Model):
    """Any of its terms must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class NodeAffinity(Model):
    required: NodeSelector | None = Field(None, alias="requiredDuringSchedulingIgnoredDuringExecution")


class PodAffinityTerm(Model):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class PodAffinity(Model):
    required: tuple[PodAffinityTerm, ...] = Field((), alias="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(Model):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Model):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Model):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()
