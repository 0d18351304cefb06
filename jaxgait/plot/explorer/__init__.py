"""Explore a scan by looking: one self-contained page with a map of all members and the motion of chosen ones.

    page = explore("scan.nc")                 # in a notebook it shows itself
    page.save("scan.html")

Map and parallel coordinates are drawn by Plotly: of the libraries that come as a Python wheel it is the one that has
parallel coordinates with brushing, selection with box and lasso, points by WebGL and export to PNG, and it is there in
Colab. Its script takes 4.8 MB, 1.4 MB compressed, as which it travels in the page. Bokeh's script is a quarter of that
and lacks parallel coordinates and their brushing; Vega-Lite draws 10^5 points slowly and needs a wheel of 33 MB to come
without a network; a widget of anywidget or Panel needs a living kernel, and a page is to be opened, sent and kept
without one; three.js draws, but has no axes. The motion itself is drawn by some hundred lines of our own on a canvas.
"""

from jaxgait.plot.explorer.page import Explorer, check_library, explore, is_page, is_run
from jaxgait.plot.explorer.recipe import again, opened

__all__ = ["Explorer", "again", "check_library", "explore", "is_page", "is_run", "opened"]
