"""Links lead somewhere."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.docs.markdown import PAGES, anchors, links

LINKS = [(page, target) for page in PAGES for target in links(page)]
INTERNAL = [(page, target) for page, target in LINKS if not urlsplit(target).scheme]


@pytest.mark.parametrize(("page", "target"), INTERNAL, ids=lambda value: getattr(value, "name", value))
def test_link_inside_the_repository_leads_to_a_file_and_a_heading(page: Path, target: str) -> None:
    parts = urlsplit(target)
    file = (page.parent / parts.path) if parts.path else page
    assert file.exists()
    assert not parts.fragment or parts.fragment in anchors(file)


def test_links_to_the_outside_are_encrypted() -> None:
    assert {urlsplit(target).scheme for _, target in LINKS} <= {"", "https"}
