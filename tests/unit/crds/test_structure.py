"""What a user of kubectl meets: names, columns, descriptions; and what server-side apply needs of each list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.crd_schema import CRD_FILES, Schema, crd, node, root_schema, version

KINDS = tuple(CRD_FILES)


def below(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema with its path, the root's path being empty."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        if path or name != "metadata":
            yield from below(child, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from below(schema["items"], f"{path}[]")


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described(kind: str) -> None:
    bare = [path for path, schema in below(root_schema(kind)) if not schema.get("description", "").strip()]
    assert bare == []


@pytest.mark.parametrize("kind", KINDS)
def test_descriptions_are_sentences(kind: str) -> None:
    odd = [path for path, schema in below(root_schema(kind)) if not schema["description"].strip().endswith(".")]
    assert odd == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_list_says_how_it_is_merged(kind: str) -> None:
    silent = [
        path
        for path, schema in below(root_schema(kind))
        if schema.get("type") == "array" and "x-kubernetes-list-type" not in schema
    ]
    assert silent == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_integer_says_how_wide_it_is(kind: str) -> None:
    silent = [
        path
        for path, schema in below(root_schema(kind))
        if schema.get("type") == "integer" and schema.get("format") not in {"int32", "int64"}
    ]
    assert silent == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_has_words_for_the_user(kind: str) -> None:
    wordless = [
        (path, rule["rule"])
        for path, schema in below(root_schema(kind))
        for rule in schema.get("x-kubernetes-validations", ())
        if not rule.get("message")
    ]
    assert wordless == []


@pytest.mark.parametrize("kind", KINDS)
def test_status_is_a_subresource(kind: str) -> None:
    assert version(kind)["subresources"] == {"status": {}}


@pytest.mark.parametrize(
    ("kind", "group", "api_version", "short", "categories"),
    [
        ("Workload", "scheduling.ganglift.dev", "v1beta1", "gwl", ["ganglift"]),
        ("PodGroup", "scheduling.ganglift.dev", "v1beta1", "gpg", ["ganglift"]),
        ("Job", "batch.ganglift.dev", "v1", "gjob", ["ganglift", "all"]),
    ],
)
def test_names(kind: str, group: str, api_version: str, short: str, categories: list[str]) -> None:
    spec = crd(kind)["spec"]
    assert (spec["group"], version(kind)["name"], spec["scope"]) == (group, api_version, "Namespaced")
    assert (spec["names"]["kind"], spec["names"]["shortNames"]) == (kind, [short])
    assert spec["names"]["categories"] == categories
    assert crd(kind)["metadata"]["name"] == f"{spec['names']['plural']}.{group}"


@pytest.mark.parametrize("kind", KINDS)
def test_file_is_named_after_group_and_plural(kind: str) -> None:
    spec = crd(kind)["spec"]
    assert CRD_FILES[kind].name == f"{spec['group']}_{spec['names']['plural']}.yaml"


COLUMNS = {
    "Workload": (["Groups", "Scheduled", "Status", "Age"], ["Controller", "Message"]),
    "PodGroup": (
        ["Policy", "Min", "Members", "Scheduled", "Running", "Status", "Age"],
        ["Reserved", "Need", "Workload", "Message"],
    ),
    "Job": (["Status", "Completions", "Min", "Scheduled", "Age"], ["Need", "PodGroup", "Message"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns(kind: str) -> None:
    columns: list[dict[str, Any]] = version(kind)["additionalPrinterColumns"]
    narrow = [column["name"] for column in columns if not column.get("priority")]
    wide = [column["name"] for column in columns if column.get("priority")]
    assert (narrow, wide) == COLUMNS[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_show_fields_of_the_schema_with_their_type(kind: str) -> None:
    shown = {
        column["jsonPath"].lstrip("."): column["type"]
        for column in version(kind)["additionalPrinterColumns"]
        if column["type"] != "date" and "[?" not in column["jsonPath"]
    }
    assert {path: node(kind, path)["type"] for path in shown} == shown
