"""Which pods mount which claims, and which of them are being bound to a node that their status does not show.

Before kube-scheduler binds a pod it has the pod's volumes bound, which may take minutes. From 1.35 on the pod shows a
nomination meanwhile. On 1.34 only the claim tells, in its annotation `selected-node`, and where a volume that exists is
taken, only that volume: then it is not even known which node the pod is to go to.

kube-scheduler looks once a second whether the volumes are bound, so a pod counts as being bound until it is, until the
choice is taken back, or until an attempt of its own has failed since.
"""

from collections.abc import Iterable

from ganglift.api.model import Condition
from ganglift.api.pod import Pod
from ganglift.base.ids import Key, Uid
from ganglift.plan.ledger import Ledger
from ganglift.plan.shape import ClaimKey, claims_of


class Mounting:
    """The pods with claims, by uid and by claim. Pods without any cost nothing."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._claims: dict[Uid, tuple[ClaimKey, ...]] = {}
        self._pods: dict[ClaimKey, set[Uid]] = {}
        self._gated: dict[Uid, Key] = {}
        self._begun: dict[Uid, Condition | None] = {}
        """Pods that are being bound, with what their condition said when that began to show."""

    def see(self, pod: Pod) -> None:
        """Take a pod that was made or changed; its claims never change."""
        if pod.spec.volumes and pod.uid not in self._claims and (claims := claims_of(pod)):
            self._claims[pod.uid] = claims
            for key in claims:
                self._pods.setdefault(key, set()).add(pod.uid)
        if pod.uid in self._claims:
            self._judge(pod)
            if pod.is_gated and pod.group is not None:
                self._gated[pod.uid] = pod.group
            else:
                self._gated.pop(pod.uid, None)

    def forget(self, uid: Uid) -> None:
        """Take the end of a pod."""
        self._begun.pop(uid, None)
        self._gated.pop(uid, None)
        for key in self._claims.pop(uid, ()):
            self._pods[key].discard(uid)
            if not self._pods[key]:
                del self._pods[key]

    def users(self, key: ClaimKey) -> tuple[Uid, ...]:
        """Return the pods that mount the claim."""
        return tuple(sorted(self._pods.get(key, ())))

    def all(self) -> Iterable[Uid]:
        """Return all pods that mount claims."""
        return tuple(self._claims)

    def waiting_groups(self) -> tuple[Key, ...]:
        """Return the groups with pods that mount claims and wait behind a gate."""
        return tuple(sorted(set(self._gated.values())))

    def being_bound(self) -> Iterable[Uid]:
        """Return the pods for which kube-scheduler has chosen a node, and whose volumes it is having bound."""
        return tuple(self._begun)

    def selected_node(self, uid: Uid) -> str:
        """Return the node that a pod is being bound to, empty if it is not, or if nothing tells which."""
        if uid not in self._begun:
            return ""
        found = (self._ledger.claim(key) for key in self._claims[uid])
        return next((claim.selected_node for claim in found if claim is not None and claim.selected_node), "")

    def _judge(self, pod: Pod) -> None:
        condition = pod.condition("PodScheduled")
        if pod.is_bound or pod.is_gated or pod.is_over or not self._is_chosen(pod, condition):
            self._begun.pop(pod.uid, None)
        else:
            self._begun.setdefault(pod.uid, condition)

    def _is_chosen(self, pod: Pod, condition: Condition | None) -> bool:
        claims = [claim for key in self._claims[pod.uid] if (claim := self._ledger.claim(key)) is not None]
        open_claims = [claim for claim in claims if not claim.is_fully_bound]
        if any(claim.selected_node or self._ledger.has_volume_for(claim.key) for claim in open_claims):
            return True
        # A selected node stays on the claim for good, so of a bound one it tells nothing by itself.
        return not open_claims and pod.uid in self._begun and self._begun[pod.uid] == condition
