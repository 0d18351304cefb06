"""Explore a scan in one self-contained page, with a map of all members and the motion of chosen ones.

    page = explore("scan.nc")                 # displays itself in a notebook
    page.save("scan.html")

Map and parallel coordinates are drawn by Plotly (4.8 MB, 1.4 MB compressed in the page): of the libraries available as
Python wheels, only Plotly has parallel coordinates with brushing, box and lasso selection, WebGL points and PNG export,
and Colab includes it. Bokeh lacks parallel coordinates with brushing, Vega-Lite draws 10^5 points slowly, widgets of
anywidget or Panel need a running kernel. The motion is drawn on a canvas by `film.js`.
"""

from jaxgait.plot.explorer.page import Explorer, check_library, explore, is_page, is_run
from jaxgait.plot.explorer.recipe import again, opened

__all__ = ["Explorer", "again", "check_library", "explore", "is_page", "is_run", "opened"]
