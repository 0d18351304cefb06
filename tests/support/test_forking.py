"""A process that was forked after JAX had started its threads says so, and does not wait without end."""

import os
import signal

import pytest

from jaxgait import Bungee, ensemble, precision, simulate
from jaxgait.models.bungee.measures import clearance
from jaxgait.support.forking import check_threads

PATIENCE = 60  # s

CALLS = {
    "simulate": lambda: simulate(Bungee(mass=70.0), duration=1.0),
    "ensemble": lambda: ensemble(Bungee(), {"mass": [60.0, 70.0]}, duration=1.0, progress=False),
    "measure": lambda: clearance(Bungee(mass=70.0)),
    "precision": lambda: precision.use("float64").__enter__(),
}


def in_fork(call):
    """What a call says in a forked process, "nothing" if it returns; the process is killed where it waits."""
    begin, end = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(PATIENCE)
        try:
            call()
            said = "nothing"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(end, said.encode())
        os._exit(0)
    os.close(end)
    with open(begin) as said:
        found = said.read()
    os.waitpid(child, 0)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:os.fork")
@pytest.mark.parametrize("name", CALLS)
def test_a_forked_process_says_what_to_do(name):
    clearance(Bungee())  # starts JAX's threads
    said = in_fork(CALLS[name])
    assert said.startswith("RuntimeError: this process was forked after JAX") and "'spawn'" in said
    check_threads()  # the parent goes on
