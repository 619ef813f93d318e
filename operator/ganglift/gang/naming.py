"""Names of what ganglift makes. A PodGroup's name becomes a label value on its pods: at most 63 characters."""

from hashlib import sha256

LIMIT = 63
TEMPLATE = "workers"
"""Name of the one template in a Job's Workload."""

_HASH_LENGTH = 10


def group_names(workload: str, template: str) -> tuple[str, str]:
    """Return the names a template's PodGroup may have: the one wanted, and the one to take where that is taken.

    Both are the same where the wanted one would be too long. The second is a function of the first, so that every look
    comes to the same name.
    """
    full = f"{workload}-{template}"
    return (full if len(full) <= LIMIT else hashed(full)), hashed(full)


def hashed(full: str) -> str:
    """Return a name of at most 63 characters that begins like this one and stands for it alone."""
    digest = sha256(full.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{full[: LIMIT - _HASH_LENGTH - 1].rstrip('-.')}-{digest}"
