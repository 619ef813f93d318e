"""A metric that the pages name is one that the operator has."""

import re

import pytest
from tests.docs.markdown import PAGES

from ganglift.app.metrics import FAMILIES

NAMED = {name for page in PAGES for name in re.findall(r"\bganglift_[a-z_]+", page.read_text())}


@pytest.mark.parametrize("name", sorted(NAMED))
def test_named_metric_exists(name: str) -> None:
    series = {"histogram": ("_bucket", "_sum", "_count", ""), "gauge": ("",), "counter": ("",)}
    assert name in {family.name + end for family in FAMILIES for end in series[family.type]}
