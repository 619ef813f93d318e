"""The chart on a playground, installed by helm itself, and its service account for who wants to act as the operator.

The Deployment is scaled to nothing by default: its pods would be played by kwok, and take room from what is tested. The
operator that a test starts runs as a process instead, with the service account's token, so under the chart's own RBAC.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ganglift.playground.playground import Playground

REPOSITORY = Path(__file__).parents[2]
CHART = REPOSITORY / "helm" / "ganglift"
RELEASE = "ganglift"
NAMESPACE = "ganglift-system"
SERVICE_ACCOUNT = "ganglift"

_NO_PODS = {"replicas": 0}
_TOKEN_S = 86_400
_TIMEOUT_S = 60

_installed: dict[Path, Mapping[str, Any]] = {}
"""The values of the release, by the playground's state directory."""


class HelmFailed(AssertionError):
    """helm ended with an error, here in its own words."""


def helm(playground: Playground, *arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """Run helm on the playground, as its administrator, and return what it printed; `values` is passed as a file."""
    command = [str(playground.binary("helm")), *arguments, "--kubeconfig", str(playground.kubeconfig)]
    if values is not None:
        command += ["--values", "-"]
    homes = {f"HELM_{kind}_HOME": str(playground.state_dir / "helm" / kind) for kind in ("CACHE", "CONFIG", "DATA")}
    run = subprocess.run(
        command,
        input=json.dumps(values or {}),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        env=os.environ | homes,
    )
    if run.returncode:
        raise HelmFailed(f"{' '.join(command)}\n{run.stdout}{run.stderr}")
    return run.stdout


def install(playground: Playground, values: Mapping[str, Any] | None = None) -> Path:
    """Install or upgrade the chart; return a kubeconfig with a token of its service account.

    CRDs that are there already, for example from the playground's own start, become the release's. What was installed
    here before with the same values is left as it is: tests ask often.
    """
    wanted = {**_NO_PODS, **(values or {})}
    kubeconfig = playground.state_dir / "operator.kubeconfig"
    if _installed.get(playground.state_dir) == wanted:
        return kubeconfig
    helm(
        playground,
        "upgrade",
        RELEASE,
        str(CHART),
        "--install",
        "--take-ownership",
        "--namespace",
        NAMESPACE,
        "--create-namespace",
        values=wanted,
    )
    token = playground.token(NAMESPACE, SERVICE_ACCOUNT, seconds=_TOKEN_S)
    playground.token_kubeconfig(kubeconfig, token)
    _installed[playground.state_dir] = wanted
    return kubeconfig


def remove(playground: Playground) -> None:
    """Leave nothing of a release but the CRDs, which a next release takes up."""
    _installed.pop(playground.state_dir, None)
    helm(playground, "uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--wait")
