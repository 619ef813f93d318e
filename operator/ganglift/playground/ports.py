"""Free ports on loopback.

Picked at random below the range from which the kernel serves outgoing connections (32768 and up on Linux, 49152 on
macOS), so that a component finds its port free when it is started again. Between the look and the component's own
bind another process may still take one; whoever starts the component then asks for new ports.
"""

import random
import socket
from dataclasses import fields
from itertools import islice

from ganglift.playground.errors import PlaygroundError
from ganglift.playground.state import Ports

_RANGE = range(20000, 32768)
_ATTEMPTS = 1000

# How components say in their logs that a port was taken.
TAKEN = "address already in use"


def choose_ports() -> Ports:
    """Different ports that are free now."""
    names = [field.name for field in fields(Ports)]
    free = list(islice(filter(_is_free, random.sample(_RANGE, _ATTEMPTS)), len(names)))
    if len(free) < len(names):
        raise PlaygroundError(f"too few free ports between {_RANGE.start} and {_RANGE.stop - 1} on 127.0.0.1")
    return Ports(**dict(zip(names, free, strict=True)))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
