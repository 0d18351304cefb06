"""Labelled histories of the exoskeleton and the figures of its step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import ensemble, simulate
from jaxgait.cli import running
from jaxgait.measure import MeasureError
from jaxgait.models.exoskeleton.measures import MEASURES, MIN_SAMPLES, histories, step_figures
from jaxgait.models.exoskeleton.model import Exoskeleton, five_links, four_links
from jaxgait.models.exoskeleton.tree import RodLink
from jaxgait.models.exoskeleton.walking import STANCE_SHANK, JoinedGait, WalkingGait, step_numbers
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import ParameterError, with_parameters


@pytest.fixture(scope="module")
def walk():
    return histories(five_links(mode="gait"), strides=1.5, samples=40)


def test_histories_are_labelled(walk):
    assert walk.sizes["time"] == 61 and walk.M_psi.dims == ("time", "link")
    assert walk.F.attrs == {"units": "N", "long_name": "axial force"}
    assert walk.reaction.sel(axis="z").min() > 400
    assert walk.joints.sel(link=1, end="proximal", axis="z").max() == 0.0


def test_the_walk_goes_on_foot_by_foot(walk):
    foot = walk.joints.sel(link=1, end="proximal")
    ahead, aside, _ = np.asarray(five_links().landing())
    np.testing.assert_allclose(foot.sel(axis="x")[[0, 19, 21, 41, 60]], np.array([0, 0, 1, 2, 2]) * ahead)
    np.testing.assert_allclose(foot.sel(axis="y")[[0, 21, 41]], [0, aside, 0], atol=1e-15)
    hip = np.diff(walk.joints.sel(link=2, end="far"), axis=0)
    np.testing.assert_allclose(hip[20], hip[0] * [1, -1, 1], atol=1e-6)  # the second step mirrors the first: no jump
    np.testing.assert_allclose(walk.joints.sel(link=4, end="far")[20], foot[21], atol=1e-6)


def test_vectors_are_in_the_axes_of_the_world(walk):
    """The second step mirrors the first; forces and moments of the ground are in equilibrium in both."""
    first, second = walk.isel(time=5), walk.isel(time=25)
    np.testing.assert_allclose(second.reaction, first.reaction * [1, -1, 1])
    foot = second.joints.sel(link=1, end="proximal")
    hip = second.joints.sel(link=2, end="far") - foot
    assert 0.0 < float(second.com.sel(axis="y")) / float(hip.sel(axis="y")) < 2.0
    for now in (first, second):
        moment = np.cross([*now.pressure_point.values, 0.0], now.reaction) - now.torque.sel(link=1)
        np.testing.assert_allclose(np.abs(moment[:2]), 0.0, atol=1e-9)  # about x and y


def test_steps_in_single_precision_are_those_in_double():
    times = 0.9 * np.arange(1, 60)
    np.testing.assert_array_equal(step_numbers(times.astype(np.float32), 1.8), np.arange(59))


def test_samples_are_taken_at_their_times(walk):
    """Also where a step ends: its own values there, not those of a moment before."""
    exo = five_links(mode="gait")
    for sample, local in ((20, 0.9), (30, 0.45), (40, 0.9)):
        q, rate, _ = exo.motion(local)
        np.testing.assert_allclose(walk.phi[sample], q.phi, rtol=0, atol=1e-13)
        assert float(walk.time[sample]) == pytest.approx(sample * 1.8 / 40, rel=1e-15)
        assert float(jnp.abs(rate.phi).max()) > 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strides": 0}, "strides must be one number in strides, finite and above 0 strides, got 0"),
        ({"strides": -1.0}, "strides must be one number"),
        ({"strides": float("nan")}, "strides must be one number"),
        ({"samples": 0}, "samples must be a whole number, at least 1, got 0"),
        ({"strides": 1.3, "samples": 7}, r"whole number of samples, got 1\.3 times 7 = 9\.1"),
    ],
    ids=str,
)
def test_histories_that_cannot_be_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        histories(five_links(mode="gait"), **options)


def test_planar_histories():
    data = histories(four_links(), samples=8)
    assert list(data.axis.values) == ["x", "y"] and "psi" not in data and data.pressure_point.sizes["ground_axis"] == 1


def test_impossible_exoskeletons_raise():
    with pytest.raises(ParameterError, match="lengths"):
        histories(with_parameters(five_links(), {"lengths": -np.ones(5)}))
    for several in ({"gait.stretch": np.linspace(0.0, 0.04, 5)}, {"gravity": np.array([9.81, 1.6])}):
        with pytest.raises(ParameterError, match=rf"{next(iter(several))} .* must be one number"):
            histories(with_parameters(five_links(), several))


def test_step_figures_are_those_of_two_legs():
    gait = WalkingGait(amplitude=np.array([0.2]), phase=np.array([1.5]), roles=(STANCE_SHANK,))
    one = Exoskeleton.from_links([RodLink(0, [5.0], [1.0], length=0.9)], gait, dimension=2)
    with pytest.raises(ValueError, match=r"two legs, with the parents \(0, 1, 2, 3\), got \(0,\)"):
        step_figures(one)


@pytest.mark.slow
def test_a_tree_without_legs_has_the_measures_of_any_tree(capsys):
    gait = WalkingGait(amplitude=np.array([0.2]), phase=np.array([1.5]), roles=(STANCE_SHANK,))
    one = Exoskeleton.from_links([RodLink(0, [5.0], [1.0], length=0.9)], gait, dimension=2)
    assert running.run(one, None, {"scheme": "Prescribed", "samples": 1}, None) == 0
    assert "largest_tracking_error" in capsys.readouterr().out
    with pytest.raises(MeasureError, match="Exoskeleton has no measure 'speed'"):
        simulate(one, observe="speed")


@pytest.mark.slow
def test_the_ankle_moment_is_the_sagittal_one_where_that_in_the_frontal_plane_is_larger():
    aside = WalkingGait(amplitude=[1.49, 1.35, -0.12, 0.77, -0.01], phase=[0.18, 1.71, -0.51, 1.41, 1.27])
    exo = five_links(gait=with_parameters(aside, {"stride_time": 3.796}))
    times = (np.arange(4) + 0.5) / 4 * 3.796 / 2
    largest = np.max([np.abs(exo.prescribed(time)["torque"][0]) for time in times], axis=0)
    assert largest[0] > 1.3 * largest[1] and float(step_figures(exo, 4).ankle) == pytest.approx(largest[1])


def test_a_step_backwards_costs_work_too():
    step = jax.jit(step_figures, static_argnums=1)(five_links(gait=JoinedGait(swing=-0.28)), 20)
    assert float(step.length) < 0.0 < float(step.work_per_metre)


@pytest.mark.slow
def test_measures_are_the_figures_of_the_prescribed_step():
    exo, stretch = five_links(mode="gait", gait=JoinedGait()), np.array([0.0, 0.02])
    names = [name for name in MEASURES if name != "largest_tracking_error"]
    grid = {"gait.stretch": stretch, "gait.stride_time": [1.8, 0.7]}
    with pytest.warns(IncompleteRun, match=r"not defined although the runs completed: required_friction \(2 of 4"):
        both = ensemble(exo, grid, scheme="Prescribed", samples=4, observe=names)
    scan, hasty = (both.isel({"gait.stride_time": i}) for i in (0, 1))
    step = jax.jit(step_figures, static_argnums=1)(with_parameters(exo, {"gait.stretch": 0.02}), MIN_SAMPLES)
    fields = ("length", "speed", "work", "work_per_metre", "ankle", "friction", "lift", "flexion")
    wanted = {name: getattr(step, field) for name, field in zip(names, fields, strict=True)}
    wanted |= {"work": wanted["work"].sum(), "least_knee_flexion": wanted["least_knee_flexion"].min()}
    for name, value in wanted.items():
        np.testing.assert_allclose(scan[name][1], value, rtol=1e-9, err_msg=name)
        assert scan[name].attrs["units"] == MEASURES[name].unit
    assert scan.work[0] != scan.work[1] and scan.attrs["status_legend"]
    assert (hasty.least_lift < 0.0).all() and hasty.required_friction.isnull().all(), "the foot would be pulled"


@pytest.mark.slow
def test_the_fewest_samples_of_a_step_suffice_for_its_figures():
    exo = five_links(gait=JoinedGait())
    both = jax.jit(lambda exo: [step_figures(exo, count) for count in (MIN_SAMPLES, 3200)])
    for time in (0.9, 2.5):
        few, many = jax.device_get(both(with_parameters(exo, {"gait.stride_time": time})))
        assert few.work.sum() == pytest.approx(many.work.sum(), rel=1e-3)
        assert few.ankle == pytest.approx(many.ankle, rel=1e-3)
        assert few.friction == pytest.approx(many.friction, rel=2e-3)
        assert few.lift == pytest.approx(many.lift, abs=1e-3 * float(exo.chain.total_mass) * 9.81)


@pytest.mark.slow
def test_the_largest_tracking_error_is_that_of_all_steps():
    exo = five_links(dimension=2, gait=WalkingGait())
    start = exo.initial_state()
    run = simulate(
        exo,
        initial_state=start._replace(v=np.asarray(start.v) + 0.01),
        duration=0.05,
        samples=1,
        observe="largest_tracking_error",
    )
    assert run.largest_tracking_error > 1.01 * run.tracking_error.max()


@pytest.mark.slow
def test_step_figures_converge_and_have_gradients():
    exo = five_links()
    fine, coarse = (jax.jit(step_figures, static_argnums=1)(exo, n) for n in (200, 100))
    rounded = jax.jit(lambda e: step_figures(e, 100, 1e-3))(exo)
    np.testing.assert_allclose(rounded.work_per_metre, coarse.work_per_metre, rtol=1e-4)
    np.testing.assert_allclose(fine.work_per_metre, coarse.work_per_metre, rtol=1e-3)
    np.testing.assert_allclose(fine.speed * 0.9, fine.length, rtol=1e-12)

    @jax.jit
    def cost(period):
        return step_figures(with_parameters(exo, {"gait.stride_time": period}), 50).work_per_metre

    slope, step = jax.jit(jax.jacfwd(cost))(jnp.array(1.8)), 1e-5
    np.testing.assert_allclose(slope, (cost(1.8 + step) - cost(1.8 - step)) / (2 * step), rtol=1e-5)


@pytest.mark.slow
def test_the_stance_ankle_bears_the_moment_of_the_ground_reaction():
    run = simulate(five_links(mode="gait"), samples=800, observe=["peak_ankle_moment"])
    moment = run.pressure_point.sel(ground_axis="x") * run.reaction.sel(axis="z")
    assert float(run.peak_ankle_moment) == pytest.approx(float(abs(moment).max()), rel=1e-3)
