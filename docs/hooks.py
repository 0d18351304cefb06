"""What the site needs of mkdocs beyond its plugins: files outside of `docs/` that pages link to, and formulas."""

import pathlib
import posixpath
import re
import xml.sax.saxutils

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = pathlib.Path(__file__).parents[1]
GITHUB = "https://github.com/jaxgait/jaxgait/blob/main"
OUTSIDE = re.compile(r"(?<=\]\()((?:\.\./)+[^)#\s]+)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def target(page: str, link: str) -> str | None:
    """The file of a page's link, relative to the repository; None if it is in `docs/` or does not exist."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return path if not path.startswith(("docs/", "..")) and (ROOT / path).is_file() else None


def shown(path: str) -> str:
    """The address of a file of the repository on the site, where text files end in .txt; notebooks are on GitHub."""
    if path.endswith(".ipynb"):
        return f"{GITHUB}/{path}"
    return f"repository/{path}.txt" if path.endswith((".md", ".py", ".toml")) else f"repository/{path}"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Copies what pages link to outside of `docs/`: the links of a checkout work on the site."""
    pages = [file for file in files if file.src_uri.endswith(".md")]
    linked = {target(page.src_uri, link) for page in pages for link in OUTSIDE.findall(page.content_string)}
    for path in sorted(path for path in linked - {None} if not path.endswith(".ipynb")):
        files.append(File.generated(config, shown(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turns links out of `docs/` to what shows them; a page without others beside it has no navigation but the tabs."""
    if page.parent is None:
        page.meta.setdefault("hide", ["navigation"])
    here = posixpath.dirname(page.file.src_uri)

    def turned(found: re.Match) -> str:
        path = target(page.file.src_uri, found[1])
        if path is None:
            return found[1]
        return shown(path) if path.endswith(".ipynb") else posixpath.relpath(shown(path), here or ".")

    return OUTSIDE.sub(turned, markdown)


def on_page_content(html: str, **_: object) -> str:
    """Writes formulas as MathML, which browsers show by themselves: no script, no fonts from elsewhere."""
    display = {"(": "inline", "[": "block"}
    return FORMULA.sub(lambda m: convert(xml.sax.saxutils.unescape(m[3].strip()), display=display[m[2]]), html)
