"""The documentation as data: its tables, code blocks, headings and links."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]

_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A fenced block of code; `line` is that of its fence, counted from 1."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def tokens(page: Path) -> list[Token]:
    return _PARSER.parse(page.read_text())


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return the page's fenced blocks, of these languages where any is given."""
    return [
        Block(page, (token.map or [0])[0] + 1, token.info, token.content)
        for token in tokens(page)
        if token.type == "fence" and (not languages or token.info in languages)
    ]


def table(page: Path, first_heading: str) -> list[dict[str, str]]:
    """Return the rows of the page's one table whose first column bears that heading, as heading to cell.

    Cells are Markdown as written.
    """
    (found,) = [rows for rows in _tables(page) if rows[0][0] == first_heading]
    headings, *rows = found
    return [dict(zip(headings, row, strict=True)) for row in rows]


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
