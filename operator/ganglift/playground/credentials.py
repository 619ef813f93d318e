"""Tokens, the service accounts' key and kubeconfigs: made anew for each playground, private to the user.

Everybody authenticates with a static token (`--token-auth-file`). The components are who they are in a real
cluster, so that their RBAC is the real one; the administrator and kwok are in `system:masters`. The API server
makes its own certificate.
"""

import base64
import secrets
from pathlib import Path
from typing import Any

import yaml

from ganglift.playground.state import StateDir, write_private

ADMINISTRATOR = "playground-admin"
KUBELETS = "playground-kubelets"
CONTROLLER_MANAGER = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"

# DER of an ECPrivateKey (RFC 5915) on P-256, but for its 32 bytes: version 1, the key, the curve. The public point
# is optional there.
_EC_KEY_HEAD = bytes.fromhex("30310201010420")
_EC_KEY_TAIL = bytes.fromhex("a00a06082a8648ce3d030107")
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def write_tokens(state_dir: StateDir) -> None:
    """Write the token file, one new random token for each user."""
    users = {
        ADMINISTRATOR: "system:masters",
        KUBELETS: "system:masters",
        CONTROLLER_MANAGER: "",
        SCHEDULER: "",
    }
    lines = [
        f"{secrets.token_hex(16)},{user},{user}" + (f',"{group}"' if group else "") for user, group in users.items()
    ]
    write_private(tokens_file(state_dir), "\n".join([*lines, ""]).encode())


def tokens_file(state_dir: StateDir) -> Path:
    """Where the tokens are."""
    return state_dir.credentials / "tokens.csv"


def token_of(state_dir: StateDir, user: str) -> str:
    """The token of one of the users above."""
    for line in tokens_file(state_dir).read_text().splitlines():
        token, name, *_ = line.split(",")
        if name == user:
            return token
    raise KeyError(user)


def service_account_key(state_dir: StateDir) -> Path:
    """The key that signs and checks service accounts' tokens."""
    return state_dir.credentials / "service-accounts.key"


def write_service_account_key(state_dir: StateDir) -> None:
    """Make that key: a random scalar in the few constant bytes around it, which needs no cryptography package."""
    scalar = secrets.randbelow(_P256_ORDER - 1) + 1
    der = _EC_KEY_HEAD + scalar.to_bytes(32, "big") + _EC_KEY_TAIL
    body = base64.encodebytes(der).decode()
    write_private(
        service_account_key(state_dir),
        f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n".encode(),
    )


def controller_manager_binding() -> dict[str, Any]:
    """What the controller-manager may: everything, as its controllers all act as itself here.

    With an account for each (`--use-service-account-credentials`) it takes 5 s to start, which its request rate
    dictates.
    """
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "playground-controller-manager"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": CONTROLLER_MANAGER}],
    }


def write_authority(state_dir: StateDir) -> None:
    """Keep the authority apart: it is the last certificate in the API server's own file."""
    begin = "-----BEGIN CERTIFICATE-----"
    _, _, last = state_dir.certificate.read_text().rpartition(begin)
    write_private(state_dir.authority, (begin + last).encode())


def write_kubeconfig(path: Path, *, server: str, authority: Path, user: str, token: str) -> Path:
    """Write a kubeconfig, complete in itself."""
    trusted = base64.b64encode(authority.read_bytes()).decode()
    name = "playground"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": trusted}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "current-context": name,
    }
    write_private(path, yaml.safe_dump(config, sort_keys=False).encode())
    return path
