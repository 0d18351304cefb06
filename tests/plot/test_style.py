"""One look for all pictures: units in one style, and the user's own settings left alone."""

import ast
import itertools
import json
import pathlib
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from IPython.core.inputtransformer2 import TransformerManager
from matplotlib.figure import Figure

import jaxgait
from jaxgait.plot.style import axis_label, broken, cell_edges, save, style

ROOT = pathlib.Path(jaxgait.__file__).parents[1]
SOURCES = [*ROOT.glob("jaxgait/plot/*.py"), *ROOT.glob("experiments/*/*.py"), *ROOT.glob("notebooks/*.ipynb")]
SETTERS = {"set_xlabel", "set_ylabel", "set_zlabel", "xlabel", "ylabel"}


def test_a_picture_of_an_unknown_kind_is_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"cannot write .*e\.xyz: its name must end in .*\.png, .* or \.webp"):
        save(plt.figure(), tmp_path / "a" / "e.xyz")
    assert not (tmp_path / "a").exists()


def test_edges_of_cells_are_halfway_between_their_centres():
    np.testing.assert_allclose(cell_edges(np.array([1.0, 2.0, 4.0])), [0.5, 1.5, 3.0, 5.0])
    np.testing.assert_allclose(cell_edges(np.array([1.0, 100.0]), geometric=True), [0.1, 10.0, 1000.0])
    np.testing.assert_allclose(cell_edges(np.array([-2.0])), [-2.1, -1.9])
    np.testing.assert_allclose(cell_edges(np.array([0.0])), [-0.5, 0.5])
    np.testing.assert_allclose(cell_edges(np.array([5.0]), alone=4.0), [3.0, 7.0])
    np.testing.assert_allclose(cell_edges(np.array([100, 200], np.uint8)), [50.0, 150.0, 250.0])


def test_a_label_is_a_name_with_its_unit_in_brackets():
    assert axis_label("time", "s") == "time (s)"
    assert axis_label("rho", "1") == axis_label("rho") == "rho"
    height = xr.DataArray(1.0, name="h", attrs={"units": "m", "long_name": "jump height"})
    assert axis_label(height) == "jump height (m)"
    assert axis_label(height, "cm") == "jump height (cm)"
    assert axis_label(xr.DataArray(1.0, name="h")) == "h"


def code(path: pathlib.Path) -> str:
    """The Python of a module or of a notebook."""
    if path.suffix == ".py":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    plain = TransformerManager().transform_cell  # magics as the Python that they stand for
    return "\n".join(plain("".join(c["source"])) for c in cells if c["cell_type"] == "code")


def labels(tree: ast.AST) -> list[str]:
    """What is written on axes, colour bars and curves without `axis_label`."""
    found: list[ast.expr] = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", "")
        found += [k.value for k in call.keywords if k.arg in ("xlabel", "ylabel", "zlabel", "label")]
        found += call.args[:1] if name in SETTERS else []
    written = [n for value in found for n in ([value] if not isinstance(value, ast.JoinedStr) else value.values)]
    return [n.value for n in written if isinstance(n, ast.Constant) and isinstance(n.value, str)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_picture_writes_its_units_in_a_style_of_its_own(path):
    assert len(SOURCES) > 20
    own = r"\[[^\]]*\]\s*$| / \S"
    if path.suffix == ".py":  # a notebook may write "time (s)" itself
        own += r"| \((deg|rad|s|ms|m|mm|cm|N|N m|kN/m|J|mJ|%|[a-z]*/[a-z]*)\)$"
    assert [text for text in labels(ast.parse(code(path))) if re.search(own, text)] == []


def test_only_the_settings_of_the_style_are_put_back():
    settings = ("axes.grid", "interactive", "lines.linewidth")
    before = {name: mpl.rcParams[name] for name in settings}
    try:
        mpl.rcParams["axes.grid"] = False
        with style(lines__linewidth=7.0):
            assert mpl.rcParams["axes.grid"] and mpl.rcParams["lines.linewidth"] == 7.0
            mpl.rcParams["interactive"] = not before["interactive"]  # what an inline backend does when it is chosen
        assert not mpl.rcParams["axes.grid"] and mpl.rcParams["lines.linewidth"] == before["lines.linewidth"]
        assert mpl.rcParams["interactive"] is not before["interactive"]
    finally:
        mpl.rcParams.update(before)


@pytest.mark.parametrize(("given", "written"), [("knee", "knee.png"), ("knee.", "knee.png"), ("knee.svg", "knee.svg")])
def test_a_picture_without_an_ending_gets_one(tmp_path, given, written):
    assert save(plt.figure(figsize=(1.0, 1.0)), tmp_path / given) == tmp_path / written
    assert [path.name for path in tmp_path.iterdir()] == [written]


@pytest.mark.parametrize("kind", ["SVG", "pdf", "png"])
def test_the_same_picture_is_the_same_file(tmp_path, kind):
    drawn = []
    for name in ("one", "other"):
        with style():
            figure, ax = plt.subplots(figsize=(2.0, 1.5))
            ax.plot([0.0, 1.0], label="knee")
            ax.legend()
        drawn.append(save(figure, tmp_path / f"{name}.{kind}").read_bytes())
    assert drawn[0] == drawn[1]
    assert b"Date" not in drawn[0].replace(b"dc:date", b"Date") and (kind != "SVG" or b">knee</text>" in drawn[0])


def test_labels_of_ticks_do_not_overlap_in_print(tmp_path):
    with style():
        figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8))
        for ax in axes:
            ax.plot([0.9956, 0.9982], [0.0, 1.0])
            ax.locator_params(axis="x", nbins=5)
        axes[1].invert_xaxis()
    save(figure, tmp_path / "front.png", width_mm=60)
    figure.draw_without_rendering()
    for ax in axes:
        boxes = sorted((label.get_window_extent() for label in ax.get_xticklabels()), key=lambda box: box.x0)
        assert len(boxes) >= 2 and all(one.x1 <= other.x0 for one, other in itertools.pairwise(boxes))
    assert len(boxes) == len(axes[0].get_xticks()), "an axis that falls keeps as many"


