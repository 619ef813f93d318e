"""What evictions have to respect."""

from ganglift.api.model import Model, Object
from ganglift.api.selectors import LabelSelector


class DisruptionBudgetSpec(Model):
    selector: LabelSelector | None = None


class DisruptionBudgetStatus(Model):
    disruptions_allowed: int = 0


class DisruptionBudget(Object):
    """A PodDisruptionBudget."""

    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()
