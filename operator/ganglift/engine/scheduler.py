"""Which kube-scheduler leads. Reservations live in its memory, so another one may not know them.

From 1.35 on a kube-scheduler that takes over reads the nominations of gated pods again; 1.34 forgets them until the pod
changes. Both hold the Lease kube-system/kube-scheduler, so a change of its holder tells.
"""

import logging
from dataclasses import dataclass

from ganglift.engine.executor import Executor
from ganglift.kube.errors import Forbidden, NotFound
from ganglift.kube.resources import LEASES

log = logging.getLogger(__name__)

LEASE = LEASES.ref("kube-scheduler", "kube-system")


@dataclass(slots=True)
class SchedulerLease:
    """Reads the Lease when asked. Where it can't be read, no change is ever seen, and settling has to do."""

    executor: Executor
    _holder: str | None = None

    async def known(self) -> str:
        """Return the holder as read last; one that has changed since makes for one admission too many, not too few."""
        return self._holder if self._holder is not None else await self.read()

    async def read(self) -> str:
        """Return the holder now, empty where there is no such Lease or it may not be read."""
        try:
            lease = await self.executor.read(LEASE)
        except (NotFound, Forbidden) as error:
            if self._holder is None:
                log.warning("a change of kube-scheduler can't be seen", extra={"error": str(error)})
            self._holder = ""
        else:
            self._holder = str(lease["spec"].get("holderIdentity") or "")
        return self._holder
