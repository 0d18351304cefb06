"""The equations of motion as SymPy expressions and LaTeX, from the formulas that compute the numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgait.models.exoskeleton.elements import Planar, Spatial, left_hand_side, matrices_of
from jaxgait.models.exoskeleton.tree import Moments, children, weights

_MOTION = re.compile(r"(d*)(phi|psi|l)_(\d+)$")
_DOTS = ("{}", r"\dot{{{}}}", r"\ddot{{{}}}")
_GREEK = {"phi": r"\varphi", "psi": r"\psi", "l": "l"}


class Equations(NamedTuple):
    """Equations of motion, of all phi, then (in space) of all psi, then of all l."""

    left: tuple[Any, ...]
    """SymPy expressions in phi_1, dphi_1, ddphi_1, ..., zeta_i, eta_i, theta_i and g."""
    right: tuple[Any, ...]
    """Generalised forces in the moments M_i of the joints and the axial forces F_i."""

    def latex(self) -> str:
        """All equations as one LaTeX `aligned` block, terms in the paper's order."""
        import sympy as sp

        symbols = {s for x in (*self.left, *self.right) for s in x.free_symbols}
        names = {s: _latex_name(s.name) for s in symbols}
        left = [sp.latex(x, symbol_names=names, order="none") for x in self.left]
        right = [sp.latex(x, symbol_names=names) for x in self.right]
        rows = (f"{a} &= {b}" for a, b in zip(left, right, strict=True))
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def __str__(self) -> str:
        """One equation per line; d and dd before a coordinate are its first and second time derivative."""
        import sympy as sp

        left = (sp.sstr(x, order="none") for x in self.left)
        return "\n".join(f"{a} = {b}" for a, b in zip(left, self.right, strict=True))


def equations(parent: Sequence[int], sign: Sequence[int], dimension: int = 2) -> Equations:
    """The equations of motion of a tree of links.

    Args:
        parent: number of the parent of each link, 0 for the ground.
        sign: +1, or -1 for hanging links.
        dimension: 2 or 3.

    Raises:
        ValueError: for any other dimension.
    """
    import sympy as sp

    if dimension not in (2, 3):
        raise ValueError(f"the equations are written for dimension 2 or 3, got {dimension}")
    n, kind = len(parent), Planar if dimension == 2 else Spatial
    q, rate, acceleration = (kind(*(_symbols(order * "d" + c, n) for c in kind._fields)) for order in range(3))
    moments = Moments(*(_symbols(name, n) for name in ("theta", "eta", "zeta")))
    W, rho = weights(parent, sign, moments)
    cos, sin = (np.vectorize(f, otypes=[object]) for f in (sp.cos, sp.sin))
    left = left_hand_side(matrices_of(W, rho, q, cos, sin), rate, acceleration, sp.Symbol("g"))
    return Equations(tuple(_tidy(x) for row in left for x in row), tuple(_right(parent, kind)))


def _right(parent: Sequence[int], kind: type) -> list[Any]:
    """Moments of the joints (each acts back on the parent) and axial forces."""
    n, carries = len(parent), children(parent)
    names = ["M"] if kind is Planar else ["Mphi", "Mpsi"]
    moments = [_symbols(name, n) for name in names]
    return [x for m in moments for x in m - carries.astype(object) @ m] + list(_symbols("F", n))


def _tidy(expression: Any) -> Any:
    """One term for each product of accelerations, rates and g, in this order, its coefficient simplified."""
    import sympy as sp

    motion = [s for s in expression.free_symbols if s.name == "g" or s.name.startswith("d")]
    terms: dict[Any, Any] = {}
    for term in sp.Add.make_args(sp.expand(expression)):
        coefficient, moving = term.as_independent(*motion, as_Add=False)
        terms[moving] = terms.get(moving, 0) + coefficient
    ordered = sorted(terms, key=_order)
    return sp.Add(*(_coefficient(terms[key]) * key for key in ordered), evaluate=False)


def _coefficient(x: Any) -> Any:
    """A factorised coefficient, with cos^2 + sin^2 = 1 where that shortens it."""
    import sympy as sp

    squares = {s**2: 1 - sp.cos(s.args[0]) ** 2 for s in x.atoms(sp.sin)}
    shorter = sp.expand(x.subs(squares))
    return sp.factor_terms(min(x, shorter, key=lambda e: len(sp.Add.make_args(e))))


def _order(term: Any) -> tuple[int, str]:
    """Accelerations first, then squares of rates, products of rates, and gravity; then by coordinate."""
    import sympy as sp

    name = str(term)
    if name.startswith("dd"):
        return 0, {"p": "0", "l": "1"}[name[2]] + name  # angles before lengths
    if term == sp.Symbol("g"):
        return 3, name
    return (1 if term.is_Pow else 2), name


def _latex_name(name: str) -> str:
    """LaTeX of a symbol: dots for derivatives, the angle of a moment as its superscript."""
    moving = _MOTION.match(name)
    if moving:
        dots, letter, number = moving.groups()
        return _DOTS[len(dots)].format(_GREEK[letter]) + f"_{{{number}}}"
    letter, _, number = name.partition("_")
    if letter in ("Mphi", "Mpsi"):
        return f"M^{{{_GREEK[letter[1:]]}}}_{{{number}}}"
    greek = "\\" + letter if letter in ("theta", "eta", "zeta") else letter
    return f"{greek}_{{{number}}}" if number else greek


def _symbols(name: str, n: int) -> Any:
    import sympy as sp

    return np.array([sp.Symbol(f"{name}_{i + 1}", real=True) for i in range(n)], dtype=object)
