"""Derivatives along several directions, with the factors that all directions share multiplied only once.

A tangent is a sum of products of other tangents and shared factors. A tangent with few uses is eliminated: its terms
are substituted into its users, with products of factors that are computed once. The order is greedy, by the operations
saved (Griewank and Walther, Evaluating Derivatives, 2nd ed., 2008, chapters 9 and 10: vertex elimination). If there are
more directions than initial tangents of a block, everything is computed for the initial tangents and combined for the
directions: the complete Jacobian.

Sums of products are reordered, so that derivatives change in their last digits; and a factor that is zero for all
finite values counts as zero, as in JAX where JAX detects it.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxgait.native.code import Code, Loop, PartLoop, Statement, Write, everything, used
from jaxgait.native.instructions import Operation

SUMS = {"add": 1, "add_any": 1, "sub": -1}
"""Sums, and the signs of their second operands."""


class Factor(NamedTuple):
    """Multiplier of a tangent: a sign times a value (None: one)."""

    sign: int
    value: int | None


ONE = Factor(1, None)
Terms = dict[int, Factor]
"""A tangent as a sum of other tangents times factors."""


def accumulated(code: Code) -> bool:
    """Rewrites loops over directions if everything in them is linear in the directions; returns whether it is."""
    zeros = zero(code)
    loops = [s for s in everything(code.statements) if isinstance(s, PartLoop)]
    if not all(_is_linear(code, s, zeros) for s in loops) or not any(_has_factors(code, s) for s in loops):
        return False
    code.statements = list(_block(code, code.statements, zeros))
    return True


def zero(code: Code) -> set[int]:
    """Values that are zero if all others are finite."""
    found = {v for v, x in code.constants.items() if code.dtypes[v].kind == "f" and x == 0}
    for s in everything(code.statements):
        if isinstance(s, Operation) and code.dtypes[s.output].kind == "f" and _vanishes(s, found):
            found.add(s.output)
    return found


def _vanishes(s: Operation, zeros: set[int]) -> bool:
    hits = [v in zeros for v in s.inputs]
    if s.name == "mul":
        return any(hits)
    if s.name == "select_n":
        return all(hits[1:])
    return (s.name in (*SUMS, "neg") and all(hits)) or (s.name == "div" and hits[0])


def _tangents(code: Code, loop: PartLoop) -> list[int]:
    """Inputs of the loop's body that are real; the others are positions to write to."""
    return [inner for inner, _ in loop.inputs if code.dtypes[inner].kind == "f"]


def _is_linear(code: Code, loop: PartLoop, zeros: set[int]) -> bool:
    tangents = set(_tangents(code, loop))
    positions = {inner for inner, _ in loop.inputs} - tangents
    dtypes = {code.dtypes[v] for v in (*tangents, *(s.output for s in loop.body if isinstance(s, Operation)))}
    if len(dtypes) != 1 or dtypes.pop().kind != "f":
        return False
    for s in loop.body:
        hits = [v in tangents for v in used(s)]
        if isinstance(s, Operation):
            if not keeps_linear(s, hits, zeros) or not positions.isdisjoint(s.inputs):
                return False
            tangents.add(s.output)
        elif not isinstance(s, Write) or hits[0] or any(hits[2:]):  # (position, condition: no tangents)
            return False
    return True


def _has_factors(code: Code, loop: PartLoop) -> bool:
    """Whether tangents are multiplied by anything but constants."""
    made = {*code.constants, *(inner for inner, _ in loop.inputs)}
    made.update(s.output for s in loop.body if isinstance(s, Operation))
    return any(
        s.name in ("mul", "div") and not made.issuperset(s.inputs) for s in loop.body if isinstance(s, Operation)
    )


def keeps_linear(s: Operation, hits: Sequence[bool], zeros: set[int]) -> bool:
    """Whether an operation is linear in the operands marked by `hits`."""
    either = all(hit or v in zeros for hit, v in zip(hits, s.inputs, strict=True))
    if s.name in SUMS:
        return either
    if s.name == "select_n":
        return not hits[0] and all(hit or v in zeros for hit, v in zip(hits[1:], s.inputs[1:], strict=True))
    return (s.name == "mul" and sum(hits) == 1) or (s.name == "div" and not hits[1]) or s.name == "neg"


