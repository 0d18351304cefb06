"""A self-contained HTML page with text, tables and embedded pictures."""

from __future__ import annotations

import base64
import html
import pathlib
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from jaxgait.plot.style import save
from jaxgait.report import machine, made

_HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222;
overflow-wrap: anywhere }} td, th {{ overflow-wrap: normal }}
img {{ max-width: 100% }} figure {{ margin: 1.5rem 0 }} figcaption {{ color: #555; font-size: 0.9rem }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem }} td, th {{ padding: 0.2rem 0.7rem;
border-bottom: 1px solid #ddd; text-align: right }} td:first-child, th:first-child, td:last-child, th:last-child
{{ text-align: left }} .wide, pre {{ overflow-x: auto }} td:last-child {{ min-width: 8rem }}
pre {{ font-size: 0.75rem }}
</style></head><body>
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A complete page of parts made by the other functions; empty ones are left out."""
    body = "\n".join([f"<h1>{html.escape(title)}</h1>", *filter(None, parts)])
    end = paragraph(f"Made by {made()}: {shlex.join(['jaxgait', *sys.argv[1:]])}")
    end += paragraph(f"Machine: {machine()}.")
    return _HEAD.format(title=html.escape(title)) + body + f"\n{end}</body></html>\n"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{html.escape(text)}</p>"


def listed(texts: Iterable[str]) -> str:
    """A list of plain texts; empty without any."""
    items = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def picture(figure: Figure, path: pathlib.Path, caption: str) -> str:
    """A figure as HTML with its caption; also saved as PNG and PDF (`path` has no extension), and closed."""
    save(figure, f"{path}.pdf")
    return embedded(save(figure, f"{path}.png"), caption)


def embedded(path: pathlib.Path, caption: str) -> str:
    """A PNG file as HTML with its caption."""
    data, text = base64.b64encode(path.read_bytes()).decode(), html.escape(caption)
    return f'<figure><img src="data:image/png;base64,{data}" alt="{text}"><figcaption>{text}</figcaption></figure>'


def starts_table(above: str, found: Mapping[str, Any], evaluations: np.ndarray, why: Sequence[str]) -> str:
    """A table of the starts of a search: what each found, texts or numbers by column, and why it stopped."""
    written = {name: [x if isinstance(x, str) else f"{x:.6g}" for x in values] for name, values in found.items()}
    columns = {"start": range(len(why)), **written, "evaluations": evaluations.tolist(), "why it stopped": why}
    rows = [[*map(str, row)] for row in zip(*columns.values(), strict=True)]
    return "<h2>Starts</h2>" + above + table([*columns], rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of plain texts, which scrolls by itself on a narrow screen."""
    cells = lambda row, tag: "<tr>" + "".join(f"<{tag}>{html.escape(x)}</{tag}>" for x in row) + "</tr>"
    body = "".join(cells(row, "td") for row in rows)
    return f'<div class="wide"><table>{cells(head, "th")}{body}</table></div>'
