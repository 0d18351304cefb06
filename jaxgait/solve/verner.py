"""Verner's explicit Runge-Kutta method of order 8 with an embedded one of order 7 and dense output of order 7.

Thirteen evaluations per step, and three more if the dense output is used; otherwise these are dead code, which JAX's
compilers remove. At equal error it takes fewer evaluations than the pairs of Dormand and Prince (`Dopri8` here, and
DOP853), and the dense output of `Dopri8` is only of order 5.

Verner, Numerically optimal Runge-Kutta pairs with interpolants, Numer. Algorithms 53 (2010) 383; coefficients of the
"efficient" pair 8(7) as published on his pages, rounded from 40 digits. Given the stages, the polynomial of order 7 and
degree 7 is unique: it was solved from the order conditions with 60 digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait.solve.dense import AlternatingInterpolation
from jaxgait.solve.explicit import AbstractUnrolled, Row, State, Weights, combine

# fmt: off
_NODES = (0.05, 0.1065625, 0.15984375, 0.39, 0.465, 0.155, 0.943, 0.901802041735857, 0.909, 0.94, 1.0, 1.0)
_STAGES = (
    {0: 0.05},
    {0: -0.0069931640625, 1: 0.1135556640625},
    {0: 0.0399609375, 2: 0.1198828125},
    {0: 0.36139756280045754, 2: -1.3415240667004928, 3: 1.3701265039000352},
    {0: 0.049047202797202795, 3: 0.23509720422144048, 4: 0.18085559298135673},
    {0: 0.06169289044289044, 3: 0.11236568314640277, 4: -0.03885046071451367, 5: 0.01979188712522046},
    {0: -1.767630240222327, 3: -62.5, 4: -6.061889377376669, 5: 5.6508231982227635, 6: 65.62169641937624},
    {0: -1.1809450665549708, 3: -41.50473441114321, 4: -4.434438319103725, 5: 4.260408188586133, 6: 43.75364022446172,
     7: 0.00787142548991231},
    {0: -1.2814059994414884, 3: -45.047139960139866, 4: -4.731362069449577, 5: 4.514967016593808, 6: 47.44909557172985,
     7: 0.010592282971116612, 8: -0.0057468422638446166},
    {0: -1.7244701342624853, 3: -60.92349008483054, 4: -5.951518376222393, 5: 5.556523730698456, 6: 63.98301198033305,
     7: 0.014642028250414961, 8: 0.06460408772358203, 9: -0.0793032316900888},
    {0: -3.301622667747079, 3: -118.01127235975251, 4: -10.141422388456112, 5: 9.139311332232058, 6: 123.37594282840426,
     7: 4.62324437887458, 8: -3.3832777380682018, 9: 4.527592100324618, 10: -5.828495485811623},
    {0: -3.039515033766309, 3: -109.26086808941763, 4: -9.290642497400293, 5: 8.43050498176491, 6: 114.20100103783314,
     7: -0.9637271342145479, 8: -5.0348840888021895, 9: 5.958130824002923},
)
"""For each of the stages 1 to 12, the weights of earlier stages, by number."""

_STEP = {0: 0.04427989419007951, 5: 0.3541049391724449, 6: 0.2479692154956438, 7: -15.694202038838084,
    8: 25.084064965558564, 9: -31.738367786260277, 10: 22.938283273988784, 11: -0.2361324633071542}
_ERROR = {0: -3.2721039010281375e-05, 5: -0.0005046250618777704, 6: 0.0001211723589784759, 7: -20.142336771313868,
    8: 5.2371785994398286, 9: -8.156744408794658, 10: 22.938283273988784, 11: -0.2361324633071542,
    12: 0.36016794372897754}
"""Weights of the step, and of its difference from the embedded method. Stage 13 is the end of the step."""

_DENSE_NODES = (0.3110177634953864, 0.1725, 0.7846)
_DENSE_STAGES = (
    {0: 0.04620700646754963, 5: 0.045039041608424805, 6: 0.23368166977134244, 7: 37.83901368421068,
     8: -15.949113289454246, 9: 23.028368351816102, 10: -44.85578507769412, 11: -0.06379858768647444,
     13: -0.012595035543861663},
    {0: 0.05037946855482041, 5: 0.041098361310460796, 6: 0.17180541533481958, 7: 4.614105319981519,
     8: -1.7916678830853965, 9: 2.531658930485041, 10: -5.324977860205731, 11: -0.03065532595385635,
     13: -0.005254479979429613, 14: -0.08399194644224793},
    {0: 0.0408289713299708, 5: 0.4244479514247632, 6: 0.23260915312752345, 7: 2.677982520711806, 8: 0.7420826657338945,
     9: 0.1460377847941461, 10: -3.579344509890565, 11: 0.11388443896001738, 13: 0.012677906510331901,
     14: -0.07443436349946675, 15: 0.047827480797578516},
)
"""For each of the stages 14 to 16, which only the dense output needs, the weights of earlier stages."""

_DENSE = (
    {0: -5.371390466146671, 5: 10.090994058372017, 6: 1.6048446515861623, 7: -980.2390692227265, 8: 1493.2944140306063,
     9: -1905.6669585622612, 10: 1427.80555087148, 11: -15.704810365687873, 13: -3.2967244317824647,
     14: -20.416280692948217, 15: 16.530071842642716, 16: -18.630641713134295},
    {0: 3.6538310433747028, 5: -10.78498481842795, 6: 32.252140967214956, 7: 4362.545584342862, 8: -6437.548040825131,
     9: 8263.596518734974, 10: -6340.562635665432, 11: 72.60770032694904, 13: 21.540753221872226,
     14: 25.945274477652656, 15: -53.14832071605428, 16: 59.902178910146596},
    {0: 10.701082645258875, 5: -60.085782826379294, 6: -40.21900265025318, 7: 2844.3021967416184, 8: -4521.083526598545,
     9: 5725.9566320449, 10: -4155.503747758391, 11: 43.12011855576114, 13: 9.510272525730656, 14: 86.74348738893455,
     15: -10.477678960238496, 16: 67.03594889160313},
    {0: -5.454547288952965, 5: 79.78911199784015, 6: -61.09670974442174, 7: -14951.543653440334, 8: 22324.571394333743,
     9: -28594.46085938938, 10: 21748.118154466232, 11: -245.43939702786273, 13: -65.44129872356201,
     14: -104.01296920606484, 15: 114.70018406406496, 16: -239.7294100413036},
)
"""Weights of the stages in the last four coefficients; the first three are those of Hermite's cubic polynomial."""
# fmt: on


