"""The commands that the pages tell the reader to type.

Those for kubectl and helm are run for real in tests/controlplane/test_docs.py; here is what needs no cluster.
"""

import re
import shlex
from itertools import pairwise

import pytest
from tests.docs.markdown import PAGES, REPOSITORY, Block, blocks
from typer.core import TyperGroup
from typer.main import get_command

from ganglift.cli.main import app

RUN_FOR_REAL = {"kubectl", "helm"}
NEEDS_A_CONTAINER_ENGINE = {"docker"}
PARTS_OF_A_PIPELINE = {"while", "done"}
KNOWN = RUN_FOR_REAL | NEEDS_A_CONTAINER_ENGINE | PARTS_OF_A_PIPELINE | {"make", "ganglift", "tox", "python"}


def commands(block: Block) -> list[list[str]]:
    """Return the block's commands, each split into words, continued lines joined."""
    lines = re.sub(r"\\\n\s*", " ", block.text).splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip() and not line.lstrip().startswith("#")]


def of_program(*programs: str) -> list[list[str]]:
    return [
        words for page in PAGES for block in blocks(page, "sh") for words in commands(block) if words[0] in programs
    ]


@pytest.mark.parametrize("block", [block for page in PAGES for block in blocks(page, "sh")], ids=str)
def test_block_has_only_commands_that_some_test_looks_after(block: Block) -> None:
    assert {words[0] for words in commands(block)} <= KNOWN


@pytest.mark.parametrize("words", of_program("make"), ids=shlex.join)
def test_make_has_the_target(words: list[str]) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    for target in words[1:]:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("words", of_program("tox"), ids=shlex.join)
def test_tox_has_the_environment(words: list[str]) -> None:
    environments = re.findall(r"^\[testenv:(\w+)\]", (REPOSITORY / "tox.ini").read_text(), re.MULTILINE)
    (names,) = [value for option, value in pairwise(words) if option == "-e"]
    assert set(names.split(",")) <= set(environments)


@pytest.mark.parametrize("words", of_program("ganglift"), ids=shlex.join)
def test_ganglift_has_the_command_and_its_options(words: list[str]) -> None:
    command = get_command(app)
    for word in words[1:]:
        if word.startswith("--"):
            options = [option for each in command.params for option in (*each.opts, *each.secondary_opts)]
            assert word.partition("=")[0] in options
        elif isinstance(command, TyperGroup):
            command = command.commands[word]


@pytest.mark.parametrize("words", of_program("python"), ids=shlex.join)
def test_python_is_given_a_script_that_is_there(words: list[str]) -> None:
    assert (REPOSITORY / words[1]).is_file()


@pytest.mark.parametrize("words", [words for words in of_program("docker") if words[1] == "build"], ids=shlex.join)
def test_image_is_built_where_its_dockerfile_is(words: list[str]) -> None:
    assert (REPOSITORY / words[-1] / "Dockerfile").is_file()
