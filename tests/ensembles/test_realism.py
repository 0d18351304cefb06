"""Results whose measures are not those of realistic runs are named, whatever their objective says."""

import dataclasses

import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, Prosthesis
from jaxgait.ensembles import people, single_strides
from jaxgait.ensembles.realism import expecting, unrealistic
from jaxgait.models.prosthesis.fitting import REFERENCE_PERSON
from jaxgait.motion import MotionWarning
from jaxgait.run import Sampling

WEIGHT = 85.07 * 9.81  # N, of the person of the default drive


def scan(*forces: float, status: int | list[int] = 0):
    return xr.Dataset(
        {"mean_ground_force": ("k", np.array(forces)), "status": ("k", np.broadcast_to(status, len(forces)))}
    )


def test_a_run_whose_leg_hardly_carries_anything_or_too_much_is_named():
    run = lambda force: xr.Dataset({"mean_ground_force": ((), force)}, attrs={"status": 0})
    assert unrealistic(Prosthesis(), run(0.5 * WEIGHT)) == []
    for share in (0.2, 0.8):
        (text,) = unrealistic(Prosthesis(), run(share * WEIGHT))
        assert text.startswith(
            f"mean_ground_force is {share * WEIGHT:.3g} N, where 209 to 626 N are expected (a quarter"
        )


def test_a_leg_that_hammers_the_floor_is_named():
    run = lambda peak: xr.Dataset({"peak_ground_force": ((), peak)}, attrs={"status": 0})
    assert unrealistic(Prosthesis(), run(3.9 * WEIGHT)) == []  # with a rigid hip, see docs/limits.md
    (text,) = unrealistic(Prosthesis(), run(6.8 * WEIGHT))
    assert text.startswith("peak_ground_force is 5670 N, where 0 to 4170 N are expected (up to 5 times the body")


def test_completed_members_outside_are_counted():
    forces = 10.0, 0.5 * WEIGHT, 5000.0, np.nan, 0.4 * WEIGHT
    (text,) = unrealistic(Prosthesis(), scan(*forces))
    assert text.startswith("mean_ground_force of 2 of 4 completed members is not the 209 to 626 N that are expected")
    (text,) = unrealistic(Prosthesis(), scan(*forces, status=[8, 0, 0, 0, 0]))
    assert " 1 of 3 completed members " in text
    assert unrealistic(Prosthesis(), scan(*forces, status=8)) == []


@pytest.mark.parametrize(("mass", "low", "whose"), [(60.0, "147", "of the body weight"), (None, "209", "is not known")])
def test_values_are_expected_of_the_person_who_walks(mass, low, whose):
    drive = dataclasses.replace(Prosthesis().drive, person=REFERENCE_PERSON._replace(mass=mass))
    (text,) = unrealistic(dataclasses.replace(Prosthesis(), drive=drive), scan(10.0))
    assert f"where {low} to " in text and whose in text


def walks(*masses, dim="subject"):
    """The model, and a scan over walks of people with these masses in kg whose legs carry 600 N."""
    persons = [REFERENCE_PERSON._replace(mass=mass) for mass in masses]
    drives = [dataclasses.replace(Prosthesis().drive, person=one, name=f"p{i}") for i, one in enumerate(persons)]
    leg, who = (single_strides if dim == "stride" else people)(Prosthesis(), drives)
    forces = xr.Dataset({"mean_ground_force": (dim, np.full(len(masses), 600.0))}, attrs={"status": 0, **who.attrs})
    return leg, forces.assign_coords({name: label for name, label in who.labels.items()})


@pytest.mark.slow
@pytest.mark.usefixtures("unaligned")
def test_each_of_several_people_is_compared_with_what_is_expected_of_them():
    with pytest.warns(MotionWarning, match="p3: the body mass is not known"):
        leg, data = walks(60.0, 100.0, 70.0, None)
    first, second = unrealistic(leg, data)
    assert first.startswith("mean_ground_force for subject p0 is 600 N, where 147 to 441 N are expected (a quarter")
    assert second.startswith("mean_ground_force for subject p2 is 600 N, where 172 to 515 N are expected")
    over = data.expand_dims(k=[1.0, 2.0])
    assert unrealistic(leg, over)[0].startswith(
        "mean_ground_force of 2 of 2 completed members for subject p0 is not the 147 to 441 N that are expected"
    )
    assert unrealistic(leg, data.isel(subject=0)) == [first.replace(" for subject p0", "")]
    leg, data = walks(60.0, 60.0, dim="stride")
    (text,) = unrealistic(leg, data)
    assert text.startswith("mean_ground_force of 2 of 2 completed members is not the 147 to 441 N")


def test_nothing_is_said_of_models_that_expect_nothing():
    assert unrealistic(Bungee(), xr.Dataset({"clearance": ((), -5.0)}, attrs={"status": 0})) == []
    assert expecting(Prosthesis(), Sampling(strides=5, samples=10)) is None  # too coarse for the measure
