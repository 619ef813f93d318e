"""The documentation as data: its tables, code blocks, headings and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]

_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A fenced block of code; `line` is that of its fence, counted from 1, `section` the heading it stands under."""

    page: Path
    line: int
    section: str
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def tokens(page: Path) -> list[Token]:
    return _PARSER.parse(page.read_text())


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return the page's fenced blocks, of these languages where any is given."""
    found, section, is_heading = [], "", False
    for token in tokens(page):
        if is_heading:
            section = token.content
        is_heading = token.type == "heading_open"
        if token.type == "fence" and (not languages or token.info in languages):
            found.append(Block(page, (token.map or [0])[0] + 1, section, token.info, token.content))
    return found


def anchors(page: Path) -> set[str]:
    """Return the fragments that a link into the page can have, as GitHub makes them of its headings."""
    parsed = tokens(page)
    headings = [text.content for token, text in pairwise(parsed) if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    """Return the targets of all links and images, as written."""
    children = [child for token in tokens(page) for child in token.children or []]
    targets = [child.attrGet("href") or child.attrGet("src") for child in children]
    return [str(target) for target in targets if target]


def table(page: Path, first_heading: str) -> list[dict[str, str]]:
    """Return the rows of the page's tables whose first column bears that heading, as heading to cell.

    Cells are Markdown as written.
    """
    found = [rows for rows in _tables(page) if rows[0][0] == first_heading]
    return [dict(zip(headings, row, strict=True)) for headings, *rows in found for row in rows]


def _tables(page: Path) -> Iterator[list[list[str]]]:
    rows: list[list[str]] = []
    for token in tokens(page):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows and token.level >= 4:
            rows[-1].append(token.content)
        elif token.type == "table_close":
            yield rows
            rows = []
