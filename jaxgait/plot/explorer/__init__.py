"""Explore a scan in one self-contained page, with a map of all members and the motion of chosen ones.

    page = explore("scan.nc")                 # displays itself in a notebook
    page.save("scan.html")

Plotly draws map and parallel coordinates (1.4 MB of the page): no other library in a Python wheel has parallel
coordinates with brushing, box and lasso selection, WebGL points and PNG export. `film.js` draws the motion on a canvas.
"""

from jaxgait.ensembles.results import is_run
from jaxgait.plot.explorer.page import Explorer, check_library, explore, is_page

__all__ = ["Explorer", "check_library", "explore", "is_page", "is_run"]
