"""The picture of the explorer in the documentation, by Chromium: `python -m experiments.docs.explorer`."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile

import numpy as np
from PIL import Image

from jaxgait import ensemble, explore
from jaxgait.models import Prosthesis

PICTURE = pathlib.Path(__file__).parents[2] / "docs" / "pictures" / "explorer.png"
SCAN = {"damper.k": np.linspace(1e4, 4e4, 17), "damper.c": np.linspace(400.0, 2500.0, 9)}
SIZE = (1280, 930)
"""Size of the window in pixels."""
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-unsafe-swiftshader")
SETTLES = 15_000
"""Time in ms after which the page is drawn."""
ACTS = """<script>
const ready = setInterval(() => {
  if (!document.body.dataset.ready) return;
  clearInterval(ready);
  $("ghost").click();
  state.elapsed = 0.7;
  drawFrame();
}, 50);
</script>"""
"""What a reader would do first: show the reference as a ghost, and move on in time."""


def draw(path: pathlib.Path = PICTURE) -> pathlib.Path:
    """Scans the damper of the knee and takes a picture of the page, which is that of the best member."""
    scan = ensemble(Prosthesis(), SCAN, strides=20, samples=100, observe=["rho", "peak_flexion", "order"])
    with tempfile.TemporaryDirectory() as folder:
        page = explore(scan, measure="rho", members=24).save(pathlib.Path(folder, "scan.html"))
        page.write_text(page.read_text().replace("</body>", f"{ACTS}</body>"))
        size = "--window-size={},{}".format(*SIZE)
        budget = f"--virtual-time-budget={SETTLES}"
        subprocess.run(["chromium", *FLAGS, size, budget, f"--screenshot={path}", page.as_uri()], check=True)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE).save(path, optimize=True)
    return path


if __name__ == "__main__":
    print(f"drew {draw()}")
