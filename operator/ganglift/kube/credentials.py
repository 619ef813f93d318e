"""Which cluster, and as whom: kubeconfig or service account, in every form kubectl knows (through kubernetes-asyncio).

Looked for in this order: the path given, `KUBECONFIG`, `~/.kube/config`, the service account of the pod we run in.
Credentials are read again when an exec plugin's are about to expire, when a service account's token is a minute old,
and when the API server answers 401: short-lived tokens of any kind are thereby replaced without a restart.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml

from ganglift.base.clock import Clock, SystemClock
from ganglift.kube.errors import ConfigError

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

logger = logging.getLogger(__name__)

RENEW_AT_MOST_EVERY_S = 5.0
"""Credentials that are wrong for good are not read again for each of many refused requests."""
_CHECK_EVERY_S = 20.0
_EXPIRY_MARGIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Access:
    """All that one request needs to reach the API server and be let in."""

    server: str
    """Scheme, host and port, perhaps with a path prefix; no trailing slash."""
    token: str | None = None
    """Value of the Authorization header, with its scheme."""
    ssl: ssl.SSLContext | bool = True
    server_hostname: str | None = None
    """Name to verify the certificate against, where it is not the host's."""
    proxy: str | None = None


class Credentials:
    """Access to one API server that renews itself. Make one with `from_environment`, or `fixed` for a known server."""

    def __init__(self, load: Callable[[], Awaitable[Loaded]], *, clock: Clock | None = None) -> None:
        self._load = load
        self._clock = clock or SystemClock()
        self._lock = asyncio.Lock()
        self._loaded: Loaded | None = None
        self._renewed_at = float("-inf")
        self._check_at = float("-inf")

    @classmethod
    def fixed(cls, access: Access) -> Credentials:
        """Credentials that never change."""

        async def load() -> Loaded:
            return Loaded(access)

        return cls(load)

    @classmethod
    def from_environment(
        cls, kubeconfig: str | Path | None = None, *, context: str | None = None, clock: Clock | None = None
    ) -> Credentials:
        """Find the cluster as the module describes. Raises ConfigError here or at the first `access`."""
        paths = kubeconfig_paths(kubeconfig, os.environ)
        if paths is not None:
            return cls(lambda: _load_kubeconfig(paths, context), clock=clock)
        if "KUBERNETES_SERVICE_HOST" in os.environ:
            return cls(_load_service_account, clock=clock)
        raise ConfigError(
            "no cluster to talk to: give --kubeconfig, set KUBECONFIG, or run inside a cluster "
            "(~/.kube/config does not exist and KUBERNETES_SERVICE_HOST is not set)"
        )

    async def access(self) -> Access:
        """What to send the next request with."""
        if self._loaded is None or self._clock.monotonic() >= self._check_at:
            await self._refresh()
        assert self._loaded is not None
        return self._loaded.access

    async def renew(self, refused: Access) -> bool:
        """After a 401: read everything again. Return whether `refused` was replaced, so that a repeat makes sense."""
        async with self._lock:
            now = self._clock.monotonic()
            if self._loaded is not None and self._loaded.access == refused:
                if now - self._renewed_at < RENEW_AT_MOST_EVERY_S:
                    return False
                self._renewed_at = now
                self._loaded = await self._load()
            return self._loaded is not None and self._loaded.access != refused

    async def _refresh(self) -> None:
        async with self._lock:
            self._check_at = self._clock.monotonic() + _CHECK_EVERY_S
            if self._loaded is None:
                self._loaded = await self._load()
                return
            try:
                if self._loaded.is_expiring(self._clock.now()):
                    self._loaded = await self._load()
                elif self._loaded.reread is not None:
                    self._loaded = await self._loaded.reread()
            except ConfigError as error:
                # What we have may still be good for a while; if not, a 401 brings us back here.
                logger.warning("credentials can't be renewed, going on with the old ones: %s", error)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of one reading of the configuration."""

    access: Access
    expires: datetime | None = None
    reread: Callable[[], Awaitable[Loaded]] | None = None
    """Cheap look at whether the token on disk was rotated."""

    def is_expiring(self, now: datetime) -> bool:
        return self.expires is not None and now >= self.expires - _EXPIRY_MARGIN


def kubeconfig_paths(explicit: str | Path | None, environ: Mapping[str, str]) -> str | None:
    """Return the kubeconfig files to merge, in KUBECONFIG's own syntax, or None if there are none.

    Raises ConfigError for a path that was named and does not exist.
    """
    if explicit is not None:
        named, origin = str(explicit), "--kubeconfig"
    elif environ.get("KUBECONFIG"):
        named, origin = environ["KUBECONFIG"], "KUBECONFIG"
    else:
        default = Path(environ.get("HOME") or Path.home()) / ".kube" / "config"
        return str(default) if default.is_file() else None
    if not any(Path(path).expanduser().is_file() for path in named.split(os.pathsep) if path):
        raise ConfigError(f"{origin} names {named}, which does not exist: give the path of a kubeconfig file")
    return named


def _is_writable(paths: str) -> bool:
    """Whether refresh tokens that were exchanged can be written back, as kubectl does."""
    return all(os.access(Path(path).expanduser(), os.W_OK) for path in paths.split(os.pathsep) if path)


async def _load_kubeconfig(paths: str, context: str | None) -> Loaded:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException, load_kube_config

    configuration = Configuration()
    try:
        loader = await load_kube_config(
            config_file=paths, context=context, client_configuration=configuration, persist_config=_is_writable(paths)
        )
    except (
        ConfigException,
        yaml.YAMLError,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        # The loader indexes whatever the YAML holds, so a file that is no kubeconfig fails in many ways.
        raise ConfigError(f"{paths} is not a usable kubeconfig: {_one_line(error)}") from error
    except OSError as error:
        raise ConfigError(f"the kubeconfig {paths} names a file or program that can't be used: {error}") from error
    expires: datetime | None = getattr(loader, "exec_plugin_expiry", None)
    return Loaded(_access(configuration, origin=paths), expires=expires)


async def _load_service_account() -> Loaded:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException, load_incluster_config

    configuration = Configuration()
    unusable = "the service account of this pod can't be used"
    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError) as error:
        raise ConfigError(f"{unusable}: {_one_line(error)}") from error
    access = _access(configuration, origin="service account")

    async def reread() -> Loaded:
        try:
            # Asking for the key makes the library look at the token file when it is a minute old.
            await configuration.get_api_key_with_prefix("BearerToken")
        except (ConfigException, OSError) as error:
            raise ConfigError(f"{unusable}: {_one_line(error)}") from error
        return Loaded(_access(configuration, origin="service account", known=access), reread=reread)

    return Loaded(access, reread=reread)


def _access(configuration: Configuration, *, origin: str, known: Access | None = None) -> Access:
    """Translate; `known` lends its TLS context, which is dear to make."""
    server = str(configuration.host).rstrip("/")
    host = urlsplit(server)
    if host.scheme not in ("http", "https") or not host.hostname:
        raise ConfigError(f"{origin}: the cluster's server {server!r} is not a URL such as https://host:6443")
    token = configuration.api_key.get("BearerToken")
    return Access(
        server=server,
        # A token file may end in a newline, which no header may hold.
        token=str(token).strip() if token else None,
        ssl=known.ssl if known else _tls(configuration, origin) if host.scheme == "https" else True,
        server_hostname=configuration.tls_server_name,
        proxy=configuration.proxy or _environment_proxy(host.scheme, host.hostname),
    )


def _tls(configuration: Configuration, origin: str) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        # Cluster authorities often lack the key identifiers that Python 3.13 asks for; no other client insists on them.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not configuration.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"{origin}: its certificates can't be used: {error}") from error
    return context


def _environment_proxy(scheme: str, host: str) -> str | None:
    """The proxy that HTTPS_PROXY and NO_PROXY choose for this host; looked up once, not on each request."""
    proxies: dict[str, Any] = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    return None if proxy is None or proxy_bypass(host) else str(proxy)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