@pytest.mark.slow
def test_labels_in_print_are_no_longer_than_their_panels(tmp_path):
    """Also those without a unit, and those that fit on the screen, where letters are smaller next to the panels."""
    names = ["smoothed switch of the rear coil", "moment about the pivot A that the thigh applies to the knee (N m)"]
    with style():
        figure, panels = plt.subplots(8, 1, figsize=(7.5, 9.0))
        for ax, name in zip(panels, itertools.cycle(names)):
            ax.set_ylabel(broken(name), fontsize=8)
        save(figure, tmp_path / "eight.png", width_mm=85)
        figure.draw_without_rendering()  # at its own resolution
    assert all(ax.yaxis.label.get_window_extent().height <= ax.bbox.height for ax in panels)
    assert panels[0].get_ylabel().splitlines()[0] != names[0] and panels[1].get_ylabel().endswith("(N m)")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "wide", "high"), [("pdf", 85, None), ("svg", 180.0, 120.0)])
def test_a_picture_has_the_given_size_in_print(tmp_path, kind, wide, high):
    with style():
        figure, axes = plt.subplots(2, 1, figsize=(11.0, 6.0), sharex=True)
        for ax, side in zip(axes, ("left", "right"), strict=True):
            ax.plot(
                [0.0, 1.0],
                label=f"the {side} knee's flexion, as measured over many strides, and their mean",
            )
            ax.set_title("a title that does not fit into one line of a column of a journal, but into two", loc="left")
        axes[0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0))
        figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    text = save(figure, tmp_path / f"knee.{kind}", width_mm=wide, height_mm=high).read_text("latin-1")
    page = r"/MediaBox \[ 0 0 (\S+) (\S+) \]" if kind == "pdf" else r'width="(\S+)pt" height="(\S+)pt"'
    size = np.array(re.search(page, text).groups(), float) / 72.0 * 25.4  # pyright: ignore[reportOptionalMemberAccess]
    np.testing.assert_allclose(size[0], wide, rtol=0.01)
    assert size[1] == pytest.approx(high, rel=0.01) if high else 40.0 < size[1] < 150.0
    assert "/Subtype /Type3" not in text and len(figure.legends) == (2 if kind == "pdf" else 1)
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()  # in inches: nothing is beyond the page
    assert drawn.x0 > -0.05 and drawn.x1 < figure.get_figwidth() + 0.05 and axes[0].bbox.width > 0.6 * figure.bbox.width
    letters = {t.get_fontsize() for t in figure.findobj(plt.Text) if t.get_text()}
    assert min(letters) >= 6.0 and max(letters) <= 7.0


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ({"height_mm": 50.0}, "height_mm needs width_mm"),
        ({"width_mm": 85, "height_mm": 0}, "height_mm must be between 15 and 1200 mm, got 0"),
        ({"width_mm": 8.5}, "width_mm must be between 15 and 1200 mm, got 8.5"),
        ({"width_mm": 1e9}, "width_mm must be between 15 and 1200 mm, got 1000000000.0"),
        ({"width_mm": np.nan}, "width_mm must be between 15 and 1200 mm, got nan"),
    ],
)
def test_impossible_sizes_in_print_raise(tmp_path, sides, said):
    with pytest.raises(ValueError, match=said):
        save(Figure(), tmp_path / "knee.png", **sides)
    assert not list(tmp_path.iterdir())


def test_the_label_of_a_colour_bar_is_not_near_the_next_panel():
    """Else it looks like the label of the next panel's axis."""
    with style():
        figure, axes = plt.subplots(1, 3, figsize=(12.0, 3.6))
        for ax in axes:
            figure.colorbar(ax.scatter([0.0, 1.0], [0.0, 1.0], c=[0.0, 1.0]), ax=ax, label="scale of the masses")
            ax.set_ylabel("ankle moment (N m)")
    figure.draw_without_rendering()
    bars = [ax for ax in figure.axes if ax not in axes]
    for bar, following in zip(bars, axes[1:], strict=False):
        label, scale = bar.yaxis.label.get_window_extent(), bar.get_tightbbox()
        gap = following.yaxis.label.get_window_extent().x0 - label.x1
        assert gap > 0.15 * figure.dpi and scale.x1 == pytest.approx(label.x1)


def test_labels_of_panels_are_in_line_in_a_file(tmp_path):
    figure, axes = plt.subplots(2, layout="constrained")
    for ax, high in zip(axes, (1.0, 1e4), strict=True):
        ax.plot([0.0, high])
        ax.set_ylabel("force (N)")
    place = lambda: {round(ax.yaxis.label.get_window_extent().x0) for ax in axes}
    figure.draw_without_rendering()
    assert len(place()) == 2, "else their ticks are as wide"
    save(figure, tmp_path / "forces.png")
    assert len(place()) == 1
