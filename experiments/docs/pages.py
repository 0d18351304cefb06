"""The generated parts of the documentation: Markdown between two comments of a page, written anew from the code.

    <!-- generated: parameters walker -->
    | parameter | default | ...
    <!-- end -->

`python -m experiments.docs` fills them all; a test compares the committed pages with what it would write.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Mapping

from . import outputs, papers, parameters
from .papers import DOCS

BLOCK = re.compile(
    r"(?P<begin><!-- generated: (?P<what>[\w-]+)(?: (?P<of>[\w-]+))? -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)
MAKERS: Mapping[str, Callable[[str], str]] = {
    "parameters": parameters.table,
    "outputs": outputs.outputs,
    "measures": outputs.measures,
    "sources": papers.sources,
    "source": papers.source,
    "side-by-side": papers.side_by_side,
    "misprints": papers.misprints,
    "differing": papers.differing,
    "figures": papers.figures,
}
"""Makers of blocks, by the first word after "generated:"; each takes the second word, or an empty one."""


def filled(text: str) -> str:
    """A page with its generated blocks written anew.

    Raises:
        ValueError: for a block that nothing makes.
    """

    def block(found: re.Match[str]) -> str:
        what, of = found["what"], found["of"] or ""
        if what not in MAKERS:
            raise ValueError(f"nothing generates {what!r}: there are {', '.join(MAKERS)}")
        return f"{found['begin']}\n{MAKERS[what](of)}\n\n{found['end']}"

    return BLOCK.sub(block, text)


def generated(docs: pathlib.Path = DOCS) -> dict[pathlib.Path, str]:
    """The pages below a folder that have generated blocks, with the text that they should have."""
    texts = {page: page.read_text() for page in sorted(docs.rglob("*.md"))}
    return {page: filled(text) for page, text in texts.items() if BLOCK.search(text)}
