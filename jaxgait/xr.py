"""xarray by its usual name, imported when something is first asked of it: `from jaxgait import xr`.

With pandas it takes a fifth of the time of `from jaxgait import simulate`, and nothing needs it before there are
results.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, open_zarr, zeros_like

__all__ = ["DataArray", "Dataset", "open_zarr", "zeros_like"]


def __getattr__(name: str) -> Any:
    """What xarray has under the name."""
    import xarray

    return getattr(xarray, name)
