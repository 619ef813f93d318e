"""What is known of objects: only ever newer, only ever the right one."""

from tests.kinds import PodGroupBuilder, podgroup, uid

from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key
from ganglift.handlers.store import GroupStore, Store

KEY = Key("default", "g")


def group(version: int, name: str = "g") -> PodGroupBuilder:
    return podgroup(name).meta(resourceVersion=str(version))


def test_an_older_version_is_not_taken() -> None:
    store: Store[PodGroup] = Store()
    assert store.put(group(10).made)
    assert not store.put(group(9).made)
    assert not store.put(group(10).made)
    assert store.put(group(11).made)
    assert store.get(KEY) == group(11).made


def test_the_end_of_an_earlier_object_of_that_name_is_not_taken() -> None:
    store: Store[PodGroup] = Store()
    store.put(group(10).meta(uid="uid-new").made)
    assert store.drop(KEY, uid("g")) is None
    assert store.get(KEY) is not None


def test_what_a_list_lacks_is_gone_unless_it_is_newer_than_the_list() -> None:
    store: Store[PodGroup] = Store()
    for version, name in ((10, "kept"), (11, "gone"), (30, "newer")):
        store.put(group(version, name).made)
    assert [obj.name for obj in store.missing_from([group(10, "kept").made], version=20)] == ["gone"]


def test_groups_are_found_by_workload_and_by_name_until_they_go() -> None:
    store = GroupStore()
    store.put(group(1, "a").of("serve", "x").made)
    store.put(group(2, "b").made)
    store.put(group(3, "c").of("other", "x").made)
    assert [found.name for found in store.near(Key("default", "serve"), ["b", "missing"])] == ["a", "b"]
    store.drop(Key("default", "a"), uid("a"))
    assert store.near(Key("default", "serve"), []) == ()
