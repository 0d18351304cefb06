"""Where the pages are, and Markdown of their generated blocks."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Sequence

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells must hold no bars."""
    line = lambda cells: "| " + " | ".join(cells) + " |"
    return "\n".join([line(headings), line(["---"] * len(headings)), *map(line, rows)])


def bullets(sentences: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {sentence}" for sentence in sentences)
