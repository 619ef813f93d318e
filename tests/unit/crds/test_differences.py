"""The file of differences from upstream speaks of fields that are, or are not, in our schemas.

Whether it is complete is tried against a live API server in tests/controlplane/test_crd_schema.py.
"""

from __future__ import annotations

import pytest
from tests.support.crd_schema import Difference, differences, fields, node, root_schema


def name_of(difference: Difference) -> str:
    return f"{difference.kind}-{difference.path}"


@pytest.mark.parametrize("left_out", differences("left-out"), ids=name_of)
def test_field_left_out_is_not_there(left_out: Difference) -> None:
    assert left_out.path not in fields(root_schema(left_out.kind))
    assert left_out.reason


@pytest.mark.parametrize("added", differences("added"), ids=name_of)
def test_field_added_is_there_and_optional(added: Difference) -> None:
    parent, _, name = added.path.rpartition(".")
    around = node(added.kind, parent) if parent else root_schema(added.kind)
    assert name in around["properties"]
    assert name not in around.get("required", ())
    assert added.reason


@pytest.mark.parametrize("changed", differences("changed"), ids=name_of)
def test_field_changed_is_there(changed: Difference) -> None:
    assert node(changed.kind, changed.path)
    assert changed.reason