def _block(code: Code, statements: Sequence[Statement], zeros: set[int]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in statements:
        if isinstance(s, Loop):
            inner = {"condition": _block(code, s.condition, zeros), "body": _block(code, s.body, zeros)}
            found.append(s._replace(**inner))
        elif isinstance(s, PartLoop):
            found += _Accumulating(code, s, zeros, found).rewritten()
        else:
            found.append(s)
    return tuple(found)


class _Factors:
    """Products and sums of factors, each computed once."""

    def __init__(self, code: Code, dtype: np.dtype, before: Iterable[Statement]) -> None:
        self._code, self._dtype = code, dtype
        self.statements: list[Statement] = []
        made = [s for s in before if isinstance(s, Operation) and s.name in FOLDED]
        self._known = {(s.name, _ordered(s.name, *s.inputs)): s.output for s in made}
        self._numbers: dict[bytes, int] = {}

    def product(self, a: Factor, b: Factor) -> Factor:
        sign = a.sign * b.sign
        if a.value is None or b.value is None:
            return Factor(sign, b.value if a.value is None else a.value)
        return self.signed(sign, self._made("mul", a.value, b.value))

    def sum(self, a: Factor, b: Factor) -> Factor:
        x, y = (self.number(1.0) if f.value is None else f.value for f in (a, b))
        if a.sign == b.sign:
            return self.signed(a.sign, self._made("add", x, y))
        return self.signed(1, self._made("sub", *((x, y) if a.sign > 0 else (y, x))))

    def reciprocal(self, v: int) -> Factor:
        return self.signed(1, self._made("div", self.number(1.0), v))

    def signed(self, sign: int, v: int) -> Factor:
        """A value as a factor; plus and minus one need no value."""
        known = self._code.constants.get(v)
        return Factor(sign * int(known), None) if known in (1, -1) else Factor(sign, v)

    def value(self, factor: Factor) -> int:
        if factor.value is None:
            return self.number(factor.sign)
        if factor.sign > 0:
            return factor.value
        return self._made("sub", self.number(-0.0), factor.value)

    def chosen(self, choice: Operation, values: Sequence[int]) -> Factor:
        v = self._new()
        self.statements.append(choice._replace(inputs=(choice.inputs[0], *values), output=v))
        return Factor(1, v)

    def number(self, x: float) -> int:
        key = np.asarray(x, self._dtype).tobytes()
        if key not in self._numbers:
            self._numbers[key] = self._new()
            self._code.constants[self._numbers[key]] = float(x)
        return self._numbers[key]

    def free(self, a: Factor, b: Factor) -> bool:
        """Whether the product costs nothing at run time."""
        return None in (a.value, b.value) or {a.value, b.value} <= self._code.constants.keys()

    def _made(self, name: str, x: int, y: int) -> int:
        a, b = (self._code.constants.get(v) for v in (x, y))
        if a is not None and b is not None:
            with np.errstate(all="ignore"):
                return self.number(FOLDED[name](self._dtype.type(a), self._dtype.type(b)))
        inputs = _ordered(name, x, y)
        if (name, inputs) not in self._known:
            self._known[name, inputs] = self._new()
            self.statements.append(Operation(name, inputs, self._known[name, inputs], {}))
        return self._known[name, inputs]

    def _new(self) -> int:
        self._code.dtypes.append(self._dtype)
        return len(self._code.dtypes) - 1


class _Accumulating:
    """Rewrites a loop over directions; `before` are the statements before it."""

    def __init__(self, code: Code, loop: PartLoop, zeros: set[int], before: Iterable[Statement]) -> None:
        self._code, self._loop, self._zeros = code, loop, zeros
        self._initial = _tangents(code, loop)
        self._factors = _Factors(code, code.dtypes[self._initial[0]], before)
        self._terms: dict[int, Terms] = {}
        self._users: defaultdict[int, set[int]] = defaultdict(set)
        self._tangents = set(self._initial)
        self._kept = {*self._tangents, *(inner for inner, _ in loop.outputs)}
        self._body = [self._enter(s) for s in loop.body]

    def rewritten(self) -> list[Statement]:
        inputs, parts = len(self._initial), self._loop.parts
        whole = 2 * parts > inputs and not any(isinstance(s, Write) for s in self._body)
        self._eliminate(inputs if whole else parts)
        if whole and self._is_worth_a_matrix():
            self._multiply_out()
        body = [x for s in self._body for x in (self._written(s) if isinstance(s, int) else [s])]
        return [*self._factors.statements, self._loop._replace(body=tuple(body))]

    def _enter(self, s: Statement) -> Statement | int:
        """Records the terms of a linear statement and returns its value; returns any other statement itself."""
        if isinstance(s, Operation):
            self._tangents.add(s.output)
            if (terms := self._sum_of(s)) is not None:
                self._terms[s.output] = {}
                for v, factor in terms:
                    self._add(self._terms[s.output], v, factor)
                    self._users[v].add(s.output)
                return s.output
            zero = self._factors.number(0.0)
            s = s._replace(inputs=(s.inputs[0], *(zero if v in self._zeros else v for v in s.inputs[1:])))
            self._kept.add(s.output)
        self._kept.update(self._tangents.intersection(used(s)))
        return s

    def _sum_of(self, s: Operation) -> list[tuple[int, Factor]] | None:
        """The terms of a linear operation; None for a choice."""
        if s.name in SUMS:
            signs = zip(s.inputs, (1, SUMS[s.name]), strict=True)
            return [(v, Factor(sign, None)) for v, sign in signs if v not in self._zeros]
        if s.name == "neg":
            return [(s.inputs[0], Factor(-1, None))]
        if s.name == "div":
            return [(s.inputs[0], self._factors.reciprocal(s.inputs[1]))]
        if s.name == "mul":
            v, factor = s.inputs if s.inputs[0] in self._tangents else s.inputs[::-1]
            return [] if factor in self._zeros else [(v, self._factors.signed(1, factor))]
        return None

    def _add(self, terms: Terms, v: int, factor: Factor) -> None:
        terms[v] = self._factors.sum(terms[v], factor) if v in terms else factor

    # --- elimination --------------------------------------------------------------------------------------------------

    def _eliminate(self, directions: int) -> None:
        latest: dict[int, int] = {}
        heap: list[tuple[int, int, int]] = []

        def offer(vs: Iterable[int]) -> None:
            for v in vs:
                if v in self._terms and v not in self._kept and (gain := self._gain(v, directions)) >= 0:
                    latest[v] = latest.get(v, 0) + 1
                    heapq.heappush(heap, (-gain, -v, latest[v]))
                else:
                    latest[v] = latest.get(v, 0) + 1

        offer(list(self._terms))
        while heap:
            _, v, turn = heapq.heappop(heap)
            if latest[-v] == turn:
                offer(self._substitute(-v))

    def _gain(self, v: int, directions: int) -> int:
        """Operations saved by eliminating a tangent."""
        terms = self._terms[v]
        saved, spent = _cost(terms), 0
        for user in self._users[v]:
            theirs = self._terms[user]
            factor = theirs[v]
            plain = sum(f.value is None for f in theirs.values()) - (factor.value is None)
            others = len(theirs) - 1 - (plain)
            for u, mine in terms.items():
                free = self._factors.free(factor, mine)
                spent += not free
                if u in theirs:
                    spent += free
                    if theirs[u].value is None:
                        plain, others = plain - 1, others + 1
                elif factor.value is None and mine.value is None:
                    plain += 1
                else:
                    others += 1
            saved += _cost(theirs) - others - max(0, plain - 1)
        return directions * saved - spent

    def _substitute(self, v: int) -> set[int]:
        """Substitutes a tangent into its users; returns the tangents whose gain changes."""
        terms, users = self._terms.pop(v), self._users.pop(v, set())
        touched = {*terms, *users}
        for u in terms:
            self._users[u].discard(v)
        for user in users:
            theirs = self._terms[user]
            factor = theirs.pop(v)
            for u, mine in terms.items():
                self._add(theirs, u, self._factors.product(factor, mine))
                self._users[u].add(user)
            touched.update(theirs)
        touched.update(*(self._users[u] for u in terms))
        return touched

    # --- the whole matrix ---------------------------------------------------------------------------------------------

    def _is_worth_a_matrix(self) -> bool:
        """Whether the complete Jacobian takes fewer operations than going through all tangents for every direction."""
        of: dict[int, set[int]] = {inner: {inner} for inner in self._initial}
        spent = once = 0
        for s in self._body:
            if isinstance(s, Operation):
                of[s.output] = set().union(*(of[v] for v in s.inputs if v in of))
                spent, once = spent + len(of[s.output]), once + 1
            elif isinstance(s, int) and s in self._terms:
                of[s] = set().union(*(of[v] for v in self._terms[s]))
                spent, once = spent + sum(len(of[v]) for v in self._terms[s]), once + _cost(self._terms[s])
        return (
            spent + self._loop.parts * sum(len(of[inner]) for inner, _ in self._loop.outputs) < self._loop.parts * once
        )

    def _multiply_out(self) -> None:
        found: dict[int, Terms] = {inner: {inner: ONE} for inner in self._initial}
        for s in self._body:
            if isinstance(s, Operation):
                found[s.output] = self._chosen(s, found)
            elif isinstance(s, int) and s in self._terms:
                found[s] = {}
                for v, factor in self._terms[s].items():
                    for u, mine in found[v].items():
                        self._add(found[s], u, self._factors.product(factor, mine))
        self._terms = {inner: found[inner] for inner, _ in self._loop.outputs}
        self._body = list(self._terms)

    def _chosen(self, s: Operation, found: dict[int, Terms]) -> Terms:
        """A choice between tangents, term by term."""
        among = [found.get(v, {}) for v in s.inputs[1:]]
        made: Terms = {}
        for v in dict.fromkeys(v for terms in among for v in terms):
            values = [self._factors.value(terms[v]) if v in terms else self._factors.number(0.0) for terms in among]
            made[v] = self._factors.chosen(s, values)
        return made

    # --- statements ---------------------------------------------------------------------------------------------------

    def _written(self, v: int) -> list[Statement]:
        if v not in self._terms:
            return []
        found: list[Statement] = []
        terms = sorted(self._terms[v].items(), key=lambda term: (term[1].sign < 0, term[1].value is not None))
        total, turned = self._factors.number(0.0), False
        for i, (u, factor) in enumerate(terms):
            x = u if factor.value is None else self._make(found, "mul", u, factor.value)
            if i == 0:
                total, turned = x, factor.sign < 0
            else:
                total = self._make(found, "sub" if (factor.sign < 0) != turned else "add", total, x)
        if turned:
            return [*found, Operation("neg", (total,), v, {})]
        if found:
            return [*found[:-1], found[-1]._replace(output=v)]
        return [Operation("copy", (total,), v, {})]

    def _make(self, found: list[Statement], name: str, x: int, y: int) -> int:
        self._code.dtypes.append(self._code.dtypes[x])
        found.append(Operation(name, (x, y), len(self._code.dtypes) - 1, {}))
        return len(self._code.dtypes) - 1


def _ordered(name: str, x: int, y: int) -> tuple[int, int]:
    """Operands in a canonical order if the operation commutes."""
    return (y, x) if name in ("add", "mul") and y < x else (x, y)


FOLDED = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def _cost(terms: Terms) -> int:
    """Operations that a sum takes; a fused product and sum count as one."""
    plain = sum(f.value is None for f in terms.values())
    return len(terms) - plain + max(0, plain - 1)
