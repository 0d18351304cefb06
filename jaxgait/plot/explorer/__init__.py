"""Explore a scan in one self-contained page, with a map of all members and the motion of chosen ones.

    page = explore("scan.nc")                 # in a notebook it shows itself
    page.save("scan.html")

Map and parallel coordinates are drawn by Plotly: among the libraries available as Python wheels, only Plotly has
parallel coordinates with brushing, selection with box and lasso, points by WebGL and export to PNG, and Colab includes
it. Its script takes 4.8 MB, and 1.4 MB compressed in the page. Bokeh's script is a quarter of that but lacks parallel
coordinates with brushing; Vega-Lite draws 10^5 points slowly and needs a wheel of 33 MB to work offline; widgets of
anywidget or Panel need a running kernel, but a page must work without one; three.js draws, but has no axes. The motion
itself is drawn on a canvas by some hundred lines of our own.
"""

from jaxgait.plot.explorer.page import Explorer, check_library, explore, is_page, is_run
from jaxgait.plot.explorer.recipe import again, opened

__all__ = ["Explorer", "again", "check_library", "explore", "is_page", "is_run", "opened"]
