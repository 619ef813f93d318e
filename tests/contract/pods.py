"""Gates, nominations, bindings, evictions: what the protocol of reserving and lifting stands on."""

from __future__ import annotations

import pytest
from tests.contract.server import GATE, Obj, Server, load, pod
from tests.support.async_polling import until

from ganglift.kube.client import PatchType
from ganglift.kube.errors import Conflict, Forbidden, Invalid, NotFound, TooManyRequests
from ganglift.kube.resources import BATCH_JOBS, POD_DISRUPTION_BUDGETS, PODS, PRIORITY_CLASSES

FOREIGN = "example.dev/other"
OTHER_UID = "00000000-0000-4000-8000-000000000000"


class PodContract:
    async def test_a_gated_pod_says_so(self, server: Server) -> None:
        made = await server.make_pod()
        condition = made["status"]["conditions"][0]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "PodScheduled",
            "False",
            "SchedulingGated",
        )

    async def test_a_new_pod_has_its_defaults(self, server: Server) -> None:
        made = await server.make_pod(containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}])
        spec = made["spec"]
        assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1"}
        assert (spec["priority"], spec["preemptionPolicy"], spec["terminationGracePeriodSeconds"]) == (
            0,
            "PreemptLowerPriority",
            30,
        )
        assert made["status"]["phase"] == "Pending"

    async def test_a_status_given_at_creation_is_dropped(self, server: Server) -> None:
        made = await server.make(PODS, pod("w-0", gates=(GATE,)) | {"status": {"nominatedNodeName": "n1"}})
        assert "nominatedNodeName" not in made["status"]

    async def test_a_priority_comes_from_its_class(self, server: Server) -> None:
        name = f"high-{server.namespace}"
        await server.make(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": 100, "preemptionPolicy": "Never"})
        try:
            made = await until_admitted(server, name)
            assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (100, "Never")
        finally:
            await server.client.delete(PRIORITY_CLASSES.ref(name))

    async def test_lifting_removes_our_gate_and_no_other(self, server: Server) -> None:
        made = await server.make_pod(gates=(GATE, FOREIGN))
        lifted = await lift(server, made["metadata"]["uid"])
        assert lifted["spec"]["schedulingGates"] == [{"name": FOREIGN}]

    async def test_lifting_twice_changes_nothing(self, server: Server) -> None:
        made = await server.make_pod(gates=(GATE, FOREIGN))
        first = await lift(server, made["metadata"]["uid"])
        second = await lift(server, made["metadata"]["uid"])
        assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]

    async def test_lifting_another_incarnation_is_refused(self, server: Server) -> None:
        await server.make_pod()
        with pytest.raises(Invalid):
            await lift(server, OTHER_UID)
        assert (await server.get(PODS, "w-0"))["spec"]["schedulingGates"] == [{"name": GATE}]

    async def test_the_last_gate_gone_leaves_no_gates(self, server: Server) -> None:
        made = await server.make_pod()
        lifted = await lift(server, made["metadata"]["uid"])
        assert not lifted["spec"].get("schedulingGates")

    async def test_a_dry_run_of_a_lift_lifts_nothing(self, server: Server) -> None:
        made = await server.make_pod()
        await lift(server, made["metadata"]["uid"], dry_run=True)
        assert (await server.get(PODS, "w-0"))["spec"]["schedulingGates"] == [{"name": GATE}]

    async def test_a_gate_is_never_added(self, server: Server) -> None:
        await server.make_pod(gates=(GATE,))
        with pytest.raises(Invalid, match="only deletion is allowed"):
            await patch(server, {"spec": {"schedulingGates": [{"name": FOREIGN}]}})

    async def test_gates_are_set_once(self, server: Server) -> None:
        with pytest.raises(Invalid, match="Duplicate"):
            await server.make_pod(gates=(GATE, GATE))

    async def test_a_gated_pod_has_no_node_from_the_start(self, server: Server) -> None:
        with pytest.raises(Invalid, match="schedulingGates"):
            await server.make_pod(nodeName="n1")

    async def test_a_node_selector_may_grow_with_the_lift(self, server: Server) -> None:
        made = await server.make_pod(nodeSelector={"a": "b"})
        body = {
            "metadata": {"uid": made["metadata"]["uid"]},
            "spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}], "nodeSelector": {"rack": "r1"}},
        }
        lifted = await patch(server, body)
        assert lifted["spec"]["nodeSelector"] == {"a": "b", "rack": "r1"}

    async def test_a_node_selector_is_not_changed(self, server: Server) -> None:
        await server.make_pod(nodeSelector={"a": "b"})
        with pytest.raises(Invalid, match="nodeSelector"):
            await patch(server, {"spec": {"nodeSelector": {"a": "c"}}})

    async def test_a_lifted_pod_keeps_its_node_selector(self, server: Server) -> None:
        await server.make_pod(gates=())
        with pytest.raises(Invalid):
            await patch(server, {"spec": {"nodeSelector": {"a": "b"}}})

    async def test_a_gated_pod_can_be_nominated(self, server: Server) -> None:
        made = await server.make_pod()
        nominated = await nominate(server, "n1", uid=made["metadata"]["uid"])
        assert nominated["status"]["nominatedNodeName"] == "n1"
        assert nominated["spec"]["schedulingGates"] == [{"name": GATE}]

    async def test_a_nomination_repeated_changes_nothing(self, server: Server) -> None:
        await server.make_pod()
        first, second = await nominate(server, "n1"), await nominate(server, "n1")
        assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]

    async def test_a_nomination_of_an_older_state_is_a_conflict(self, server: Server) -> None:
        made = await server.make_pod()
        await nominate(server, "n1")
        with pytest.raises(Conflict):
            await nominate(server, "n2", resourceVersion=made["metadata"]["resourceVersion"])

    async def test_a_nomination_of_another_incarnation_is_refused(self, server: Server) -> None:
        await server.make_pod()
        with pytest.raises(Invalid):
            await nominate(server, "n1", uid=OTHER_UID)

    async def test_a_nomination_is_cleared_with_null(self, server: Server) -> None:
        await server.make_pod()
        await nominate(server, "n1")
        assert "nominatedNodeName" not in (await nominate(server, None))["status"]

    async def test_a_nomination_survives_a_change_of_annotations(self, server: Server) -> None:
        await server.make_pod()
        await nominate(server, "n1")
        changed = await patch(server, {"metadata": {"annotations": {"a": "b"}}})
        assert changed["status"]["nominatedNodeName"] == "n1"

    async def test_the_status_can_be_merged_by_condition_type(self, server: Server) -> None:
        await server.make_pod()
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "GangTakenBack", "message": "m"}
        body = {"status": {"conditions": [condition]}}
        changed = await patch(server, body, subresource="status")
        assert {c["type"] for c in changed["status"]["conditions"]} == {"PodScheduled", "DisruptionTarget"}

    async def test_a_gated_pod_is_not_bound(self, server: Server) -> None:
        await server.make_pod()
        with pytest.raises(Conflict, match="schedulingGates"):
            await server.bind("w-0")

    async def test_a_pod_is_bound_once(self, server: Server) -> None:
        await server.make_pod(gates=())
        await server.bind("w-0")
        with pytest.raises(Conflict, match="already assigned"):
            await server.bind("w-0")

    async def test_binding_clears_the_nomination_from_1_35_on(self, server: Server) -> None:
        await server.make_pod(gates=())
        await nominate(server, "n1")
        await server.bind("w-0")
        bound = await server.get(PODS, "w-0")
        assert bound["spec"]["nodeName"] == "n1"
        assert bound["status"].get("nominatedNodeName") == (None if server.minor >= 35 else "n1")

    async def test_a_bound_pod_is_not_nominated_from_1_35_on(self, server: Server) -> None:
        await server.make_pod(gates=())
        await server.bind("w-0")
        if server.minor >= 35:
            with pytest.raises(Invalid, match="already bound"):
                await nominate(server, "n2")
        else:
            assert (await nominate(server, "n2"))["status"]["nominatedNodeName"] == "n2"

    async def test_an_unbound_pod_is_deleted_at_once(self, server: Server) -> None:
        await server.make_pod()
        await server.client.delete(server.ref(PODS, "w-0"))
        assert not await server.exists(PODS, "w-0")

    async def test_a_bound_pod_stays_until_its_kubelet_lets_go(self, server: Server) -> None:
        await server.make_pod(gates=())
        await server.bind("w-0")
        await server.client.delete(server.ref(PODS, "w-0"))
        leaving = await server.get(PODS, "w-0")
        assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
        await server.client.delete(server.ref(PODS, "w-0"), grace_period_s=0)
        assert not await server.exists(PODS, "w-0")

    async def test_a_finalizer_comes_off_without_touching_others(self, server: Server) -> None:
        body = pod("w-0", gates=(GATE,))
        body["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking", "example.dev/hold"]
        await server.make(PODS, body)
        removal = {
            "metadata": {
                "$deleteFromPrimitiveList/finalizers": ["batch.kubernetes.io/job-tracking"],
                "annotations": {"scheduling.ganglift.dev/taken-back": "true"},
            }
        }
        changed = await patch(server, removal)
        assert changed["metadata"]["finalizers"] == ["example.dev/hold"]
        await patch(server, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.dev/hold"]}})

    async def test_an_eviction_removes_a_pending_pod(self, server: Server) -> None:
        made = await server.make_pod()
        await server.client.evict(server.ref(PODS, "w-0"), uid=made["metadata"]["uid"])
        assert not await server.exists(PODS, "w-0")

    async def test_an_eviction_of_another_incarnation_is_a_conflict(self, server: Server) -> None:
        await server.make_pod()
        with pytest.raises(Conflict):
            await server.client.evict(server.ref(PODS, "w-0"), uid=OTHER_UID)
        assert await server.exists(PODS, "w-0")

    async def test_an_eviction_of_a_missing_pod_is_not_found(self, server: Server) -> None:
        with pytest.raises(NotFound):
            await server.client.evict(server.ref(PODS, "w-0"))

    async def test_a_disruption_budget_forbids_an_eviction_at_once(self, server: Server) -> None:
        body = pod("w-0")
        body["metadata"]["labels"] = {"app": "a"}
        await server.make(PODS, body)
        await server.bind("w-0")
        running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        await patch(server, running, subresource="status")
        budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}
        await server.make(POD_DISRUPTION_BUDGETS, budget)
        with pytest.raises(TooManyRequests) as caught:
            await server.client.evict(server.ref(PODS, "w-0"))
        assert caught.value.status.causes[0].reason == "DisruptionBudget"


