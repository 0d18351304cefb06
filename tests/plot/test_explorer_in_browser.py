"""Pages of the explorer in a browser."""

import re
import time

import numpy as np
import pytest
import xarray as xr

from jaxgait.plot.explorer import explore
from jaxgait.plot.explorer.table import COUNTS
from tests.plot import browser
from tests.plot.explorer import line, needs_chromium, needs_plotly


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browser.browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


def spot(member):
    """Where a member is on the map, in pixels of the window."""
    return (
        "const f = $('map')._fullLayout, box = $('map').getBoundingClientRect();"
        f"const at = name => column(name).values.data[{member}];"
        "return [box.left + f.xaxis._offset + f.xaxis.l2p(at('mass')), "
        "box.top + f.yaxis._offset + f.yaxis.l2p(at('stiffness'))];"
    )


@needs_plotly
@needs_chromium
def test_in_a_browser_click_brush_keys_and_playback(scan, shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    other = next(m for m in shown.runs if m != shown.header["first"])
    before = window.js("return $('film').toDataURL()")
    window.click(*window.js(spot(other)))
    window.until(f"state.member === {other}")
    assert window.js("return $('film').toDataURL()") != before
    assert (
        window.js("return document.querySelector('#lines pre').firstChild.textContent")
        == line(shown.recipe, other)["python"]
    )
    window.press("\ue014")  # right arrow
    assert window.js("return +$('slider').value") == 1
    window.press(" ")
    window.until("state.playing && +$('slider').value > 3")
    window.press(" ")
    silent = next(m for m in range(12) if m not in shown.runs)
    window.click(*window.js(spot(silent)))
    window.until(f"state.member === {silent}")
    assert window.js("return [$('absent').hidden, $('charts').hidden]") == [False, True]
    low, high = window.js(spot(0)), window.js(spot(7))
    window.drag((low[0] - 15, low[1] + 15), (high[0], high[1]), (high[0] + 15, high[1] - 15))
    window.until("state.selected.size > 0")
    assert window.js("return [...state.selected].sort((a, b) => a - b)") == [0, 1, 3, 4, 6, 7]
    assert "6 members selected" in window.js("return $('several-note').textContent")
    shown_side_by_side = "return [...document.querySelectorAll('#multiples canvas')].map(c => +c.dataset.member)"
    assert window.js(shown_side_by_side) == sorted({0, 1, 3, 4, 6, 7} & set(shown.runs))
    dots = "[...document.querySelector('#map .scatterlayer .trace').querySelectorAll('path.point')]"
    white = f"{dots}.filter(p => +p.style.opacity > 0).length"
    for act in (
        "document.querySelector('#multiples figure').click()",
        "$('colour').value = 'steps'; $('colour').onchange()",
    ):
        window.js(act)
        time.sleep(0.5)  # Plotly reports a selection with its drawing
        assert window.js(f"return [state.selected.size, {white}, $('forget').hidden]") == [6, 6, False]
    window.js("$('colour').value = 'clearance'; $('colour').onchange()")
    right = (high[0] + 60, high[1])
    window.click(*right)
    window.click(*right)  # a double click forgets the selection, as everywhere in Plotly
    window.until("state.selected.size === 0 && $('forget').hidden")
    window.until(f"{dots}.every(p => +p.style.opacity === 0)")
    window.js("$('arrows').click(); $('colour').value = 'status'; $('colour').onchange();")
    assert window.js("return $('map').data[0].type") == "heatmap", "cells, above which the marks are seen"
    assert window.js("return $('history').layout.xaxis.title.text") == "time (s)"
    window.js("$('as-lines').click()")
    window.until("$('map').data[0].type === 'parcoords'")
    window.js("Plotly.restyle($('map'), { 'dimensions[0].constraintrange': [[55, 85]] })")
    window.until("state.selected.size === 6")
    window.js("$('colour').value = 'clearance'; $('colour').onchange()")
    time.sleep(0.5)
    assert window.js("return [state.selected.size, $('map').data[0].dimensions[0].constraintrange]") == [6, [55, 85]]
    wide = "$('history')._fullLayout.width === $('history').clientWidth"
    window.until(f"{wide} && $('film').width === $('film').offsetWidth")
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_films_of_a_page_share_one_scale_and_curves_the_colours_of_their_scene(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    shares = (
        "const all = [...films.values()], most = value => Math.max(...all.map(value));"
        "return [state.common.scale === most(f => f.scale), state.common.span[1] === most(f => f.views[0].span[1])]"
    )
    assert window.js(shares) == [True, True]
    assert re.search(
        r"All are drawn at one scale \(force arrows: \d+ m: \d+ N\)", window.js("return $('several-note').textContent")
    )
    coloured = (
        "const film = chosenFilm(), values = Object.values(film.curves[0].values)[0];"
        "film.curves[0].values = { measured: values, other: values, one: values, more: values };"
        "film.legend = { measured: '#7F7F7F', body: '#0072B2' }; drawCharts();"
        "return $('history').data.filter(t => t.name !== 'reference').map(t => t.line.color)"
    )
    assert window.js(coloured) == ["#7F7F7F", "#009E73", "#CC79A7", "#56B4E9"], "without that of the forces"
    path = (
        "const places = [], g = { beginPath() {}, moveTo: x => places.push(-x), lineTo: x => places.push(x) };"
        "trace(g, [1, 0, 2, 0, NaN, 0, 4, 0, 5, 0], x => x, y => y); return places"
    )
    assert window.js(path) == [-1, 2, -4, 5], "a gap"


@needs_plotly
@needs_chromium
def test_in_a_browser_slices_logarithmic_axes_names_and_small_numbers(window, tmp_path):
    dims, shape = ("who", "k", "c"), (2, 3, 2)
    low = 1e-14 * np.arange(12.0).reshape(shape)
    data = xr.Dataset({"low": (dims, low), "status": (dims, np.zeros(shape, int))})
    data = data.assign_coords(who=["anna<b>", "b & c"], k=[1.0, 10.0, 100.0], c=[1.0, 2.0])
    window.open(explore(data, members=0).save(tmp_path / "slices.html"))
    window.until("document.body.dataset.ready")
    ticks = "return [...document.querySelectorAll('#map .xtick text')].map(t => t.textContent)"
    assert window.js(ticks) == ["anna<b>", "b & c"]
    assert window.js("return $('map')._fullLayout.yaxis.type") == "log"
    np.testing.assert_allclose(window.js("return $('map').data[0].y"), 10.0 ** np.array([-0.5, 0.5, 1.5, 2.5]))
    choices = "return [...document.querySelectorAll('#slices select option')].map(o => o.value)"
    assert window.js(choices) == ["1", "2"], "one value: of all, a cell would show the last member"
    window.js("$('as-lines').click()")
    window.until("$('map').data[0].type === 'parcoords'")
    assert window.js("return $('map').data[0].dimensions[0].ticktext") == ["anna<b>", "b & c"], "not HTML there"
    assert window.js("return $('map').data[0].dimensions.map(d => d.tickformat ?? d.tickvals)") == [
        ".2~f", [0, 1, 2], ".2~f", ".5~g",
    ]  # fmt: skip
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_frames_of_a_dark_notebook_are_dark_as_high_as_their_page_and_apart(shown, window, tmp_path):
    book = tmp_path / "notebook.html"
    frame = shown._repr_html_()
    book.write_text(f'<!doctype html><body data-jp-theme-light="false" style="width:1200px">{frame}{frame}</body>')
    window.open(book)
    frames = "[...document.querySelectorAll('iframe')]"
    window.until(f"{frames}.every(f => f.contentDocument.body.dataset.ready)")
    paper = f"return {frames}.map(f => f.contentWindow.getComputedStyle(f.contentDocument.body).backgroundColor)"
    assert window.js(paper) == ["rgb(21, 24, 27)"] * 2
    window.until(f"{frames}.every(f => f.contentDocument.documentElement.scrollHeight <= f.clientHeight)")
    other = next(m for m in shown.runs if m != shown.header["first"])
    window.js(f"return {frames}[0].contentWindow.eval('show({other}).then(() => 0)')")
    members = f"{frames}.map(f => f.contentWindow.eval('state.member'))"
    assert window.js(f"return {members}") == [other, shown.header["first"]]
    window.js("document.body.dataset.jpThemeLight = 'true'")
    window.until(f"({paper.removeprefix('return ')}).every(c => c === 'rgb(255, 255, 255)')")
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_a_frame_drawn_while_it_is_hidden_is_whole_once_it_is_seen(shown, window, tmp_path):
    """As in JupyterLab: a notebook in another tab, and one that hides for a moment while it takes another theme."""
    book = tmp_path / "hidden.html"
    notebook = '<!doctype html><body data-jp-theme-light="true" style="width:1048px"><div id="tab" hidden>'
    book.write_text(notebook + shown._repr_html_() + "</div>")
    window.open(book)
    frame = "document.querySelector('iframe')"
    room = "const box = e => e.getBoundingClientRect();"
    legend = (
        room + f"const [a, b] = {frame}.contentDocument.querySelectorAll('#history .legendtext');"
        "return box(a).width > 20 && box(a).right < box(b).left"
    )
    time.sleep(2.0)  # long enough to have drawn what cannot be seen
    window.js("document.querySelector('#tab').hidden = false")
    window.until(f"{frame}.contentDocument.body.dataset.ready")
    assert window.js(legend)
    choices = room + f"const all = {frame}.contentDocument.querySelectorAll('#charts select');"
    assert window.js(choices + "return [...all].every(e => box(e).right <= box(e.closest('div')).right)")
    window.js("document.querySelector('#tab').hidden = true; document.body.dataset.jpThemeLight = 'false'")
    time.sleep(0.5)
    window.js("document.querySelector('#tab').hidden = false")
    time.sleep(0.5)
    assert window.js(legend)
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_in_a_browser_categories_counts_and_members_without_a_value(scan, window, tmp_path):
    fell = np.array([True, False, False, False])
    who = scan.isel(stiffness=0).drop_vars(["stiffness", "mass"]).rename(mass="subject")
    who = who.assign(
        clearance=who.clearance.where(~fell), lost=who.clearance.where(fell), status=("subject", np.where(fell, 10, 0)),
        strides=("subject", [np.nan, 2.0, 2.0, 1.0], {"units": "1"}),
    ).assign_coords(subject=["anna", "ben", "cleo", "dan"]).drop_attrs()  # fmt: skip
    window.open(explore(who, members=0).save(tmp_path / "people.html"))
    window.until("document.body.dataset.ready")
    read = "return [...document.querySelectorAll('#map .{}tick text')].map(t => t.textContent)"
    assert window.js(read.format("x")) == ["anna", "ben", "cleo", "dan"]
    assert "anna" in window.js("return show(0).then(() => $('values').textContent)")
    squares = "$('map').data.filter(t => t.marker && [].concat(t.marker.symbol).includes('square'))"
    assert window.js(f"return {squares}[0].y[0]") < np.nanmin(who.clearance)
    assert window.js("return $('map').layout.annotations.length") == 1
    window.js("$('colour').value = 'strides'; $('colour').onchange()")
    scale = window.js(
        "const m = $('map').data.find(t => t.marker?.showscale).marker; return [m.colorscale, m.cmin, m.cmax]"
    )
    assert scale[1:] == [-0.5, 2.5] and [c for _, c in scale[0]] == [c for c in COUNTS[:3] for _ in range(2)]
    assert not window.js(
        "return [...document.querySelectorAll('select')].filter(s => s.scrollWidth > s.clientWidth).length"
    )
    window.js("scan.columns.find(c => c.name === 'strides').values.data.fill(2); drawMap()")
    assert window.js("return $('map').layout.annotations.map(a => a.text)")[-1] == "strides = 2 everywhere"
    assert not window.js("return $('map').data.some(t => t.marker?.showscale)"), "no colour bar of a single value"
    window.js("$('as-lines').click()")
    window.until("$('map').data[0].type === 'parcoords'")
    assert window.js("return $('map').data[0].customdata.length") == 3, "what most lack is left out"
    assert window.errors() == []


@pytest.mark.slow
@needs_plotly
@needs_chromium
def test_in_a_browser_a_run_plays_by_itself(shown, window, tmp_path):
    run = shown.recipe.run(shown.header["first"])
    window.open(explore(run).save(tmp_path / "run.html"))
    window.until("document.body.dataset.ready")
    assert window.js("return document.querySelectorAll('#overview')[0].offsetHeight") == 0
    assert window.js("return $('status').offsetHeight") == 0, "the heading is not repeated"
    places = (
        "const places = [], canvas = { measureText: () => ({}), fillText: (_, x, y) => places.push(`${x} ${y}`) };"
        "const g = new Proxy(canvas, { get: (known, name) => known[name] ?? (() => {}), set: () => true });"
        "const view = { title: 'above', span: [1, 1] }, film = { ...chosenFilm(), trails: [], forces: [], legend: {} };"
        "const box = { left: 0, width: 400, height: 300, first: true };"
        "drawScale(g, box, 100); drawLabels(g, film, view, box, 0); return places;"
    )
    assert len(set(window.js(places))) == 3, "scale, title and readout do not hide each other"
    cut = (
        "for (const [id, text] of [['px', 'theta_b'], ['py', 'theta_b_rate']]) $(id).selectedOptions[0].text = text;"
        "return ['px', 'py'].filter(id => { const one = $(id), wide = one.offsetWidth;"
        "one.style = 'flex-shrink: 0; max-width: none'; return wide < one.offsetWidth; })"
    )
    assert window.js(cut) == [], "names are whole"
    low, high, least, most = window.js(
        "const { layout, data } = $('phase');"
        "return [...layout.xaxis.range, Math.min(...data[0].x), Math.max(...data[0].x)]"
    )
    assert low < least and most < high, "the loop and its dot are whole"
    drawn = "return [...document.querySelectorAll('#phase .point')].filter(p => p.style.opacity !== '0').length"
    assert window.js(drawn) == 0, "a line, not beads"
    window.js("$('play').click()")
    window.until("+$('slider').value > 2")
    assert re.search(r"'rope_length': 28.0.*duration=12.0, samples=200", window.js("return $('lines').textContent"))
    assert window.errors() == []
