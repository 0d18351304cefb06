"""Pictures of any result: which variables are drawn, over what, and the errors if nothing can be."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex, to_rgb

from jaxgait.plot import maps
from jaxgait.plot.histories import histories, picture
from jaxgait.plot.panels import MAX_PANELS
from jaxgait.plot.scale import boundaries, colours, texts
from jaxgait.plot.style import GREY
from jaxgait.plot.table import COUNTS, table


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def run(names):
    data = {n: ("time", np.arange(4.0) + i, {"units": "m", "long_name": f"{n} of it"}) for i, n in enumerate(names)}
    return xr.Dataset(data, {"time": np.arange(4.0)})


def scan(*dims):
    shape = (2, 3, 2)[: len(dims)]
    low = np.arange(np.prod(shape), dtype=float).reshape(shape)
    low.flat[0] = np.nan
    data = {"low": (dims, low, {"units": "m"}), "status": (dims, np.zeros(shape, int)), "x_end": (dims, low)}
    return xr.Dataset(data, {d: (d, np.arange(n), {"units": "kg"}) for d, n in zip(dims, shape, strict=True)})


def test_a_run_is_drawn_over_time():
    axes = picture(run(["x", "y"]), ["y"]).axes
    assert [ax.get_ylabel() for ax in axes] == ["y of it (m)"] and axes[0].get_xlabel() == "time (s)"
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), [1.0, 2.0, 3.0, 4.0])
    assert len(picture(run([f"x{i}" for i in range(MAX_PANELS + 3)])).axes) == MAX_PANELS
    alike = run(["x", "y", "z"])
    alike["y"].attrs["long_name"] = "x of it"
    assert [ax.get_ylabel() for ax in picture(alike).axes] == ["x (m)", "y (m)", "z of it (m)"]
    assert [ax.get_ylabel() for ax in picture(alike, "y").axes] == ["x of it (m)"]


def test_parameters_are_in_words_unless_several_have_the_same():
    data = scan("mass", "length")
    for dim, words in (("mass", "mass of the leg"), ("length", "length of the leg")):
        data[dim].attrs["long_name"] = words
    field = picture(data).axes[0]
    assert (field.get_xlabel(), field.get_ylabel()) == ("mass of the leg (kg)", "length of the leg (kg)")
    data["length"].attrs["long_name"] = data["low"].attrs["long_name"] = data["x_end"].attrs["long_name"] = "leg"
    assert [table(data).columns[name].words for name in ("length", "low", "x_end")] == ["leg"] * 3, "of different roles"
    data["length"].attrs["long_name"] = "mass of the leg"
    twice = data.assign(also=data["low"])
    assert [table(twice).columns[name].words for name in ("low", "also")] == ["", ""]
    assert [ax.get_ylabel() for ax in picture(twice.isel(length=0)).axes] == ["low (m)", "also (m)"]
    field = picture(data).axes[0]
    assert (field.get_xlabel(), field.get_ylabel()) == ("mass (kg)", "length (kg)")


def test_lines_of_members_are_named():
    one = run(["x"]).x.expand_dims(mass=[60.0, 80.0], who=["anna"])
    figure = picture(xr.Dataset({"x": one, "y": 2 * one}), ["x", "y"])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["mass = 60, who = anna", "mass = 80, who = anna"]
    points = run(["x"]).x.expand_dims({"point": list("ABCDEFGHIJ"), "axis": ["x", "y"]})
    figure = picture(xr.Dataset({"points": points}), ["points"])
    assert len(figure.legends[0].get_texts()) == 20
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}
    assert len(looks) == 20, "all can be distinguished"
    many = run(["x"]).expand_dims(mass=np.arange(60.0))
    assert len(picture(many.isel(mass=slice(7)), ["x"]).legends[0].get_texts()) == 7
    assert not picture(run(["x"])).legends and not picture(many, ["x"]).legends


def test_many_lines_are_coloured_by_their_parameter_or_grey_and_counted():
    mass = ("mass", np.linspace(50.0, 90.0, 24), {"units": "kg"})
    many = run(["x", "y"]).expand_dims(mass=24).assign_coords(mass=mass)
    first, second, bar = picture(many, ["x", "y"]).axes
    assert bar.get_ylabel() == "mass (kg)" and bar.get_ylim() == (50.0, 90.0), "one for both"
    assert len({line.get_color() for line in first.lines}) == 24
    assert first.lines[0].get_color() == second.lines[0].get_color() != second.lines[-1].get_color()
    whose = many.rename(mass="member").drop_vars("member")
    sampled = whose.assign_coords(mass=("member", mass[1], mass[2]))
    assert picture(sampled, ["x"]).axes[-1].get_ylabel() == "mass (kg)"
    alike = ("member", np.full(24, 1.0))
    assert picture(sampled.assign_coords(length=alike), ["x"]).axes[-1].get_ylabel() == "mass (kg)"
    for unordered in (whose, sampled.assign_coords(length=("member", mass[1])), whose.assign_coords(mass=alike)):
        (panel,) = picture(unordered, ["x"]).axes
        assert {line.get_color() for line in panel.lines} == {GREY}
        assert panel.get_title(loc="left") == "24 lines"


def test_colours_of_lines_have_the_scale_and_the_unit_of_an_axis_of_scans():
    many = lambda values, **unit: run(["x"]).expand_dims(k=24).assign_coords(k=("k", values, unit))
    for values in (np.geomspace(1.0, 1e4, 24), np.linspace(1.0, 1e4, 24)):
        panel, bar = picture(many(values, units="rad"), ["x"]).axes
        over = picture(many(values, units="rad").isel(time=0, drop=True).assign(status=("k", np.zeros(24, int)))).axes[
            0
        ]
        assert (bar.get_ylabel(), bar.get_yscale()) == (over.get_xlabel(), over.get_xscale())  # parameters: as given
        colours = np.array([to_rgb(line.get_color()) for line in panel.lines])
        np.testing.assert_allclose(colours, plt.get_cmap("viridis")(np.linspace(0.0, 1.0, 24))[:, :3], atol=3e-3)
    assert bar.get_ylabel() == "k (rad)"


def of(ax):
    """The title of a map; no line of it breaks between a number and its unit."""
    return ax.get_title(loc="left").replace(maps.NO_BREAK, " ")


def test_a_scan_is_a_curve_over_one_parameter_and_a_map_over_two():
    curve = picture(scan("mass")).axes
    assert len(curve) == 1 and curve[0].get_xlabel() == "mass (kg)" and curve[0].get_ylabel() == "low (m)"
    field, bar = picture(scan("mass", "length")).axes
    assert (field.get_xlabel(), field.get_ylabel(), bar.get_ylabel()) == ("mass (kg)", "length (kg)", "")
    title = "low (m)\nhighest (▲) 5 at 1 kg, 2 kg; lowest (▼) 1 at 0 kg, 1 kg"
    assert of(field) == title, "the measure is named once"
    order = scan("mass", "length").low.copy(data=[[1, 1, 2], [1, 1, 0]]).assign_attrs(units="1")
    told = of(picture(scan("mass", "length").assign(order=order), ["low"]).axes[0])
    assert "at 1 kg, 2 kg (order 0); lowest (▼) 1 at 0 kg, 1 kg (order 1)" in told.replace("\n", " ")
    drawn = field.collections[0].get_array()
    assert drawn.shape == (3, 2) and np.ma.getmaskarray(drawn)[0, 0] and drawn[2, 1] == 5.0


def ended_early(*dims):
    """Of a scan, the first member fell; the others have counts."""
    data = scan(*dims)
    data["status"].values.flat[0] = 10
    data["order"] = (
        dims,
        np.where(data.status == 10, np.nan, 1.0 + np.arange(data.status.size).reshape(data.status.shape) % 3),
    )
    return data.assign_attrs(status_legend='{"0": "completed", "10": "ended early: fell"}')


@pytest.mark.parametrize("dims", [("mass",), ("mass", "length")])
def test_members_without_a_value_have_the_colour_of_their_status(dims):
    data = ended_early(*dims)
    figure = picture(data)
    colour = dict(table(data).statuses)["ended early: fell"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["no value: ended early: fell"]
    if len(dims) == 1:
        assert figure.legends[0].get_lines()[0].get_color() == colour
    else:
        (named,) = figure.legends[0].get_patches()
        assert to_hex(named.get_facecolor()).upper() == colour and named.get_hatch() == "////"
        cells = next(m for m in figure.axes[0].collections if m.get_array().count() == 1)
        figure.canvas.draw()
        assert to_hex(cells.get_facecolors()[0]).upper() == colour


def test_many_members_without_a_value_are_one_mesh(monkeypatch):
    hatches = lambda: {m.get_hatch() for m in picture(ended_early("mass", "length")).axes[0].collections}
    assert hatches() == {None, "////"}
    monkeypatch.setattr(maps, "MAX_HATCHED", 0)  # a polygon for each takes minutes
    assert hatches() == {None}


@pytest.mark.parametrize("dims", [("mass",), ("mass", "length")])
def test_members_that_ended_early_with_a_value_are_marked(dims):
    data = ended_early(*dims)
    data["low"].values.flat[0] = 9.0
    figure = picture(data, ["low"])
    ax = figure.axes[0]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["ended early: fell"]
    marked = ax.lines[-1].get_xydata() if len(dims) == 1 else ax.collections[-1].get_offsets()
    assert marked.tolist() == [[0.0, 9.0]] if len(dims) == 1 else [[0.0, 0.0]]
    if len(dims) == 2:
        assert "of those that completed: highest (▲) 5 at 1 kg, 2 kg" in of(ax)
    stacked = data.stack(sample=dims)
    if len(dims) == 2:
        for sampled in (stacked, stacked.reset_index("sample")):
            assert picture(sampled, ["low"]).axes[0].collections[-1].get_offsets().tolist() == [[0.0, 0.0]]


def test_small_cells_that_ended_early_are_hatched():
    """A square in a cell of a dense map would be a dot of a pixel, and so would its legend."""
    k, c = np.linspace(1.0, 2.0, 60), np.linspace(0.0, 3.0, 50)
    fell = np.add.outer(k, c / 3.0) > 2.1
    data = xr.Dataset({"rho": (("k", "c"), np.outer(k, c)), "status": (("k", "c"), 10 * fell)}, {"k": k, "c": c})
    figure = picture(data.assign_attrs(status_legend='{"0": "completed", "10": "ended early: fell"}'))
    (marked,) = (patch for patch in figure.axes[0].patches if patch.get_hatch())
    inside = marked.get_path().contains_points([(k[-1], c[-1]), (k[20], c[-1]), (k[0], c[0]), (k[30], c[5])])
    assert inside.tolist() == [fell[-1, -1], fell[20, -1], fell[0, 0], fell[30, 5]] == [True, True, False, False]
    assert len(marked.get_path().vertices) == 5 * fell.sum()
    (named,) = figure.legends[0].get_patches()
    assert named.get_hatch() == marked.get_hatch() == maps.HATCHES[0]
    assert figure.legends[0].get_texts()[0].get_text() == "ended early: fell"


def test_values_crowded_at_their_best_are_in_unequal_steps_of_colour():
    along = np.linspace(0.0, 1.0, 9)
    rho = 0.998 - np.subtract.outer(along, along**1.2) ** 4
    data = xr.Dataset(
        {"rho": (("k", "c"), rho), "status": (("k", "c"), np.zeros((9, 9), int))}, {"k": along, "c": along}
    )
    field, bar = picture(data).axes
    mesh, steps = field.collections[0], boundaries(rho.ravel())
    np.testing.assert_array_equal(mesh.norm.boundaries, steps)
    assert bar.get_ylabel() == "colours in unequal steps" and steps[0] == rho.min() and steps[-1] == rho.max()
    np.testing.assert_array_equal([float(text.get_text()) for text in bar.get_yticklabels()][1:-1], steps[1:-1])
    counts, _ = np.histogram(rho, steps)
    assert len(steps) > 5 and counts.max() < 0.35 * rho.size, "no colour for most"
    assert not picture(data.assign(rho=data.k + data.c)).axes[1].get_ylabel(), "a linear scale"


@pytest.mark.parametrize(
    "values", [np.append(1.0 + 1e-9 * np.arange(100), 5.0), np.append(np.zeros(300), np.arange(30.0))]
)
def test_values_that_are_nearly_all_equal_have_a_linear_scale(values):
    assert boundaries(values) is None


def test_ends_of_a_scale_are_the_extremes():
    assert texts(np.array([-17529.3, 1000.0, 9300.0, 9877.93, 9878.2])) == [
        "-17530",
        "1000",
        "9300",
        "9877.9",
        "9878.2",
    ]
    assert texts(np.array([-2e-4, -1e-4, 0.0])) == ["-0.0002", "-0.0001", "0"]


@pytest.mark.parametrize("links", [[1, 2, 4], [1, 2, 3], [2, 8, 32]])
def test_an_axis_of_whole_numbers_has_no_ticks_between_them(links):
    data = xr.Dataset({"rho": (("links", "c"), np.arange(6.0).reshape(3, 2))}).assign_coords(links=links, c=[1.0, 2.5])
    data = data.assign(status=(("links", "c"), np.zeros((3, 2), int)))
    for one in (data, data.isel(c=0)):
        ax = picture(one).axes[0]
        ticks = [x for x in ax.get_xticks() if links[0] <= x <= links[-1]]
        assert len(ticks) > 1 and not np.any(np.mod(ticks, 1.0)), ticks
        assert ax.get_xscale() == ("linear" if links[-1] == 3 else "log")


def test_a_legend_of_long_sentences_fits_the_picture():
    data = ended_early("mass", "length")
    data["status"].values.flat[1], data.low.values.flat[1] = 1, np.nan
    sentence = "gave up: the step limit was reached (raise max_steps, or loosen the tolerances)"
    figure = picture(data.assign_attrs(status_legend=f'{{"0": "completed", "1": "{sentence}", "10": "{sentence}"}}'))
    figure.canvas.draw()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width


def test_the_colour_of_a_count_does_not_change_with_the_data():
    full = ended_early("mass", "length")
    parts = [full, full.isel(length=slice(0, 2))]
    for part in parts:
        field = picture(part, ["order"]).axes[0].collections[0]
        assert to_hex(field.to_rgba(2.0)).upper() == COUNTS[2]
        assert table(part).columns["order"].colours == COUNTS[: int(part.order.max()) + 1]
    assert table(full).columns["low"].colours == (), "a length is no count"


def test_a_completed_run_without_a_value_is_called_so():
    assert maps.no_value(False, "completed", "C0")["label"] == "not defined in a completed run"
    assert maps.no_value(True, "completed", "C0")["label"] == "completed"


def test_a_whole_number_that_is_missing_is_a_gap_and_no_value():
    data = scan("mass", "length")
    count = np.array([[2, -1, 0], [-1, 3, 1]])
    data = data.assign(count=(("mass", "length"), count, {"units": "1"}), status=data.status.where(count != -1, 10))
    column = table(data).columns["count"]
    assert np.isnan(column.values).tolist() == (count == -1).ravel().tolist() and column.colours == COUNTS[:4]
    figure = picture(data, ["count"])
    drawn = figure.axes[0].collections[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(drawn), count.T == -1)
    assert figure.legends, "the status of those without a value"
    line = picture(data.isel(length=1), ["count"]).axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), [np.nan, 3.0])


def test_values_in_any_order_are_drawn_in_order():
    data = scan("mass", "length")
    turned = data.isel(mass=[1, 0], length=[2, 0, 1])
    drawn = [picture(one).axes[0].collections[0].get_array() for one in (data, turned)]
    np.testing.assert_array_equal(drawn[0].filled(-1.0), drawn[1].filled(-1.0))


def test_measures_of_a_scan_with_time_histories_are_drawn_over_its_parameters():
    both = scan("mass").assign(x=(("mass", "time"), np.ones((2, 4)))).assign_coords(time=np.arange(4.0))
    across = lambda variables, over=(): picture(both, variables, over).axes[0].get_xlabel()
    assert across(["low"]) == across(["low"], ["mass"]) == "mass (kg)" and across(["x"]) == across([]) == "time (s)"
    with pytest.raises(ValueError, match="over names two axes, but only mass has several values: leave it out"):
        across([], ["mass", "length"])


def test_selections_without_values_are_no_empty_pictures():
    both = scan("mass").assign(x=(("mass", "time"), np.ones((2, 4)))).assign_coords(time=np.arange(4.0))
    for none in ({"mass": slice(0)}, {"time": slice(0)}):
        with pytest.raises(ValueError, match="nothing to draw: 'x' has no values"):
            picture(both.isel(none), ["x"])
    with pytest.raises(ValueError, match="nothing to show: the scan over mass has no members"):
        picture(both.isel(mass=slice(0)), ["low"])


def test_samples_are_points_of_a_map():
    sampled = xr.Dataset(
        {"low": ("sample", [1.0, np.nan, 3.0]), "status": ("sample", [0, 0, 0])},
        {"mass": ("sample", [60.0, 70.0, 80.0], {"units": "kg"}), "length": ("sample", [3.0, 1.0, 2.0])},
    )
    field = picture(sampled).axes[0]
    assert (field.get_xlabel(), field.get_ylabel()) == ("mass (kg)", "length")
    np.testing.assert_array_equal(field.collections[0].get_offsets().compressed().reshape(-1, 2), [[60, 3], [80, 2]])


def test_a_sample_is_drawn_over_the_parameters_that_were_given_first_with_points_of_its_density():
    rng, count = np.random.default_rng(0), 60_000
    coords = {name: ("sample", rng.random(count)) for name in ("c", "k", "mass")}  # as a store lists them
    data = xr.Dataset({"status": ("sample", np.zeros(count, int)), "rho": ("sample", rng.random(count))}, coords)
    axes = picture(data.assign_attrs(member_values='["mass", "k", "c"]'), ["rho"]).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mass", "k")
    assert axes.collections[0].get_sizes() == [5.0]  # square points; of few members 14
    plt.close("all")


def test_a_sample_over_one_parameter_is_a_curve_over_its_values():
    sampled = scan("sample").isel(sample=[0, 1, 1]).drop_vars("sample")
    sampled = sampled.assign(low=("sample", [1.0, 2.0, 3.0])).assign_coords(mass=("sample", [70.0, 60.0, 80.0]))
    field = picture(sampled).axes[0]
    assert field.get_xlabel() == "mass"
    np.testing.assert_array_equal(field.lines[0].get_xydata(), [[60, 2], [70, 1], [80, 3]])


def test_an_axis_of_one_value_is_a_title():
    figure = picture(scan("mass", "length").isel(mass=[1]))
    assert figure.get_suptitle() == "members with mass = 1 kg" and figure.axes[0].get_xlabel() == "length (kg)"
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xydata(), [[0, 3], [1, 4], [2, 5]])
    assert picture(scan("mass", "length", "age").isel(age=[0])).axes[0].get_ylabel() == "length (kg)"


def test_a_picture_of_the_status_shows_statuses():
    for dims, marks in ((("mass",), "lines"), (("mass", "length"), "collections")):
        figure = picture(ended_early(*dims), ["status"])
        ax = figure.axes[0]
        assert [t.get_text() for t in figure.legends[0].get_texts()] == ["completed", "ended early: fell"]
        assert len(figure.axes) == 1 and not (len(dims) == 1 and ax.get_yticks().size), "no numbers"
        assert ax.get_ylabel() == ("" if len(dims) == 1 else "length (kg)"), "the title names it"
        assert (figure.get_figheight() < 2.0) == (len(dims) == 1)
        assert not any(hasattr(m, "get_hatch") and m.get_hatch() for m in getattr(ax, marks))


def test_values_of_a_constant_ratio_are_on_a_logarithmic_axis():
    data = scan("mass", "length").assign_coords(length=[1e2, 1e3, 1e4])
    field = picture(data).axes[0]
    assert (field.get_xscale(), field.get_yscale()) == ("linear", "log")
    edges = field.collections[0].get_coordinates()
    np.testing.assert_allclose(edges[:, 0, 1], 10.0 ** np.array([1.5, 2.5, 3.5, 4.5]))
    np.testing.assert_allclose(edges[0, :, 0], [-0.5, 0.5, 1.5])
    assert picture(data.isel(mass=1, drop=True)).axes[0].get_xscale() == "log"
    ax = picture(data.assign_coords(length=[8e3, 2e4, 5e4])).axes[0]  # within a decade, with plain numbers
    assert ax.get_yscale() == "log"
    assert "20000" in [tick.get_text() for tick in ax.get_yticklabels()]
    for others in ([1.0, 2.0, 3.0], [0.0, 10.0, 100.0], [100.0, 500.0, 1e4]):
        assert picture(data.assign_coords(length=others)).axes[0].get_yscale() == "linear"


def test_a_picture_of_many_sampled_parameters_says_what_it_does_not_show():
    names = ("mass", "length", "slope")
    columns = {n: ("sample", np.array([3.0, 1.0, 2.0]) + i, {"units": "kg"}) for i, n in enumerate(names)}
    sampled = xr.Dataset({"low": ("sample", [1.0, 2.0, 3.0]), "status": ("sample", [0, 0, 0])}, columns)
    figure = picture(sampled)
    assert figure.get_suptitle().startswith("members with slope from 3 to 5 kg\n")
    figure = picture(sampled, over=["slope", "mass"])
    assert figure.get_suptitle().startswith("members with length from 2 to 4 kg\n")
    ax = figure.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("slope (kg)", "mass (kg)")
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[5, 3], [3, 1], [4, 2]])
    assert not picture(sampled.drop_vars("slope")).get_suptitle()
    for over in (["mass"], ["mass", "mass"], ["mass", "age"]):
        with pytest.raises(ValueError, match="over must name two of mass, length, slope, got mass"):
            picture(sampled, over=over)


def test_whole_numbers_have_no_ticks_between_them():
    links = lambda values, unit: scan("links", "mass").assign_coords(links=("links", values, {"units": unit}))
    field = picture(links([2, 3], "1")).axes[0]
    field.figure.canvas.draw()
    shown = [t for t in field.get_xticks() if np.ptp([*field.get_xlim(), t]) == np.ptp(field.get_xlim())]
    assert shown == [2.0, 3.0]
    for values, unit in (([2, 3], "kg"), ([2.0, 2.5], "1")):
        assert any(t % 1 for t in picture(links(values, unit)).axes[0].get_xticks())
    many = run(["x"]).expand_dims(links=24).assign_coords(links=("links", 10 + np.arange(24) % 4, {"units": "1"}))
    assert not any(t % 1 for t in picture(many, ["x"]).axes[-1].get_yticks())


def test_the_phase_has_ticks_at_whole_numbers_and_none_after_the_end():
    values = np.array([0, 0, 1, 1, -1])
    phase = {"units": "1", "long_name": "phase"}
    ended = xr.Dataset({"phase": ("time", values, phase)}, {"time": np.arange(5.0)})
    members = ended.expand_dims(mass=[60.0, 80.0])
    for panel in (picture(ended).axes[0], picture({"a": ended, "b": ended}).axes[0], picture(members).axes[0]):
        panel.figure.canvas.draw()
        assert panel.get_ylabel() == "phase" and not any(t % 1 for t in panel.get_yticks())
        drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in panel.lines])
        assert np.nanmin(drawn) == 0.0 and np.nanmax(drawn) == 1.0 and np.isnan(drawn).any()
    both = picture({"a": ended, "b": ended.assign(phase=0.25 * ended.phase)}).axes[0]
    assert any(t % 1 for t in both.get_yticks()), "of each run"


def test_subjects_are_named_on_an_axis():
    data = scan("subject", "length").assign_coords(subject=["anna", "ben"])
    axis = picture(data, over=["subject", "length"]).axes[0].xaxis
    assert [t.get_text() for t in axis.get_ticklabels()] == ["anna", "ben"] and list(axis.get_majorticklocs()) == [0, 1]
    column = table(data).columns["subject"]
    assert column.names == ("anna", "ben") and column.values.tolist() == [0, 0, 0, 1, 1, 1]


def test_each_subject_has_a_line_over_the_parameter():
    data = scan("subject", "length").assign_coords(subject=["anna", "ben"])
    status = np.where(np.isnan(data.low), 9, 0)
    figure = picture(data.assign(status=(data.low.dims, status)))
    (ax,) = figure.axes
    anna, lost, ben = ax.lines
    assert ax.get_xlabel() == "length (kg)" and [line.get_label() for line in (anna, ben)] == ["anna", "ben"]
    np.testing.assert_array_equal(anna.get_ydata(), [np.nan, 1.0, 2.0])
    assert lost.get_label().startswith("anna: no value: ") and lost.get_color() == anna.get_color() != ben.get_color()
    (ax, *_) = picture(data.assign(status=(data.low.dims, status)), ["status"]).axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["anna", "ben"], "statuses are a map"


def test_long_labels_fit_their_panel():
    long = scan("mass").rename(low="angular_momentum_of_all")
    figure = picture(long)
    figure.canvas.draw()
    ax = figure.axes[0]
    assert ax.yaxis.label.get_window_extent().height <= 1.1 * ax.get_window_extent().height


@pytest.mark.parametrize(
    ("data", "variables", "message"),
    [
        (run(["x"]), ["z"], "no variable 'z': there are x"),
        (
            scan("mass", "length", "age"),
            [],
            r"over mass, length needs one value of age.* data\.isel\({'age': 0}\)",
        ),
        (scan("mass").drop_vars("status"), [], "neither a run over time nor a scan"),
        (run([]).assign(s=("time", np.zeros(4))).drop_vars("s"), [], "nothing to draw: no variable has only"),
        (run(["x"]).assign(m=3.0), ["m"], "'m' is one number: what is drawn here is over time"),
    ],
)
def test_what_cannot_be_drawn_is_said(data, variables, message):
    with pytest.raises(ValueError, match=message):
        picture(data, variables)


def test_angles_are_drawn_in_degrees():
    angle = xr.DataArray([0.0, np.pi], dims="time", attrs={"units": "rad", "long_name": "knee"})
    k = angle.assign_attrs(units="N m/rad", long_name="k")
    figure = picture(xr.Dataset({"knee": angle, "k": k}, {"time": [0.0, 1.0]}))
    assert [ax.get_ylabel() for ax in figure.axes] == ["knee (deg)", "k (N m/rad)"]
    np.testing.assert_allclose([ax.lines[0].get_ydata()[-1] for ax in figure.axes], [180.0, np.pi])
    assert angle.units == "rad" and float(angle[-1]) == np.pi, "the result itself stays as it is"


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_infinite_numbers_have_no_place_on_a_map():
    data = xr.Dataset({"rho": (("k", "c"), [[1.0, np.inf], [2.5, 3.0]]), "status": (("k", "c"), [[0, 0], [0, 0]])})
    figure = picture(data.assign_coords(k=[1.0, 2.0], c=[3.0, 4.0]))
    assert "not defined in a completed run" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_map_of_a_single_value_says_it_instead_of_a_colour_bar():
    data = scan("mass", "length")
    data["low"] = data.low * 0.0 + 2.5
    (field,) = picture(data).axes
    assert [text.get_text() for text in field.texts] == ["2.5 everywhere"]
    middle = lambda data: to_hex(data.to_rgba(data.get_array().compressed()[0]))
    assert middle(field.collections[0]) == colours(3)[1], "as on a page: neither the lowest nor the highest"
    data["low"] = (data.low * 0.0 + 2.0).assign_attrs(units="1")
    assert middle(picture(data).axes[0].collections[0]).upper() == COUNTS[2]


def test_rounding_of_a_conserved_energy_does_not_fill_its_panel():
    time = np.linspace(0.0, 1.0, 50)
    energy = 68.9 + 1e-11 * np.sin(40.0 * time)
    run = xr.Dataset({"energy": ("time", energy), "drift": ("time", 68.9 + 1e-3 * time)}, {"time": time})
    level, drift = (ax.get_ylim() for ax in histories(run).axes)
    assert level[1] - level[0] > 1.0 and drift[1] - drift[0] < 2e-3


def ensemble_over_time(*dims, count=300):
    sizes = (count // 3, 3)[: len(dims)] if len(dims) > 1 else (count,)
    height = np.linspace(1.0, 2.0, count).reshape(*sizes, 1) * np.linspace(0.0, 1.0, 4)
    columns = {
        "height": ((*dims, "time"), height),
        "rho": (dims, height[..., -1]),
        "status": (dims, np.zeros(sizes, int)),
    }
    coords = {d: (d, np.arange(float(n)), {"units": "kg"}) for d, n in zip(dims, sizes, strict=True)}
    return xr.Dataset(columns, coords | {"time": np.arange(4.0)})


def test_many_members_with_histories_are_maps_of_their_measures():
    class Unread(xr.core.indexing.ExplicitlyIndexedNDArrayMixin):
        shape, dtype = (100, 3, 4), np.dtype(float)

        def __getitem__(self, key):
            pytest.fail("all histories were loaded")

    data = ensemble_over_time("mass", "length")
    unread = xr.Variable(("mass", "length", "time"), xr.core.indexing.LazilyIndexedArray(Unread()))
    axes = picture(data.assign(height=unread)).axes
    assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("mass (kg)", "length (kg)")
    assert axes[0].get_title(loc="left").startswith("rho")


def test_named_histories_of_many_members_are_a_median_with_bands():
    figure = picture(ensemble_over_time("mass"), "height")
    ax, bar = figure.axes
    assert len(ax.collections) == 2 and len(ax.lines) == 6 and bar.get_ylabel() == "mass (kg)"
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 1.5 * np.linspace(0.0, 1.0, 4))
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["90 % of 300 members", "50 % of 300 members", "median"]
    named = picture(ensemble_over_time("mass", "length"), "height").legends[0].get_texts()
    assert named[3].get_text() == "mass = 0 kg, length = 0 kg" and len(named) == 8
