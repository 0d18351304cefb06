"""What the tests of the explorer share: the runs of their scan, and how they read a page."""

import gzip
import json
import re
from importlib import util
from typing import Any, ClassVar

import numpy as np
import pytest

from jaxgait.models.bungee.model import Bungee
from jaxgait.plot.explorer.lines import lines
from tests.plot import browser

HAS_PLOTLY = util.find_spec("plotly") is not None
needs_plotly = pytest.mark.skipif(not HAS_PLOTLY, reason="plotly is not installed: pip install 'jaxgait[explore]'")
needs_chromium = pytest.mark.skipif(bool(browser.missing()), reason=f"not installed: {', '.join(browser.missing())}")
RUN = {"duration": 12.0, "samples": 200}
MOST_STEPS = 290
"""Which one member does not do with."""


def unpacked(content) -> Any:
    """Header and arrays of a pack, as the page reads them."""
    content = gzip.decompress(content)
    start = 4 + int.from_bytes(content[:4], "little")

    def read(x) -> Any:
        if isinstance(x, list):
            return [read(e) for e in x]
        if not isinstance(x, dict):
            return x
        if not {"at", "kind", "shape"} <= set(x):
            return {k: read(e) for k, e in x.items()}
        kind = {"f4": "<f4", "f8": "<f8", "u1": "u1", "d2": "<u2"}[x["kind"]]
        count = int(np.prod(x["shape"]))
        values = np.frombuffer(content, kind, count, start + x["at"]).reshape(x["shape"])
        if x["kind"] != "d2":
            return values
        whole = np.cumsum(values, axis=0, dtype=np.uint16)
        return np.where(whole == 65535, np.nan, x["low"] + x["step"] * whole)

    return read(json.loads(content[4:start]))


def line(made, member):
    """The lines that reproduce one member, with its own values, as the page fills them in."""
    index = dict(zip(made.dims, map(int, np.unravel_index(member, made.shape)), strict=True))
    own = {n: repr(float(x)) for n, x in made.of(member).items() if np.ndim(x) == 0}
    own |= {f"#{dim}": str(i) for dim, i in index.items()} | {"member": str(member)}
    found = lines(made, int(made.retried[member]))
    return {kind: re.sub(r"\{\{([^{}]+)\}\}", lambda m: own[m[1]], text) for kind, text in found.items()}


def placed(packed):
    """The outline of a body at all samples."""
    if "pose" not in packed:
        return packed["outline"]
    right, up, angle = packed["pose"].T
    turned = (packed["outline"][0] @ [1.0, 1.0j])[None] * np.exp(1j * angle)[:, None] + (right + 1j * up)[:, None]
    return np.stack([turned.real, turned.imag], axis=-1)


class Gentle(Bungee):
    search: ClassVar = {"minimize": "peak_rope_force"}
