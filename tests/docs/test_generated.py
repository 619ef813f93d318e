"""What the pages repeat of the code is what the code says."""

from pathlib import Path

import pytest
from docs.generate import pages

MADE = pages()


@pytest.mark.parametrize("page", MADE, ids=lambda page: page.name)
def test_page_is_what_its_generator_makes(page: Path) -> None:
    assert page.read_text() == MADE[page], "run: python docs/generate.py"
