"""Names, versions, preconditions, patch types, status, dry runs, deletion: true of every kind."""

from __future__ import annotations

import pytest
from tests.contract.server import Obj, Server, load
from tests.support.async_polling import until

from ganglift.kube.client import PatchType, Propagation
from ganglift.kube.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    NotServed,
    StatusError,
    UnsupportedMediaType,
)
from ganglift.kube.resources import EVENTS, LEASES, NODES, POD_GROUPS, PODS, Resource


class ObjectContract:
    async def test_a_new_object_gets_uid_version_and_time(self, server: Server) -> None:
        made = await server.make_lease()
        assert {"uid", "resourceVersion", "creationTimestamp"} <= made["metadata"].keys()

    async def test_an_answer_names_its_kind(self, server: Server) -> None:
        made = await server.make_lease()
        assert (made["kind"], made["apiVersion"]) == ("Lease", "coordination.k8s.io/v1")

    async def test_a_name_is_taken_once(self, server: Server) -> None:
        await server.make_lease()
        with pytest.raises(AlreadyExists):
            await server.make_lease()

    async def test_generated_names_differ(self, server: Server) -> None:
        made = [await server.make(LEASES, {"metadata": {"generateName": "x-"}}) for _ in range(3)]
        names = {lease["metadata"]["name"] for lease in made}
        assert len(names) == 3
        assert all(name.startswith("x-") for name in names)

    async def test_a_name_must_be_a_dns_name(self, server: Server) -> None:
        with pytest.raises(Invalid, match=r"metadata\.name"):
            await server.make_lease("Not_A_Name")

    async def test_a_label_value_has_at_most_63_characters(self, server: Server) -> None:
        with pytest.raises(Invalid) as caught:
            await server.make_lease(labels={"a": "x" * 64})
        assert caught.value.status.causes[0].field == "metadata.labels"

    async def test_an_object_needs_its_namespace(self, server: Server) -> None:
        with pytest.raises(NotFound, match="no-such-namespace"):
            await server.client.create(LEASES, {"metadata": {"name": "x"}}, namespace="no-such-namespace")

    async def test_a_version_is_not_given_at_creation(self, server: Server) -> None:
        # An internal error (500) for built-in kinds of today's servers; the words are what can be relied on.
        with pytest.raises(StatusError, match="resourceVersion should not be set"):
            await server.make_lease(resourceVersion="7")

    async def test_a_custom_resource_names_its_kind(self, server: Server) -> None:
        body = group()
        del body["kind"]
        with pytest.raises(BadRequest, match="Object 'Kind' is missing"):
            await server.make(POD_GROUPS, body)

    async def test_a_missing_object_is_not_found(self, server: Server) -> None:
        with pytest.raises(NotFound) as caught:
            await server.get(LEASES, "none")
        assert not isinstance(caught.value, NotServed)

    async def test_a_kind_that_is_not_served_is_told_from_a_missing_object(self, server: Server) -> None:
        with pytest.raises(NotServed):
            await server.client.get(Resource("no.such", "v1", "things", "Thing").ref("x", server.namespace))

    async def test_a_change_gets_a_newer_version(self, server: Server) -> None:
        made = await server.make_lease()
        changed = await self._label(server, {"labels": {"a": "b"}})
        assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])

    async def test_a_patch_that_changes_nothing_keeps_the_version(self, server: Server) -> None:
        made = await server.make_lease(labels={"a": "b"})
        same = await self._label(server, {"labels": {"a": "b"}})
        assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]

    async def test_a_patch_with_an_old_version_is_a_conflict(self, server: Server) -> None:
        made = await server.make_lease()
        await self._label(server, {"labels": {"a": "b"}})
        with pytest.raises(Conflict):
            await self._label(server, {"resourceVersion": made["metadata"]["resourceVersion"], "labels": {"a": "c"}})

    async def test_a_patch_with_another_uid_is_invalid(self, server: Server) -> None:
        await server.make_lease()
        with pytest.raises(Invalid):
            await self._label(server, {"uid": "00000000-0000-4000-8000-000000000000", "labels": {"a": "b"}})

    async def test_a_patch_with_the_right_uid_is_taken(self, server: Server) -> None:
        made = await server.make_lease()
        changed = await self._label(server, {"uid": made["metadata"]["uid"], "labels": {"a": "b"}})
        assert changed["metadata"]["labels"] == {"a": "b"}

    async def test_a_merge_patch_removes_with_null(self, server: Server) -> None:
        await server.make_lease(labels={"a": "b", "c": "d"})
        changed = await self._label(server, {"labels": {"a": None}})
        assert changed["metadata"]["labels"] == {"c": "d"}

    async def test_a_json_patch_tests_before_it_changes(self, server: Server) -> None:
        await server.make_lease(labels={"a": "b"})
        path = "/metadata/labels/a"
        operations = [{"op": "test", "path": path, "value": "x"}, {"op": "replace", "path": path, "value": "y"}]
        with pytest.raises(Invalid):
            await server.client.patch(server.ref(LEASES, "one"), operations, patch_type=PatchType.JSON)
        operations[0]["value"] = "b"
        await server.client.patch(server.ref(LEASES, "one"), operations, patch_type=PatchType.JSON)
        assert (await server.get(LEASES, "one"))["metadata"]["labels"] == {"a": "y"}

    async def test_an_apply_makes_and_then_changes(self, server: Server) -> None:
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "one"}}
        for holder in ("a", "b"):
            spec = {"spec": {"holderIdentity": holder}}
            await server.client.patch(server.ref(LEASES, "one"), body | spec, patch_type=PatchType.APPLY)
        assert (await server.get(LEASES, "one"))["spec"]["holderIdentity"] == "b"

    async def test_custom_resources_have_no_strategic_merge(self, server: Server) -> None:
        await server.make(POD_GROUPS, group())
        with pytest.raises(UnsupportedMediaType):
            await server.client.patch(server.ref(POD_GROUPS, "g"), {}, patch_type=PatchType.STRATEGIC)

    async def test_a_replace_with_an_old_version_is_a_conflict(self, server: Server) -> None:
        made = await server.make_lease()
        await self._label(server, {"labels": {"a": "b"}})
        with pytest.raises(Conflict):
            await server.client.replace(server.ref(LEASES, "one"), made)

    async def test_a_replace_with_another_uid_is_a_conflict(self, server: Server) -> None:
        made = await server.make_lease()
        made["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
        with pytest.raises(Conflict):
            await server.client.replace(server.ref(LEASES, "one"), made)

    async def test_the_status_is_not_written_with_the_object(self, server: Server) -> None:
        await server.make(POD_GROUPS, group() | {"status": {"phase": "Running"}})
        body = {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}}
        await server.client.patch(server.ref(POD_GROUPS, "g"), body, patch_type=PatchType.MERGE)
        assert "phase" not in (await server.get(POD_GROUPS, "g")).get("status", {})

    async def test_the_object_is_not_written_with_the_status(self, server: Server) -> None:
        await server.make(POD_GROUPS, group())
        body = {"metadata": {"labels": {"a": "b"}}, "status": {"members": 3}}
        await server.client.patch(server.ref(POD_GROUPS, "g"), body, patch_type=PatchType.MERGE, subresource="status")
        found = await server.get(POD_GROUPS, "g")
        assert (found["status"]["members"], found["metadata"].get("labels")) == (3, None)

    async def test_only_a_change_of_the_spec_makes_a_new_generation(self, server: Server) -> None:
        await server.make(POD_GROUPS, group())
        ref = server.ref(POD_GROUPS, "g")
        for body in ({"metadata": {"labels": {"a": "b"}}}, {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}):
            await server.client.patch(ref, body, patch_type=PatchType.MERGE)
        assert (await server.get(POD_GROUPS, "g"))["metadata"]["generation"] == 2

    async def test_a_dry_run_answers_and_changes_nothing(self, server: Server) -> None:
        body = {"metadata": {"name": "one"}}
        made = await server.client.create(LEASES, body, namespace=server.namespace, dry_run=True)
        assert b'"uid"' in made
        assert not await server.exists(LEASES, "one")

    async def test_a_dry_run_of_a_delete_deletes_nothing(self, server: Server) -> None:
        await server.make_lease()
        await server.client.delete(server.ref(LEASES, "one"), dry_run=True)
        assert await server.exists(LEASES, "one")

    async def test_a_delete_with_another_uid_is_a_conflict(self, server: Server) -> None:
        await server.make_lease()
        with pytest.raises(Conflict):
            await server.client.delete(server.ref(LEASES, "one"), uid="00000000-0000-4000-8000-000000000000")

    async def test_a_delete_with_the_right_uid_deletes(self, server: Server) -> None:
        made = await server.make_lease()
        await server.client.delete(server.ref(LEASES, "one"), uid=made["metadata"]["uid"])
        assert not await server.exists(LEASES, "one")

    async def test_a_finalizer_holds_an_object_until_it_is_taken_off(self, server: Server) -> None:
        await server.make_lease(finalizers=["example.dev/hold"])
        await server.client.delete(server.ref(LEASES, "one"))
        marked = await server.get(LEASES, "one")
        assert "deletionTimestamp" in marked["metadata"]
        await self._label(server, {"finalizers": None})
        assert not await server.exists(LEASES, "one")

    async def test_no_finalizer_is_added_to_what_is_being_deleted(self, server: Server) -> None:
        await server.make_lease(finalizers=["example.dev/hold"])
        await server.client.delete(server.ref(LEASES, "one"))
        with pytest.raises(Invalid, match="no new finalizers"):
            await self._label(server, {"finalizers": ["example.dev/hold", "example.dev/more"]})

    async def test_what_an_object_owns_is_deleted_after_it(self, server: Server) -> None:
        owner = await server.make_lease("owner")
        await server.make_lease("owned", ownerReferences=[owned_by(owner)])
        await server.client.delete(server.ref(LEASES, "owner"))
        await until(lambda: self._is_gone(server, "owned"), 60)

    async def test_what_is_orphaned_stays(self, server: Server) -> None:
        owner = await server.make_lease("owner")
        await server.make_lease("owned", ownerReferences=[owned_by(owner)])
        await server.client.delete(server.ref(LEASES, "owner"), propagation=Propagation.ORPHAN)
        await until(lambda: self._is_gone(server, "owner"), 60)
        assert "ownerReferences" not in (await server.get(LEASES, "owned"))["metadata"]

    async def test_what_another_owner_has_stays(self, server: Server) -> None:
        first, second = await server.make_lease("first"), await server.make_lease("second")
        await server.make_lease("owned", ownerReferences=[owned_by(first), owned_by(second)])
        await server.make_lease("witness", ownerReferences=[owned_by(first)])
        await server.client.delete(server.ref(LEASES, "first"))
        await until(lambda: self._is_gone(server, "witness"), 60)
        assert await server.exists(LEASES, "owned")

    async def test_a_cluster_wide_object_lives_in_no_namespace(self, server: Server) -> None:
        name = f"node-{server.namespace}"
        made = await server.make(NODES, {"metadata": {"name": name}})
        try:
            assert "namespace" not in made["metadata"]
        finally:
            await server.client.delete(NODES.ref(name))

    async def test_an_event_is_accepted_as_the_recorder_writes_it(self, server: Server) -> None:
        made = await server.make(EVENTS, event(server.namespace))
        series = {"series": {"count": 2, "lastObservedTime": "2026-11-30T12:00:01.000000Z"}}
        ref = server.ref(EVENTS, made["metadata"]["name"])
        changed = await server.client.patch(ref, series, patch_type=PatchType.MERGE)
        assert b'"count":2' in changed

    async def test_an_event_keeps_its_words(self, server: Server) -> None:
        made = await server.make(EVENTS, event(server.namespace))
        ref = server.ref(EVENTS, made["metadata"]["name"])
        with pytest.raises(Invalid):
            await server.client.patch(ref, {"note": "other words"}, patch_type=PatchType.MERGE)

    async def test_a_priority_class_must_exist(self, server: Server) -> None:
        with pytest.raises(Forbidden, match="no PriorityClass with name none was found"):
            await server.make_pod(priorityClassName="none")
        assert not await server.exists(PODS, "w-0")

    async def _label(self, server: Server, metadata: Obj) -> Obj:
        patch = {"metadata": metadata}
        return load(await server.client.patch(server.ref(LEASES, "one"), patch, patch_type=PatchType.MERGE))

    async def _is_gone(self, server: Server, name: str) -> bool:
        return not await server.exists(LEASES, name)


def group() -> Obj:
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }


def owned_by(owner: Obj) -> Obj:
    metadata = owner["metadata"]
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def event(namespace: str) -> Obj:
    return {
        "metadata": {"name": "g.0123456789abcdef"},
        "eventTime": "2026-11-30T12:00:00.000000Z",
        "reportingController": "ganglift",
        "reportingInstance": "ganglift-0",
        "action": "Scheduled",
        "reason": "Scheduled",
        "note": "4 of 4 members are bound",
        "type": "Normal",
        "regarding": {
            "apiVersion": "scheduling.ganglift.dev/v1beta1",
            "kind": "PodGroup",
            "name": "g",
            "namespace": namespace,
            "uid": "00000000-0000-4000-8000-000000000001",
        },
    }
