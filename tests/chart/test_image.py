"""The image that the chart runs. No container engine is needed: what a build would trip over is read from its file."""

import re

import pytest
from tests.chart.rendering import REPOSITORY

DOCKERFILE = (REPOSITORY / "Dockerfile").read_text()
COPIED = [
    source for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE) for source in line.split()[:-1]
]


def test_user_is_a_number_other_than_roots() -> None:
    (user,) = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    assert int(user) > 0


@pytest.mark.parametrize("source", COPIED)
def test_what_is_copied_exists_and_is_part_of_the_build_context(source: str) -> None:
    allowed = (REPOSITORY / ".dockerignore").read_text().splitlines()
    assert (REPOSITORY / source).exists()
    assert f"!{source}" in allowed
