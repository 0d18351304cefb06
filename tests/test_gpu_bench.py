"""The benchmark of GPUs: its message without one, and how results are compared."""

import jax
import numpy as np
import pytest

from experiments.benchmarks import ahead, gpu, gpu_page
from experiments.benchmarks.rows import Target
from jaxgait.native import threads


@pytest.mark.skipif(gpu.gpu() is not None, reason="JAX finds a GPU")
def test_without_a_gpu_it_exits_with_a_message(capsys, tmp_path):
    assert gpu.main(["--out", str(tmp_path)]) == gpu.MISSING == 2
    assert capsys.readouterr().err.startswith("no GPU: JAX finds only cpu; install jax[cuda13]")
    assert not list(tmp_path.iterdir())


def results(x, status=(0, 0, 0)):
    return {"observed": {"x": np.array(x)}, "outcome": {"status": np.array(status)}}


@pytest.mark.parametrize(
    ("x", "status", "difference", "agrees"),
    [
        ((1.0, 2.0, 4.0), (0, 0, 0), 0.0, True),
        ((1.0, 2.0, 4.0000004), (0, 0, 0), 1e-7, True),
        ((1.0, 2.0, 4.4), (0, 0, 0), 0.1, False),
        ((1.0, 2.0, 4.0), (0, 0, 1), 0.0, False),
        ((1.0, np.nan, 4.0), (0, 0, 0), np.inf, False),
    ],
)
def test_agreement(x, status, difference, agrees):
    found = gpu.agreement(results(x, status), results((1.0, 2.0, 4.0)), 1e-6)
    assert found["difference"] == pytest.approx(difference, rel=1e-6) and found["agrees"] is agrees


def test_both_may_have_no_number():
    ours, reference = (results((x, np.nan, 1.0)) for x in (3.0, 3.0))
    assert gpu.agreement(ours, reference, 0.0)["agrees"]


def test_the_written_files(tmp_path):
    found = gpu.Found({"gpu": "a GPU", "jax": jax.__version__, "date": "2026-11-22"}, tmp_path)
    row = {"mechanism": "knee", "precision": "float64", "derivative": False, "members": 9, "rounding": 3e-9}
    found.add(row | gpu.agreement(results((1.0, 2.0, 5.0)), results((1.0, 2.0, 4.0)), 1e-6))
    unknown = gpu.allowed("float64", np.inf)
    found.add(row | {"rounding": np.inf} | gpu.agreement(results(3 * [1.0]), results(3 * [1.0]), unknown))
    double, x = jax.vmap(lambda x: x * 2.0), np.ones(3)
    one = gpu.timed(found, "doubling", 3, "one", double, x)
    gpu.timed(found, "doubling", 3, "other", jax.vmap(lambda x: x * 2.5), x, other=one)
    found.judge(Target("doubling", 20.0, 21.0))
    scan = {"scan": "knee", "precision": "float64", "cores": 2, "gpu_first_s": 9.0, "cpu_first_s": 4.0}
    for members in (64, 512):
        found.add(scan | {"members": members, "gpu_s": 0.5, "cpu_s": members / 512})
    text = (tmp_path / "GPU.md").read_text()
    assert found.wrong == 2 * ["knee, float64"] and "| 0.0e+00 | infinite | 100% | NO |" in text
    assert "Infinity" not in (tmp_path / "gpu.json").read_text()
    assert "| knee | float64 | value | 9 | 2.5e-01 | 3.0e-09 | 100% | NO |" in text
    assert (
        "# On a GPU: a GPU" in text and "| doubling | 3 | one |" in text and "| doubling | >= 20 | 21 | yes |" in text
    )
    assert "| 2.5e-01 |" in next(line for line in text.splitlines() if "| other |" in line)
    assert "| knee | float64 | 512 | 2 | 0.5 | 1 | 2 | 9.0 | 4.0 |" in text
    assert (tmp_path / "GPU.png").stat().st_size > 5000


def test_the_least_number_in_shared_memory_is_put_back():
    before = threads.LEAST_NUMBERS
    with gpu.shared_from(7):
        assert threads.LEAST_NUMBERS == 7
    assert before == threads.LEAST_NUMBERS


def test_parts_that_ran_separately_become_one_page(tmp_path, capsys):
    about = {"gpu": "a GPU", "jax": "0.11.2", "date": "2026-11-22"}
    for folder in ("a", "b"):
        found = gpu.Found(about, tmp_path / folder)
        (tmp_path / folder).mkdir()
        found.judge(Target(folder, 20.0, 21.0))
    folders = [str(tmp_path / folder) for folder in ("a", "b")]
    assert gpu.main(["--join", *folders, "--out", str(tmp_path / "both"), "--note", "in two runs"]) == 0
    text = (tmp_path / "both" / "GPU.md").read_text()
    assert "- in two runs" in text and "| a | >= 20 |" in text and "| b | >= 20 |" in text
    with pytest.raises(ValueError, match="of one kind"):
        gpu_page.joined([about, about | {"gpu": "another"}], [])


PROGRAM = """
%body.1 (arg: f64[8]) -> f64[8] {
  %a = f64[8]{0} fusion(%arg), kind=kLoop, calls=%fused_1
  ROOT %b = f64[8]{0} copy(%a)
}

%cond.1 (arg: f64[8]) -> pred[] {
  ROOT %p = pred[] fusion(%arg), kind=kLoop, calls=%fused_2
}

%fused_1 (x: f64[8]) -> f64[8] {
  ROOT %d = f64[8]{0} scatter(%x)
}

ENTRY %main (x: f64[8]) -> f64[8] {
  %y = (f64[8]{0}) custom-call(%x), custom_call_target="__gpu$xla.gpu.ptx"
  ROOT %w = f64[8]{0} while(%y), condition=%cond.1, body=%body.1
}
"""


def test_kernels_of_a_compiled_program_are_counted():
    assert ahead.launches(PROGRAM) == {"kernels": 4, "loops": 1, "kernels_per_step": 3}
