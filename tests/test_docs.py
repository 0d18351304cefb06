"""The generated parts of the documentation: the committed pages are what the code makes of the committed figures."""

import json
import pathlib
import re
import sys
import textwrap
import types

import pytest

from experiments.docs import pages, papers, parameters, places, sketches, sources
from jaxgait import Bungee, parameter, registry
from jaxgait.measure import known

PAGES = pages.generated()
SMALL = 100_000
"""Bytes of a sketch at most."""


def test_generated_pages_agree_with_the_code():
    stale = [page.name for page, text in PAGES.items() if page.read_text() != text]
    assert not stale, f"run `python -m experiments.docs`: {', '.join(stale)}"


def test_every_table_and_every_experiment_is_on_a_page():
    text = "\n".join(PAGES.values())
    wanted = [f"parameters {name}" for name in parameters.TABLES]
    wanted += [f"figures {name}" for name in registry.own_experiments()]
    wanted += [f"source {name}" for name in sources.SOURCES] + [f"misprints {name}" for name in sources.SOURCES]
    assert not [what for what in wanted if f"<!-- generated: {what} -->" not in text]


def test_every_model_is_in_all_places_that_name_the_models():
    lacking = places.lacking()
    assert not lacking, "\n".join(lacking)


class Unicycle(Bungee):
    """A model that no place names, with a parameter that no table has."""

    push: float = parameter(3.0, unit="N", doc="push of the rider", bounds="any")


def test_every_place_that_lacks_a_model_is_named():
    found = places.lacking({"unicycle": f"{__name__}:Unicycle", "bungee": registry.own_models()["bungee"]})
    wanted = [
        "`from jaxgait import Unicycle` fails",
        "type checkers",
        "`help(jaxgait)`",
        "docs/api/models.md",
        " push: add",
    ]
    wanted += ["README.md has none", "docs/howto/mechanisms.md has none"]
    assert [part for part, line in zip(wanted, found, strict=True) if part in line] == wanted
    assert not [line for line in found if "bungee" in line]
    checklist = (pages.DOCS.parent / "CONTRIBUTING.md").read_text().partition("## A new model")[2].partition("\n## ")[0]
    assert not [path for line in found for path in re.findall(r"[\w/]+\.(?:py|md)", line) if path not in checklist]


def test_the_package_of_the_checklist_registers_and_exports_a_model(monkeypatch):
    text = (pages.DOCS.parent / "CONTRIBUTING.md").read_text()
    package = types.ModuleType("hopper")
    monkeypatch.setitem(sys.modules, "hopper", package)
    exec(textwrap.dedent(text.partition("   ```py\n")[2].partition("   ```")[0]), vars(package))
    assert package.MODELS == {"hopper": "model:Hopper"} and package.EXPERIMENTS == ("hopper",)
    assert package.__all__ == ["Hopper", "MEASURES"]


def test_the_page_of_the_mechanisms_has_every_output_and_measure_of_the_knee():
    """Its table lacked knee_rate, knee_acceleration, knee_moment, and the measures of speed and work."""
    text = (pages.DOCS / "howto" / "mechanisms.md").read_text()
    knee = registry.model("knee")
    own = [name for name in knee.variables if "socket" not in name and "bristle" not in name]
    missing = [name for name in (*own[own.index("knee_angle") :], *known(knee)) if f"| `{name}` |" not in text]
    assert not missing


@pytest.mark.parametrize("name", registry.own_experiments())
def test_ids_of_an_experiments_figures_differ(name):
    ids = [row["id"] for row in papers.kept()[name]]
    assert ids and len(ids) == len(set(ids))


def test_the_readme_counts_what_agrees():
    rows = [row for found in papers.kept().values() for row in found]
    agreeing, compared = papers.counts(rows, "agrees_with_paper")
    assert (
        f"[{agreeing} of the {compared} results that the sources print agree]"
        in (pages.DOCS.parent / "README.md").read_text()
    )


def test_every_contradiction_has_its_reason():
    rows = [row for found in papers.kept().values() for row in found]
    bare = [row["id"] for row in rows if row.get("agrees_with_paper") is False and "note" not in row]
    assert not bare


def test_every_parameter_of_a_mechanism_has_a_source():
    own = {name: make() for name, make in parameters.TABLES.items() if name not in ("normal", "friction")}
    assert not [f"{name}: {p}" for name, infos in own.items() for p, info in infos.items() if not info.source]


def headings(page: pathlib.Path) -> set[str]:
    """Anchors of the headings of a page, as the site and GitHub make them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), flags=re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def test_links_and_pictures_of_the_pages_exist():
    broken = []
    for page in [*pages.DOCS.rglob("*.md"), *pages.DOCS.parent.glob("*.md")]:
        text = re.sub(r"```.*?```|`[^`]*`|\$[^$]*\$", "", page.read_text(), flags=re.S)
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
            other = page.parent / target if target else page
            known = "://" in target or (other.exists() and (not anchor or anchor in headings(other)))
            broken += [] if known else [f"{page.name}: {target}#{anchor}"]
    assert not broken


def test_tests_that_pages_name_exist():
    root = pages.DOCS.parent
    named = {
        (page.name, path)
        for page in [*pages.DOCS.rglob("*.md"), *root.glob("*.md")]
        for path in re.findall(r"`((?:tests|experiments|jaxgait)/[\w/]+\.py)`", page.read_text())
    }
    assert len(named) > 20, "the walk has gone blind"
    assert not sorted(f"{page}: {path}" for page, path in named if not (root / path).exists())


def test_figures_are_copied_without_empty_entries(tmp_path):
    row = {"id": "a", "what": "length", "unit": "m", "paper": None, "expected": 1.0, "measured": 1.00000000001}
    row |= {"tolerance": None, "met": True, "agrees_with_paper": None, "note": ""}
    for name in registry.own_experiments():
        (tmp_path / name).mkdir()
        (tmp_path / name / "figures.json").write_text(json.dumps([row]))
    found = papers.gathered(tmp_path)
    papers.keep(found, tmp_path / "kept.json")
    assert json.loads((tmp_path / "kept.json").read_text()) == found
    assert found["experiments"]["knee"] == [
        {"id": "a", "what": "length", "unit": "m", "expected": 1.0, "measured": 1.0, "met": True}
    ]
    (tmp_path / "walker" / "figures.json").unlink()
    with pytest.raises(FileNotFoundError, match="jaxgait reproduce walker"):
        papers.gathered(tmp_path)


def test_the_error_of_an_unknown_block_lists_the_known_ones():
    with pytest.raises(ValueError, match="nothing generates 'tables'"):
        pages.filled("<!-- generated: tables knee -->\n<!-- end -->")
    with pytest.raises(ValueError, match="no table of parameters 'kne'"):
        parameters.table("kne")


def test_a_sketch_is_a_small_picture_that_the_committed_one_shows(tmp_path):
    (drawn,) = sketches.draw(tmp_path, ("walker",))
    assert drawn.read_text().startswith("<?xml") and drawn.stat().st_size < SMALL
    committed = {picture.stem: picture.stat().st_size for picture in (pages.DOCS / "pictures").glob("*.svg")}
    assert set(sketches.SKETCHES) <= set(committed) and max(committed[n] for n in sketches.SKETCHES) < SMALL
