"""`ganglift run`: the operator."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from ganglift.base.settings import load_settings

Setting = Annotated[str | None, typer.Option(show_default=False)]


def run(
    *,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Kubeconfig to use; else KUBECONFIG, then the pod's service account.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file with settings; see docs/reference.md.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Namespace of the operator's Lease and fence pods.")] = None,
    queue_policy: Annotated[str | None, typer.Option(help="backfill or strict.")] = None,
    max_reserved: Annotated[int | None, typer.Option(help="Most pods with a standing reservation.")] = None,
    hold_after: Annotated[str | None, typer.Option(help="How long a gang waits before room is held for it.")] = None,
    hold_for: Annotated[str | None, typer.Option(help="How long room is held for one gang at most.")] = None,
    backoff_base: Annotated[str | None, typer.Option(help="First wait after a failed start, such as 1s.")] = None,
    backoff_max: Annotated[str | None, typer.Option(help="Longest wait after failed starts, such as 5m.")] = None,
    node_avoid: Annotated[str | None, typer.Option(help="How long a node that refused a member is avoided.")] = None,
    qps: Annotated[float | None, typer.Option(help="Sustained writes per second to the API server.")] = None,
    leader_elect: Annotated[bool | None, typer.Option(help="Take the Lease before writing anything.")] = None,
    http_port: Annotated[int | None, typer.Option(help="Port of /healthz, /readyz and /metrics.")] = None,
    log_format: Annotated[str | None, typer.Option(help="text or json.")] = None,
) -> None:
    """Run the operator until it is told to stop.

    Settings come from --config, then from the environment (GANGLIFT_MAX_RESERVED ...), then from flags; the later wins.
    """
    from ganglift.app.logs import set_up_logs
    from ganglift.app.operator import Operator

    flags = {
        "namespace": namespace,
        "queue_policy": queue_policy,
        "max_reserved": max_reserved,
        "hold_after": hold_after,
        "hold_for": hold_for,
        "backoff_base": backoff_base,
        "backoff_max": backoff_max,
        "node_avoid": node_avoid,
        "qps": qps,
        "leader_elect": leader_elect,
        "http_port": http_port,
        "log_format": log_format,
    }
    settings = load_settings(config, flags)
    set_up_logs(settings.log_format)
    asyncio.run(Operator(settings, kubeconfig).run())
