"""The batch/v1 Jobs whose pods bear a group's label, by uid and by group."""

from collections.abc import Collection

from ganglift.api.job import BatchJob
from ganglift.base.ids import Key, Uid
from ganglift.gang.membership import group_name_of


class Jobs:
    """What the handlers have told of Jobs."""

    def __init__(self) -> None:
        self.by_uid: dict[Uid, BatchJob] = {}
        self._by_group: dict[Key, dict[Uid, BatchJob]] = {}

    def of_group(self, key: Key) -> Collection[BatchJob]:
        """Return the Jobs whose pods bear the group's label."""
        return self._by_group.get(key, {}).values()

    def put(self, job: BatchJob) -> tuple[Key, ...]:
        """Take a Job as it is now; return the groups that this concerns."""
        touched = self.drop(job.uid)
        key = _group_of(job)
        if key is None:
            return touched
        self.by_uid[job.uid] = job
        self._by_group.setdefault(key, {})[job.uid] = job
        return tuple({*touched, key})

    def drop(self, uid: Uid) -> tuple[Key, ...]:
        """Take the end of a Job; return the groups that this concerns."""
        job = self.by_uid.pop(uid, None)
        key = _group_of(job) if job is not None else None
        if key is None:
            return ()
        jobs = self._by_group[key]
        del jobs[uid]
        if not jobs:
            del self._by_group[key]
        return (key,)


def _group_of(job: BatchJob) -> Key | None:
    name = group_name_of(job)
    return Key(job.metadata.namespace, name) if name else None
