"""A message that the pages quote is one that the product gives."""

import re

import pytest
from tests.docs.markdown import DOCS, REPOSITORY, table

SOURCES = " ".join(
    " ".join(path.read_text().split())
    for directory, pattern in (("crds", "*.yaml"), ("operator", "*.py"))
    for path in (REPOSITORY / directory).rglob(pattern)
)
QUOTED = [row["Message"].strip("`") for row in table(DOCS / "troubleshooting.md", "Message")]


@pytest.mark.parametrize("message", QUOTED)
def test_quoted_message_is_in_the_source(message: str) -> None:
    """What varies, numbers and `...`, is left out."""
    fixed = [part.strip() for part in re.split(r"\.\.\.|\d+", message) if part.strip()]
    assert fixed
    assert [part for part in fixed if part not in SOURCES] == []
