"""Gang scheduling for Kubernetes with the stock kube-scheduler: all members of a group start together, or none does."""

__version__ = "0.1.0"
