"""Progress of a scan: blocks done, trajectories per second, failures so far, time left; quiet when not a terminal."""

from __future__ import annotations

import numpy as np
from tqdm import tqdm

from jaxgait.ensembles.plan import Plan, failures

_FORMAT = "{percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} [{elapsed}, {remaining} left, {rate_fmt}{postfix}]"


class Meter:
    """A progress bar over the members of a plan.

    Args:
        plan: what is run.
        done: blocks that were there before.
        show: True or False; None shows it on a terminal only.
    """

    def __init__(self, plan: Plan, done: int = 0, show: bool | None = None) -> None:
        self._plan = plan
        self._blocks = done
        self._failures = 0
        self._bar = tqdm(
            total=plan.members.size,
            initial=min(plan.members.size, round(plan.members.size * done / plan.size)),
            unit=" trajectories",
            disable=None if show is None else not show,
            bar_format=_FORMAT,
        )
        self._tell()

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()

    def add(self, status: np.ndarray) -> None:
        """Counts one more block with the status codes (members,) of its members."""
        self._blocks += 1
        self._failures += int(failures(status).sum())
        self._bar.update(status.size)
        self._tell()

    def _tell(self) -> None:
        self._bar.set_postfix_str(f"{self._blocks}/{self._plan.size} blocks, {self._failures} failed")
