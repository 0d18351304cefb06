"""Ctrl-C and `kill` are heard wherever the program is, and end it at once."""

import gc
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from jaxgait.cli import interruptions, main

KINDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture(autouse=True)
def signals_are_not_ignored():
    """Processes in the background of a shell script ignore Ctrl-C, and so do the processes that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("number", "code"), KINDS)
def test_both_signals_interrupt_and_have_a_code(number, code):
    before = signal.getsignal(number)
    with interruptions.as_exceptions(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
        time.sleep(5.0)
    assert interruptions.code() == code and signal.getsignal(number) is before


@pytest.mark.usefixtures("only_new_garbage")
def test_an_interruption_in_a_callback_is_not_lost():
    """As in that of JAX, which Python calls at each garbage collection: what it raises is dropped."""
    seen = []

    def collected(phase, _):
        seen.append(phase)
        if phase == "start":
            os.kill(os.getpid(), signal.SIGINT)
        else:  # where the repetition is lost too
            gc.callbacks.remove(collected)
        time.sleep(0.5)

    gc.disable()  # but the one below: another might begin before the handlers are set, or in another thread
    try:
        with interruptions.as_exceptions(), pytest.raises(KeyboardInterrupt):
            gc.callbacks.append(collected)
            gc.collect()
            begun = time.monotonic()
            time.sleep(5.0)
    finally:
        gc.enable()
    assert time.monotonic() - begun < 4.0 and seen == ["start", "stop"]


def test_an_error_that_came_of_an_interruption_is_one(monkeypatch, capsys):
    """Python's own lock may be caught between two states."""

    def caught(_):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    monkeypatch.setattr("jaxgait.registry.model", caught)
    with pytest.raises(SystemExit) as stop:
        main(["run", "bungee"])
    assert stop.value.code == 130 and capsys.readouterr().err == "jaxgait: interrupted\n"


def test_two_signals_during_one_call_are_taken_as_one(monkeypatch):
    left: list[int] = []
    monkeypatch.setattr(interruptions, "_leave", left.append)
    monkeypatch.setattr(interruptions, "MAX_WAIT", 0.5)
    woken, wakes = socket.socketpair()
    interruptions._taken.clear()
    watch = threading.Thread(target=interruptions._watch, args=(woken,))
    watch.start()
    wakes.send(bytes([signal.SIGINT, signal.SIGINT]))
    interruptions._taken.set()
    time.sleep(0.7)
    wakes.close()
    watch.join()
    woken.close()
    assert left == []


def test_an_old_signal_counts_for_no_new_command():
    interruptions._taken.set()
    with interruptions.as_exceptions():
        assert not interruptions._taken.is_set()


IN_A_LONG_CALL = """
import hashlib
from jaxgait.cli import interruptions
interruptions.MAX_WAIT = 0.1
with interruptions.as_exceptions():
    print(flush=True)
    hashlib.pbkdf2_hmac("sha512", b"", b"", 10**9)
"""
WHILE_LOADING = """
import time
from jaxgait.cli import interruptions
with interruptions.as_exceptions(), interruptions.as_exits():
    print(flush=True)
    time.sleep(20)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), KINDS)
@pytest.mark.parametrize("program", [IN_A_LONG_CALL, WHILE_LOADING])
def test_nothing_is_waited_for(program, number, code):
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "\n"
    time.sleep(0.5)  # until it is in the call
    begun = time.monotonic()
    child.send_signal(number)
    output = child.communicate()[1]
    assert (child.returncode, output) == (code, "jaxgait: interrupted\n") and time.monotonic() - begun < 10.0


@pytest.mark.parametrize(("number", "code"), KINDS)
def test_the_command_can_be_interrupted_while_it_starts(tmp_path, number, code):
    (tmp_path / "tyro.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-m", "jaxgait", "--version"]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (code, "jaxgait: interrupted\n")


@pytest.mark.slow
def test_a_scan_does_not_wait_for_its_blocks(tmp_path):
    """The process ends while a block runs, and reports what is safe."""
    program = (
        "import time; from jaxgait.ensembles import workers; import jaxgait.cli\n"
        "workers.run_task = lambda task: (print(flush=True), time.sleep(60))\n"
        "import sys; sys.argv[1:] = ['scan', 'bungee', '--over', 'mass=60:80:8', '--store', 'scan.zarr']\n"
        "jaxgait.cli.main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parents[2])},
    )  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(0.5)
    begun = time.monotonic()
    child.send_signal(signal.SIGTERM)
    output = child.communicate()[1]
    assert "blocks are safe in scan.zarr; run the same command again" in output
    assert child.returncode == 143 and time.monotonic() - begun < 20.0
