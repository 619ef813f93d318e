"""`python -m tests.fakes.apiserver --kubeconfig PATH`: serve until interrupted, for a program under test."""

from __future__ import annotations

import argparse
import asyncio
import signal
from pathlib import Path

from tests.fakes.apiserver.server import FakeApiServer


async def serve(port: int, minor: int, kubeconfig: Path) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, stopped.set)
    server = FakeApiServer(minor=minor)
    await server.start(port)
    try:
        server.write_kubeconfig(kubeconfig)
        await stopped.wait()
    finally:
        await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.apiserver", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--minor", type=int, default=37, help="Kubernetes version to behave like")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="where to write a kubeconfig that leads here")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.minor, options.kubeconfig))


if __name__ == "__main__":
    main()
