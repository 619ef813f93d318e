"""The root of every error that ganglift raises on purpose.

    GangliftError
    ├── InvalidQuantity   (base.quantity)
    ├── InvalidSettings   (base.settings)
    ├── KubeError ...     (kube.errors)
    └── PlaygroundError ... (playground)

Each carries its data in fields; its text tells the user what to do.
"""


class GangliftError(Exception):
    """Base of all errors with a message meant for the user."""