class JobContract:
    async def test_a_suspended_job_takes_label_and_gate_with_the_resume(self, server: Server) -> None:
        await server.make(BATCH_JOBS, job(suspend=True))
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"schedulingGates": [{"name": GATE}]}}
        body = {"spec": {"suspend": False, "template": template}}
        changed = await patch_job(server, body)
        assert changed["spec"]["template"]["spec"]["schedulingGates"] == [{"name": GATE}]
        assert changed["spec"]["suspend"] is False

    async def test_a_running_job_keeps_its_template(self, server: Server) -> None:
        await server.make(BATCH_JOBS, job(suspend=False))
        with pytest.raises(Invalid, match=r"spec\.template"):
            await patch_job(server, {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}})

    async def test_parallelism_is_changed_live(self, server: Server) -> None:
        await server.make(BATCH_JOBS, job(suspend=True))
        assert (await patch_job(server, {"spec": {"parallelism": 5}}))["spec"]["parallelism"] == 5

    async def test_completions_of_an_indexed_job_change_with_parallelism_only(self, server: Server) -> None:
        await server.make(BATCH_JOBS, job(suspend=True, completionMode="Indexed"))
        with pytest.raises(Invalid, match="completions"):
            await patch_job(server, {"spec": {"completions": 4}})
        changed = await patch_job(server, {"spec": {"completions": 4, "parallelism": 4}})
        assert changed["spec"]["completions"] == 4

    async def test_an_active_deadline_comes_and_goes(self, server: Server) -> None:
        await server.make(BATCH_JOBS, job(suspend=False))
        assert (await patch_job(server, {"spec": {"activeDeadlineSeconds": 9}}))["spec"]["activeDeadlineSeconds"] == 9
        assert (
            "activeDeadlineSeconds" not in (await patch_job(server, {"spec": {"activeDeadlineSeconds": None}}))["spec"]
        )

    async def test_a_template_the_server_refuses_is_refused_in_its_words(self, server: Server) -> None:
        body = job(suspend=True)
        body["spec"]["template"]["spec"]["restartPolicy"] = "Always"
        with pytest.raises(Invalid, match='"OnFailure", "Never"'):
            await server.make(BATCH_JOBS, body)


