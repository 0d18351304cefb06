"""Writes the generated parts of the documentation: `python -m experiments.docs [folder of jaxgait reproduce all]`."""

from __future__ import annotations

import pathlib
import sys


def main(arguments: list[str]) -> None:
    """Takes over figures and pictures of a folder, if given; fills the blocks of all pages; draws sketches.

    Finally names the places that lack a model.
    """
    from . import pages, papers, places, sketches

    if arguments:
        papers.keep(papers.gathered(pathlib.Path(arguments[0])))
        papers.take_pictures(pathlib.Path(arguments[0]))
        papers.kept.cache_clear()
    for page, text in pages.generated().items():
        page.write_text(text)
        print(f"wrote {page}")
    for picture in sketches.draw(pages.DOCS / "pictures"):
        print(f"drew {picture}")
    for line in places.lacking():
        print(f"missing: {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