def _row(weights: dict[int, float], size: int) -> Weights:
    return np.array([weights.get(i, 0.0) for i in range(size)])


_DENSE_ROWS: list[Row] = [
    (c, _row(weights, 14 + i)) for i, (c, weights) in enumerate(zip(_DENSE_NODES, _DENSE_STAGES, strict=True))
]
_DENSE_WEIGHTS = [_row(weights, 17) for weights in _DENSE]


class Verner8(AbstractUnrolled, diffrax.AbstractAdaptiveSolver):
    """Order 8(7), thirteen evaluations, dense output of order 7: for smooth motion at tight tolerances."""

    tableau: ClassVar[diffrax.ButcherTableau] = diffrax.ButcherTableau(
        a_lower=(*(_row(weights, i + 1) for i, weights in enumerate(_STAGES)), _row(_STEP, 13)),
        b_sol=_row(_STEP, 14),
        b_error=_row(_ERROR, 14),
        c=np.array([*_NODES, 1.0]),
    )
    convergence_order: ClassVar[int] = 8
    interpolation_cls: ClassVar[Callable[..., diffrax.AbstractLocalInterpolation]] = AlternatingInterpolation

    def dense_output(self, y0: State, y1: State, increments: Sequence[State], stages: Any) -> dict[str, Any]:
        """See `AbstractUnrolled.dense_output`."""
        del y0, y1
        *_, extended = stages(_DENSE_ROWS, increments)
        start, end, step = extended[0], extended[13], combine(self.tableau.b_sol, extended)
        second = jax.tree.map(jnp.subtract, start, step)
        third = jax.tree.map(lambda y, a, b: 2.0 * y - (a + b), step, start, end)
        return dict(coefficients=(step, second, third, *[combine(weights, extended) for weights in _DENSE_WEIGHTS]))