async def patch(server: Server, body: Obj, *, subresource: str | None = None) -> Obj:
    ref = server.ref(PODS, "w-0")
    return load(await server.client.patch(ref, body, patch_type=PatchType.STRATEGIC, subresource=subresource))


async def patch_job(server: Server, body: Obj) -> Obj:
    return load(await server.client.patch(server.ref(BATCH_JOBS, "j"), body, patch_type=PatchType.STRATEGIC))


async def lift(server: Server, uid: str, *, dry_run: bool = False) -> Obj:
    body = {"metadata": {"uid": uid}, "spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}]}}
    ref = server.ref(PODS, "w-0")
    return load(await server.client.patch(ref, body, patch_type=PatchType.STRATEGIC, dry_run=dry_run))


async def nominate(server: Server, node: str | None, **metadata: str) -> Obj:
    body = {"metadata": metadata, "status": {"nominatedNodeName": node}}
    ref = server.ref(PODS, "w-0")
    return load(await server.client.patch(ref, body, patch_type=PatchType.MERGE, subresource="status"))


async def until_admitted(server: Server, priority_class: str) -> Obj:
    """The admission plugin learns of a new class a moment after it was made."""
    made: list[Obj] = []

    async def try_it() -> bool:
        try:
            made.append(await server.make_pod(priorityClassName=priority_class))
        except Forbidden:
            return False
        return True

    await until(try_it)
    return made[0]


def job(**spec: object) -> Obj:
    template = {
        "spec": {"schedulerName": "nobody", "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    }
    return {"metadata": {"name": "j"}, "spec": {"parallelism": 2, "completions": 2, "template": template, **spec}}
