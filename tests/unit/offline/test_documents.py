"""From bytes to objects: every form of file, and what is said of one that is damaged."""

import gzip
import json

import pytest
import yaml
from tests.builders import node, pod
from tests.kinds import podgroup
from tests.support.files import kubectl_list, objects
from tests.unit.offline.ask import complaints, named

from ganglift.offline.documents import SNAPSHOT_API, read
from ganglift.offline.loading import load
from ganglift.offline.storing import snapshot_bytes

THINGS = (
    node("n1").gpus(2),
    pod("w-0").gang("g").gpu(1).gated().label("note", 'a },\n        {\n "kind": "odd'),
    podgroup("g").gang(1),
)
LIST = kubectl_list(*THINGS)
SNAPSHOT = snapshot_bytes(load([("list", LIST)]))


def names(data: bytes) -> list[tuple[str, str, str]]:
    return [(one.api_version, one.kind, one.data["metadata"]["name"]) for one in read("file", data).documents]


ALL = [("v1", "Node", "n1"), ("v1", "Pod", "w-0"), ("scheduling.ganglift.dev/v1beta1", "PodGroup", "g")]


@pytest.mark.parametrize(
    "data",
    [
        LIST,
        json.dumps(json.loads(LIST)).encode(),
        yaml.safe_dump(json.loads(LIST)).encode(),
        yaml.safe_dump_all(objects(*THINGS)).encode(),
        b"\n---\n" + yaml.safe_dump_all([objects(*THINGS)[0], None, *objects(*THINGS)[1:]]).encode(),
        b"\xef\xbb\xbf" + LIST,
        gzip.compress(LIST),
    ],
    ids=["kubectl", "compact", "yaml-list", "yaml-documents", "yaml-empty-document", "byte-order-mark", "gzip"],
)
def test_objects_are_found_in_every_form_of_file(data: bytes) -> None:
    assert names(data) == ALL


def test_snapshot_has_the_objects_in_the_order_of_kinds_and_names() -> None:
    assert sorted(names(SNAPSHOT)) == sorted(ALL)


def test_reformatted_snapshot_is_read_all_the_same() -> None:
    pretty = json.dumps(json.loads(SNAPSHOT), indent=2).encode()
    head = read("file", pretty).head
    assert head is not None
    assert head.counts["Pod"] == 1
    assert sorted(names(pretty)) == sorted(ALL)


def test_objects_are_cut_out_just_as_decoding_the_whole_finds_them() -> None:
    whole = [item["metadata"] for item in json.loads(LIST)["items"]]
    assert [document.data["metadata"] for document in read("file", LIST).documents] == whole


def test_list_of_one_kind_lends_its_kind_to_items_without_one() -> None:
    raw = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod("a").wire]}
    assert names(json.dumps(raw).encode()) == [("v1", "Pod", "a")]


def test_fields_that_are_null_are_not_there() -> None:
    text = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: null}\nspec: {nodeSelector: }\n"
    (document,) = read("file", text).documents
    assert document.data == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}


@pytest.mark.parametrize("end", range(1, len(SNAPSHOT.rstrip()), 37))
def test_snapshot_cut_short_anywhere_is_told_from_a_whole_one(end: int) -> None:
    assert "snapshot.json: the file was cut short: it ends at line" in complaints(
        lambda: load([("snapshot.json", SNAPSHOT[:end])])
    )


@pytest.mark.parametrize("end", range(1, len(LIST) - 1, 211))
def test_list_cut_short_anywhere_is_told_from_a_whole_one(end: int) -> None:
    assert "a.yaml: the file was cut short" in complaints(lambda: load(named(LIST[:end])))


def test_compressed_snapshot_cut_short_is_told_from_a_whole_one() -> None:
    assert "a.yaml: the compressed file was cut short or damaged" in complaints(
        lambda: load(named(gzip.compress(SNAPSHOT)[:-20]))
    )


def test_snapshot_that_lost_lines_in_its_middle_is_noticed_by_its_counts() -> None:
    lines = SNAPSHOT.split(b"\n")
    without_pod = b"\n".join(line for line in lines if b'"kind":"Pod"' not in line)
    words = complaints(lambda: load(named(without_pod)))
    assert "a.yaml: counts[Pod]: 0 of 1 Pod objects are there" in words


def test_snapshot_of_another_version_says_which_one_is_read() -> None:
    words = complaints(lambda: load(named(SNAPSHOT.replace(SNAPSHOT_API.encode(), b"snapshot.ganglift.dev/v9"))))
    assert words == (
        "a.yaml: apiVersion: the snapshot is of version snapshot.ganglift.dev/v9, this ganglift reads "
        f"{SNAPSHOT_API}: take it again, or use the ganglift that took it"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "a.yaml: the file is empty"),
        (b"  \n", "a.yaml: the file is empty"),
        (b'{"apiVersion": "v1" "kind": "Pod"}', "a.yaml: the file is not JSON: expected `,` or `}` at line 1"),
        (b"[1, 2]", "a.yaml: object 1: this is a list, not an object"),
        (b"kind: [", "a.yaml: the file is neither JSON nor YAML"),
        (b"a: b\n  c: d\n", "a.yaml: the file is neither JSON nor YAML: mapping values are not allowed"),
        (b"\x89PNG\x00\x01", "a.yaml: the file is neither JSON nor YAML"),
        (b"plain words", "a.yaml: document 1: this is a text, not an object"),
        (b"apiVersion: v1\n---\nkind: Pod\n", "a.yaml: document 1: kind: is missing"),
        (
            b"apiVersion: v1\nitems: []\n",
            "a.yaml: document 1: this is a list without its kind: was the file cut short?",
        ),
        (
            b'{"kind": "PodList", "apiVersion": "v1", "items": [], "metadata": {"continue": "more"}}',
            "a.yaml: metadata.continue: this is one page of a longer list",
        ),
        (b"&a {apiVersion: v1, kind: Pod, x: *a}", "a.yaml: document 1: the object is nested too deeply"),
        (b"{" * 100_000, "a.yaml: the file"),
        (b"- " * 3_000 + b"a", "a.yaml: the file is neither JSON nor YAML: exceeded maximum nesting depth"),
    ],
)
def test_damaged_file_is_named_with_what_is_wrong(data: bytes, said: str) -> None:
    assert complaints(lambda: load(named(data))).startswith(said)


def test_aliases_that_stand_for_more_than_memory_holds_are_refused() -> None:
    levels = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12)]
    bomb = b"apiVersion: v1\nkind: Pod\n" + b"\n".join(levels)
    assert "nested too deeply, or contains itself" in complaints(lambda: load(named(bomb)))
