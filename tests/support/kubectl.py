"""kubectl as a user runs it: a manifest goes in, words come out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Manifest = Mapping[str, Any]

KUBECTL = Path(sys.executable).with_name("kubectl")


@dataclass(frozen=True, slots=True)
class Answer:
    """What kubectl said, on both streams."""

    is_ok: bool
    words: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with one kubeconfig. A refusal is an answer, not an error; only a hang raises, after 30 s."""

    kubeconfig: Path

    def run(self, *arguments: str, stdin: str = "") -> Answer:
        """One call with these arguments."""
        done = subprocess.run(
            [str(KUBECTL), f"--kubeconfig={self.kubeconfig}", *arguments],
            # What kubectl remembers of an API server it keeps by address, and the next one may have the same.
            env=os.environ | {"KUBECACHEDIR": str(self.kubeconfig.with_suffix(".cache"))},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
        )
        return Answer(done.returncode == 0, (done.stdout + done.stderr).strip())

    def apply(self, manifest: Manifest, *, dry_run: bool = False) -> Answer:
        """`kubectl apply` of one manifest; a dry run is judged by the API server and stores nothing."""
        return self.run("apply", *(["--dry-run=server"] if dry_run else []), "-f", "-", stdin=json.dumps(manifest))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """One object; ValueError with kubectl's words where there is none."""
        answer = self.run("get", kind, name, "-o", "json")
        if not answer.is_ok:
            raise ValueError(answer.words)
        found: dict[str, Any] = json.loads(answer.words)
        return found
