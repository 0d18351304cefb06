"""Pages of the explorer in a browser."""

import re
import time

import numpy as np
import pytest
import xarray as xr

from jaxgait.plot.explorer import explore
from jaxgait.plot.table import COUNTS
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
def test_marks_have_a_key_and_long_titles_have_lines(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    assert window.js("return $('marks').textContent") == "○ can be played★ reference○ selected"
    titles = "return ['a rate of a joint in the plane (rad/s)', 'height (m)'].map(t => beside(t).text)"
    assert window.js(titles) == ["a rate of a joint in the<br>plane (rad/s)", "height (m)"]
    buttons = "return [...document.querySelectorAll('.modebar-btn')].map(one => one.dataset.title)"
    tools = ["Zoom", "Pan", "Box Select", "Lasso Select", "Zoom in", "Zoom out", "Reset axes"]
    assert window.js(buttons) == tools, "and none that uploads the data"
    window.js("$('as-lines').click()")
    window.until("$('map').data[0].type === 'parcoords'")
    assert window.js("return $('marks').textContent") == "", "there are none"
    assert window.js(buttons) == []
    assert window.errors() == []


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
    dots = "[...document.querySelector('#map .scatterlayer .trace:has(path.point)').querySelectorAll('path.point')]"
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
        "return [state.common.scale === most(f => f.scale), state.common.span[1] >= most(f => f.views[0].span[1])]"
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
    assert window.js(coloured) == ["#7F7F7F", "#E69F00", "#009E73", "#56B4E9"], "without those of forces and reference"
    path = (
        "const places = [], g = { beginPath() {}, moveTo: x => places.push(-x), lineTo: x => places.push(x) };"
        "trace(g, [1, 0, 2, 0, NaN, 0, 4, 0, 5, 0], x => x, y => y); return places"
    )
    assert window.js(path) == [-1, 2, -4, 5], "a gap"


@needs_plotly
@needs_chromium
def test_in_a_browser_slices_logarithmic_axes_names_and_small_numbers(window, tmp_path):
    dims, shape = ("who", "k", "c"), (2, 3, 2)
    low = 1e-14 * np.arange(12.0)[::-1].reshape(shape)
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
    chosen = "const rings = $('map').data.at(-1).x.length; return [state.member, state.slices.c, rings]"
    assert window.js(chosen) == [0, "1", 1], "the slice of the first member"
    window.js("return show(3).then(() => drawMap())")
    assert window.js(chosen) == [3, "2", 1], "the slice follows the member"
    window.js("state.reference = 4; drawMap()")
    assert window.js("return [$('star').hidden, $('star').textContent]") == [False, "★ at c 1"]
    window.js("$('star').click()")
    assert window.js("return [state.slices.c, $('star').hidden]") == ["1", True]
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
    window.until(f"(() => {{ {legend} }})()", 20.0)
    choices = room + f"const all = {frame}.contentDocument.querySelectorAll('#charts select');"
    assert window.js(choices + "return [...all].every(e => box(e).right <= box(e.closest('div')).right)")
    window.js("document.querySelector('#tab').hidden = true; document.body.dataset.jpThemeLight = 'false'")
    time.sleep(0.5)
    window.js("document.querySelector('#tab').hidden = false")
    time.sleep(0.5)
    window.until(f"(() => {{ {legend} }})()", 20.0)
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


@needs_plotly
@needs_chromium
def test_films_wait_at_their_ends_and_a_reference_of_another_time_is_named(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    short, reference = next(m for m in shown.runs if m != shown.header["reference"]), shown.header["reference"]
    window.js(f"films.get({short}).time.data = films.get({short}).time.data.subarray(0, 20); return show({short})")
    on = (
        "state.elapsed = span(chosenFilm()) + 1; state.playing = true; tick.last = performance.now(); tick(tick.last);"
        "play(false); return [state.elapsed > span(chosenFilm()), +$('slider').value]"
    )
    assert window.js(on) == [True, 19], "the other films play on"
    window.js(f"films.get({reference}).time.data = films.get({reference}).time.data.map(t => t + 3.4)")
    window.js("$('ghost').click(); drawCharts(); drawMultiples()")
    named = "reference (from 3.40 s, shifted)"
    assert window.js("return [$('history').data[0].name, $('legend').lastChild.textContent]") == [named, named]
    colours = "return [$('history').data[0].line.color, ...legendOf(chosenFilm()).map(([, colour]) => colour)]"
    assert len(set(found := window.js(colours))) == len(found), "one of its own"
    captions = window.js("return [...document.querySelectorAll('figcaption')].map(c => c.textContent)")
    assert sum("from\u00a03.40\u00a0s" in c for c in captions) == 1
    assert sum("from\u00a00.00\u00a0s" in c for c in captions) == 5
    assert window.js("return withLegend($('film'), legendNow()).height > $('film').height"), "a PNG has the legend"
    window.js(f"return show({reference})")
    assert window.js("return [$('ghost').disabled, $('reference').disabled]") == [True, True]
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_ghosts_of_another_time_begin_where_the_member_does(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    follows = (
        "const camera = (x, t) => ({ views: [{ centre: { data: [x, 1, x + 1, 1], shape: [2, 2] } }], ground: [0, 0.1], "
    )
    follows += "time: { data: [t] } });"
    right, up = window.js(follows + "return apart(camera(0, 0), camera(4, 3.4))")
    assert (right, up) == (-4.0, pytest.approx(4.0 * np.tan(0.1)))
    assert window.js(follows + "return apart(camera(0, 0), camera(4, 0))") == [0, 0], "both from the start"


@needs_plotly
@needs_chromium
def test_the_keyboard_presses_what_has_the_focus(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    window.js("document.querySelector('summary').focus()")
    window.press(" ")
    assert window.js("return [$('facts').open, state.playing]") == [False, False]
    window.js("$('as-lines').focus()")
    window.press(" ")
    assert window.js("return [state.view, state.playing]") == ["lines", False]
    window.js("$('play').focus()")
    window.press(" ")
    assert window.js("return state.playing"), "once, not twice"
    figure = "[...document.querySelectorAll('figure')].find(f => !f.classList.contains('on'))"
    for key in ("\ue007", " "):
        wanted = window.js(f"const one = {figure}; one.focus(); return +one.firstChild.dataset.member")
        window.press(key)
        window.until(f"state.member === {wanted}")
        assert window.js("return document.activeElement.classList.contains('on')"), "the focus stays"
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_arrow_keys_choose_the_next_member_where_the_map_has_the_focus(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    window.js("return show(4).then(() => $('map').focus())")
    right, left, up, down = "\ue014", "\ue012", "\ue013", "\ue015"
    for key, member in ((right, 7), (up, 8), (up, 8), (left, 5), (down, 4), (left, 1), (left, 1)):  # 3 stiffnesses
        window.press(key)
        assert window.js("return state.member") == member
    outline = "const { outlineStyle, outlineWidth } = getComputedStyle($('map')); return outlineStyle + outlineWidth"
    assert window.js(outline) == "solid2px"
    window.until("$('said').textContent.startsWith('member 1, mass = 40 kg, stiffness = 20 N/m, clearance = ')")
    assert window.js("return $('slider').value") == "0", "the film stays where it is"
    window.js("$('y').value = 'clearance'; $('y').onchange()")
    window.press(right)
    across = "column('mass').values.data"
    assert window.js(f"return [{across}[1], {across}[state.member]]") == [40, 60], "the next value"
    before = window.js("return [state.member, column('clearance').values.data[state.member]]")
    window.press(down)
    after = window.js("return [state.member, column('clearance').values.data[state.member]]")
    assert after[0] != before[0] and after[1] < before[1]
    window.js("$('as-lines').click()")
    window.until("$('map').data[0].type === 'parcoords'")
    rows = window.js("return $('map').data[0].customdata")
    window.js(f"return show({rows[2]}).then(() => $('map').focus())")
    window.press(right)
    assert window.js("return state.member") == rows[3]
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_parallel_coordinates_mark_the_chosen_member(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    window.js("return show(5).then(() => $('as-lines').click())")
    pieces = "$('map')._fullLayout.annotations"
    window.until(f"{pieces}.length === $('map').data[0].dimensions.length - 1")
    ends = (
        f"const [first] = {pieces}, [a] = document.querySelectorAll('#map .parcoords .axis .domain');"
        "const { top, height } = a.getBoundingClientRect(), full = $('map')._fullLayout._size;"
        "const tail = full.t + (1 - first.y) * full.h + first.ay + $('map').getBoundingClientRect().top;"
        "return [(top + height - tail) / height, first.arrowcolor]"
    )
    height, colour = window.js(ends)
    assert height == pytest.approx(1 / 3, abs=0.02), "60 kg of 40 to 100 kg"
    window.js("return show(0)")
    time.sleep(0.5)
    assert window.js(ends)[0] == pytest.approx(0.0, abs=0.02), "the line follows the member"
    window.js("$('as-map').click()")
    assert window.js("return $('map').data.at(-1).marker.color") == colour, "as on the map"
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_each_curve_has_its_reference_and_lines_end_where_they_jump(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    drawn = (
        "for (const film of [chosenFilm(), referenceFilm()]) { const [values] = Object.values(film.curves[0].values);"
        "film.curves[0].values = { one: values, two: values }; }"
        "drawCharts(); return $('history').data.map(t => [t.name, t.line.color, t.line.dash, t.showlegend])"
    )
    (*dashed, one, two, key) = window.js(drawn)
    assert [name for name, *_ in dashed] == ["one, reference", "two, reference"]
    assert [colour for _, colour, *_ in dashed] == [one[1], two[1]] and one[1] != two[1]
    assert [rest for *_, rest in dashed] == [False] * 2 and {dash for *_, dash, _ in (*dashed, key)} == {"dash"}
    assert key[0] == "reference"
    colours = "const legend = Object.fromEntries(SERIES.map((c, i) => ['body ' + i, c]).slice(0, arguments[0]));"
    colours += "return lineColours({ forces: [], trails: [] }, ['total', 'kinetic', 'body 0'], legend)"
    assert [len({*window.js(colours, bodies)}) for bodies in range(1, 7)] == [3] * 6, "of however many bodies"
    walk = (
        "const data = values => ({ data: values }), film = { time: data([0, 1, 2]), histories: { a: data([0, 1, 5]),"
        "b: data([7, 8, 9]) }, jumps: { sample: data([2]), before: { time: data([1.5]), a: data([2]), b: data([8.5]) },"
        "after: { time: data([1.5]), a: data([4]), b: data([8.5]) } } };"
        "return [['time', 'a'], ['b', 'a'], ['time', 'b']].map(names => splitAtJumps(film, names))"
    )
    assert window.js(walk) == [
        [[0, 1, 1.5, None, 1.5, 2], [0, 1, 2, None, 4, 5]],
        [[7, 8, 8.5, None, 8.5, 9], [0, 1, 2, None, 4, 5]],
        [[0, 1, 2], [7, 8, 9]],
    ]
    ticks = "return [[[0, 1, null], '1'], [[0, 1], 'N'], [[0, 0.5], '1'], [[0, 9], '1']].map(([y, unit]) =>"
    ticks += "wholeTicks([['phase', [], y]], unit).dtick ?? null)"
    assert window.js(ticks) == [1, None, None, None]
    stride = (
        "const film = { stride: 1 };return perStride(film, [0, 0.5, 1, 1.5, null, 1.6, 2.25], [0, 1, 2, 3, null, 4, 5])"
    )
    per_cent, values = window.js(stride)
    assert [x if x is None else round(x, 6) for x in per_cent] == [0, 50, 100, None, 0, 50, None, 60, None, 25]
    assert values == [0, 1, 2, None, 2, 3, None, 4, None, 5]
    silent = next(m for m in range(12) if m not in shown.runs)
    window.js(f"return show({silent})")
    assert window.js("return [$('legend').children.length, $('film-png').disabled]") == [0, True], "of no film"
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_hidden_statuses_are_hidden_side_by_side_and_large_views_do_not_shrink_the_others(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    ended = "return [...document.querySelectorAll('#multiples canvas')].map(c => scan.status.data[c.dataset.member])"
    assert sorted(window.js(ended)) == [0, 0, 0, 0, 0, 1]
    window.js("document.querySelectorAll('.chip')[1].click()")
    assert window.js(ended) == [0] * 5
    assert "1 is hidden with its status" in window.js("return $('several-note').textContent")
    ground = (
        "const view = { ...chosenFilm().views[0] }, film = y => ({ forces: [], views: [{ ...view, span: [8, 10],"
        "centre: { data: [0, y], shape: [1, 2] } }] }), all = [film(5), film(4), film(3), film(5)];"
        "all[3].views[0].span = [80, 100]; const found = commonView(all);"
        "return [found.fits.has(all[3]), found.fits.size, found.span, [...found.centre.data]]"
    )
    assert window.js(ground) == [False, 3, [8, 12], [0, 4]], "from -2 to 10 m"
    window.js("films.get(state.member).views[0].span = [1e3, 1e3]; drawMultiples()")
    assert "All but 1, which would not fit" in window.js("return $('several-note').textContent")
    assert window.js("return document.querySelector('figure.on figcaption').textContent").endswith("own scale")
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_cells_without_a_value_are_hatched_and_named(scan, window, tmp_path):
    void = scan.drop_attrs().assign(clearance=scan.clearance.where(scan.mass < 90))
    window.open(explore(void, members=0).save(tmp_path / "void.html"))
    window.until("document.body.dataset.ready")
    hatched = "$('map').data.filter(t => t.fillpattern)"
    colours = window.js(f"return {hatched}.map(t => t.fillcolor)")
    assert "#56B4E9" in colours and set(colours) <= set(window.js("return scan.statuses.map(s => s[1])"))
    assert "clearance not defined in a completed run: " in window.js("return $('statuses').textContent")
    window.js("$('colour').value = 'steps'; $('colour').onchange()")
    assert window.js(f"return {hatched}.length") == 0
    assert "not defined" not in window.js("return $('statuses').textContent")
    assert window.js("return $('map').data.filter(t => t.customdata)[0].customdata.length") == 12, "all can be clicked"
    assert window.errors() == []


@needs_plotly
@needs_chromium
def test_pictures_are_dark_on_white_and_nothing_is_cut_off(shown, window, tmp_path):
    window.open(shown.save(tmp_path / "scan.html"))
    window.until("document.body.dataset.ready")
    window.dark(True)
    try:
        window.until("$('map').layout.font.color === '#e6e9ec'")
        inked = "const { font, paper_bgcolor: paper, xaxis } = onWhite($('map')).layout;"
        inked += "return [font.color, paper, xaxis.gridcolor, document.documentElement.dataset.theme]"
        assert window.js(inked) == ["#1c2126", "#ffffff", "#d5dade", None]
    finally:
        window.dark(False)
    assert window.js("return $('map').data.slice(-4).map(t => t.cliponaxis)") == [False] * 4, "rings at the edge"
    cut = "column('mass').name = 'm'.repeat(80); drawMultiples(); scan.columns[0].name = 'mass';"
    cut += "return [...document.querySelectorAll('figcaption')].filter(c => c.scrollWidth > c.clientWidth).length"
    assert window.js(cut) == 0
    above = "$('history').querySelector('.legend').getBoundingClientRect().bottom <= "
    above += "$('history').getBoundingClientRect().top + $('history')._fullLayout._size.t"
    names = "Array.from('abcde', n => [n.repeat(20), film.curves[0].values.height])"
    window.js(f"const film = chosenFilm(); film.curves[0].values = Object.fromEntries({names}); drawCharts()")
    window.js("$('as-lines').click()")
    window.until(above)
    window.js("const film = chosenFilm(), { x } = film.histories; film.histories = { x }; startFilm(film)")
    assert window.js("return $('phase').offsetHeight") == 0, "no phase portrait of one history"
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
