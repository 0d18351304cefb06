import matplotlib.pyplot as plt

from experiments.benchmarks import bench, page
from experiments.benchmarks.rows import Row, Target, Timing, row


def rows():
    timing = Timing(wall=[2.0, 3.0], cpu=[1.5, 2.5], compile=4.0, memory=64_000)
    known = dict(problem="knee", members=32, work="1 s", steps=1000)
    ours = [row(timing, code="jaxgait", method="Ros4", error=e, **known) for e in (1e-4, 1e-6)]
    return [*ours, row(timing, code="C++", method="Ros4, simd", error=[1e-5, 3e-5], **known)]


def test_a_row_contains_rates_and_memory_per_member():
    entry: Row = rows()[2]
    assert entry.error == 2e-5
    found = entry.as_dict()
    assert found["cpu_ms_per_member"] == 1.5e3 / 32
    assert found["trajectories_per_s"] == 16.0
    assert found["memory_bytes_per_member"] == 2000.0
    assert found["trajectory_steps_per_cpu_s"] == 1000 / 1.5


def test_the_page_lists_measurements_machines_and_targets(tmp_path):
    targets = [Target("fast", 3.0, 2.0, at_most=True), Target("faster", 150.0, 20.0), Target("other", 1.0, None)]
    result = {
        "machine": "2 CPU cores",
        "processor": "a processor",
        "versions": {"jax": "1.2.3"},
        "date": "2026-01-02",
        "load": [0.1, 1.2],
        "quick": False,
        "seconds": 600.0,
        "rows": [r.as_dict() for r in rows()],
        "targets": [t.as_dict() for t in targets],
    }
    page.write(result, tmp_path / "RESULTS.md")
    text = (tmp_path / "RESULTS.md").read_text()
    for words in (
        "2 CPU cores; a processor",
        "jax 1.2.3",
        "2026-01-02",
        "0.1, 1.2",
        "10 min",
        "Targets met: 1 of 2 that",
    ):
        assert words in text
    assert "| fast | <= 3 | 2 | yes |  |" in text and "| faster | >= 150 | 20 | NO |  |" in text
    assert "| knee | C++ | Ros4, simd | 32 | 1 s | 46.88 | 16 | 6.67e+02 | 4.0 | 2 | 2.0e-05 |" in text
    assert (tmp_path / "RESULTS.png").stat().st_size > 10_000


def test_what_was_measured_at_a_smaller_size_is_shown_but_not_judged(monkeypatch, capsys):
    target = Target("fast", 150.0, 20.0)
    for part in (bench.walker, bench.knee, bench.loops):
        monkeypatch.setattr(part, "measure", lambda quick: ([], [target]))
    found = bench.bench(quick=True)["targets"]
    assert [t["met"] for t in found] == [None] * 3 and found[0]["measured"] == 20.0
    assert "not judged (quick)" in capsys.readouterr().out
    assert target.met is False and Target("other", 1.0, None).met is None


def test_sizes_of_the_same_work_are_a_line_over_the_size_not_over_the_error():
    timing = Timing(wall=[2.0], cpu=[1.5], compile=4.0, memory=None)
    known = dict(problem="Lorenz", code="jaxgait", method="Tsit5", steps=1000)
    runs = [(8, "1000 steps", 3e-6), (1024, "1000 steps", 2e-6), (8, "tol 1e-8", 1e-6), (1024, "tol 1e-8", 9e-7)]
    scaling = [row(timing, members=n, work=work, error=e, **known).as_dict() for n, work, e in runs]
    for entries, lines in ((scaling, 2), ([r.as_dict() for r in rows()], 2)):
        panel = plt.figure().add_subplot()
        page._panel(panel, entries, {"jaxgait": "o", "C++": "s"})
        assert len(panel.lines) == lines
        assert ("members" in panel.get_xlabel()) == (entries is scaling)
        plt.close(panel.figure)
