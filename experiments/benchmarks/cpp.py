"""The hand-written C++ programs: compiled by the local g++, if there is one, and run on one core."""

from __future__ import annotations

import functools
import pathlib
import shutil
import subprocess
import tempfile

from .rows import Timing

HERE = pathlib.Path(__file__).parent
FLAGS = ("-std=c++20", "-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-Wno-psabi")
"""Options for all programs. No -ffast-math: it would break the compensated reduction of angles."""


def compiler() -> str | None:
    """Path of g++, if there is one."""
    return shutil.which("g++")


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()  # removed when the process ends


@functools.cache
def program(name: str) -> str:
    """Compiles `name`.cpp, once per process, and returns the path of the program.

    Raises:
        FileNotFoundError: if there is no g++.
    """
    if compiler() is None:
        raise FileNotFoundError("g++ is needed for the hand-written programs")
    path = pathlib.Path(_folder().name) / name
    subprocess.run([str(compiler()), *FLAGS, "-o", str(path), str(HERE / f"{name}.cpp")], check=True)
    return str(path)


def run(name: str, *arguments: object) -> str:
    """Runs a program and returns what it prints."""
    command = [program(name), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def timed(name: str, *arguments: object, repeats: int = 1) -> Timing:
    """Runs a program that prints the wall and the processor time in s of its work, on one core, `repeats` times."""
    timing = Timing()
    for _ in range(repeats):
        wall, cpu = map(float, run(name, *arguments).split())
        timing.wall.append(wall)
        timing.cpu.append(cpu)
    return timing
