"""Progress of a scan: a bar on a terminal; in a log an occasional line, if the scan takes more than a minute."""

from __future__ import annotations

import sys
import time

import numpy as np
from tqdm import tqdm

from jaxgait.ensembles.plan import Plan, failures

_FORMAT = "{percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} [{elapsed}, {remaining} left, {rate_fmt}{postfix}]"
FIRST_LINE, BETWEEN_LINES = 60.0, 300.0
"""Seconds until the first line in a log, and between further lines."""


class Meter:
    """A progress bar over the members of a plan; `show=None`: a bar on a terminal, otherwise an occasional line."""

    def __init__(self, plan: Plan, done: int = 0, show: bool | None = None) -> None:
        self._plan = plan
        self._blocks = done
        self._failures = 0
        self._lines = show is None and not sys.stderr.isatty()
        self._begun, self._first = time.monotonic(), done
        self._due = self._begun + FIRST_LINE
        self._bar = tqdm(
            total=plan.members.size,
            initial=min(plan.members.size, round(plan.members.size * done / plan.size)),
            unit=" trajectories",
            disable=None if show is None else not show,
            bar_format=_FORMAT,
        )
        self._update()

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()

    def add(self, status: np.ndarray) -> None:
        """Counts one more block with the status codes (members,) of its members."""
        self._blocks += 1
        self._failures += int(failures(status).sum())
        self._bar.update(status.size)
        self._update()
        if self._lines and time.monotonic() >= self._due and self._blocks < self._plan.size:
            self._due = time.monotonic() + BETWEEN_LINES
            print(f"jaxgait: {self._line()}", file=sys.stderr, flush=True)

    def _line(self) -> str:
        done, all_of_them = self._blocks, self._plan.size
        left = (time.monotonic() - self._begun) / (done - self._first) * (all_of_them - done)
        return (
            f"{100 * done // all_of_them} %: {done} of {all_of_them} blocks, {self._failures} failed, "
            f"about {max(left / 60, 1):.0f} min left"
        )

    def _update(self) -> None:
        self._bar.set_postfix_str(f"{self._blocks}/{self._plan.size} blocks, {self._failures} failed")
