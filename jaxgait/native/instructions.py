"""Operations on vectors of members, in LLVM's assembly language.

Language reference: https://llvm.org/docs/LangRef.html
"""

from __future__ import annotations

import contextlib
import enum
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.lax import RoundingMethod


class Kind(enum.IntEnum):
    """How many numbers a value has."""

    UNIFORM = 0
    """One for all members."""
    LANE = 1
    """One per member."""
    EXTRA = 2
    """Several per member."""
    ALONG = 3
    """Several, the same for all members: never computed, only read for EXTRA values."""


class Operation(NamedTuple):
    """A JAX operation by name; values are numbered."""

    name: str
    inputs: tuple[int, ...]
    output: int
    params: Mapping[str, Any]


class Value(NamedTuple):
    """Kind and type of a value."""

    kind: Kind
    dtype: np.dtype


class Known(NamedTuple):
    """Kinds and types of numbered values, and constants."""

    values: Mapping[int, Value]
    constants: Mapping[int, float | int | bool]


TYPES = {"float64": "double", "float32": "float", "int64": "i64", "int32": "i32", "uint64": "i64", "uint32": "i32"}
TYPES["bool"] = "i1"

ALIASES = frozenset(["broadcast_in_dim", "copy", "expand_dims", "reshape", "slice", "squeeze", "stop_gradient"])
"""Operations that leave every number as it is."""

BINARY = {
    "add": {"f": "fadd", "i": "add", "u": "add", "b": "or"},
    "add_any": {"f": "fadd", "i": "add", "u": "add"},
    "and": {"i": "and", "u": "and", "b": "and"},
    "div": {"f": "fdiv"},
    "mul": {"f": "fmul", "i": "mul", "u": "mul", "b": "and"},
    "or": {"i": "or", "u": "or", "b": "or"},
    "sub": {"f": "fsub", "i": "sub", "u": "sub"},
    "xor": {"i": "xor", "u": "xor", "b": "xor"},
    **{"whole_quotient": {"i": "sdiv", "u": "udiv"}, "whole_remainder": {"i": "srem", "u": "urem"}},
}

SHIFTS = {"shift_left": "shl", "shift_right_arithmetic": "ashr", "shift_right_logical": "lshr"}

COMPARISONS = {
    "eq": {"f": "fcmp oeq", "i": "icmp eq", "u": "icmp eq", "b": "icmp eq"},
    "ge": {"f": "fcmp oge", "i": "icmp sge", "u": "icmp uge"},
    "gt": {"f": "fcmp ogt", "i": "icmp sgt", "u": "icmp ugt"},
    "le": {"f": "fcmp ole", "i": "icmp sle", "u": "icmp ule"},
    "lt": {"f": "fcmp olt", "i": "icmp slt", "u": "icmp ult"},
    "ne": {"f": "fcmp une", "i": "icmp ne", "u": "icmp ne", "b": "icmp ne"},
    "eq_to": {"i": "icmp eq", "u": "icmp eq"},
    "le_to": {"i": "icmp sle", "u": "icmp ule"},
    "lt_to": {"i": "icmp slt", "u": "icmp ult"},
}

INTRINSICS = {"abs": "fabs", "ceil": "ceil", "floor": "floor", "sqrt": "sqrt"}
"""Functions of real numbers that processors have."""

SELDOM = {f"far_{name}": name for name in ("cos", "sin", "tan")}
"""Functions of the C library that are called only if the second operand is true for some member, see
`functions.circular`."""
LIBRARY = {**SELDOM, "erf": "erf", "erfc": "erfc", "rem": "fmod"}
"""Functions of real numbers and their names in the C library, called number by number as XLA does it."""

REAL = frozenset(["clamp", "integer_pow", "is_finite", "max", "min", "round", "rsqrt", "sign", "square"])

OF_INTEGERS = frozenset(["clamp", "integer_pow", "max", "min", "square"])
"""Those that integers have, too."""

OTHERS = frozenset(["bitcast_convert_type", "convert_element_type", "neg", "not", "select_n"])

SUPPORTED = ALIASES | set(BINARY) | set(SHIFTS) | set(COMPARISONS) | set(INTRINSICS) | set(LIBRARY) | REAL | OTHERS
"""Names of the operations that a kernel may hold; see `supports` for their dtypes."""


@functools.cache
def named(dtype: Any) -> str:
    """The name of a type, cached because NumPy is slow to spell it."""
    return str(dtype)


@functools.cache
def supports(name: str, dtypes: tuple[np.dtype, ...]) -> bool:
    """Whether an operation can be part of a kernel, with operands and result of these dtypes."""
    if name not in SUPPORTED or any(named(d) not in TYPES for d in dtypes):
        return False
    kinds = "".join(d.kind for d in dtypes)
    if name in BINARY or name in COMPARISONS:
        return kinds[0] in {**BINARY, **COMPARISONS}[name]
    if name in SHIFTS:
        return kinds[0] in "iu"
    if name in SELDOM:
        return kinds == "fbf"
    if name in INTRINSICS or name in REAL or name in LIBRARY:
        return set(kinds[:-1]) == {"f"} or (name in OF_INTEGERS and kinds[0] in "iu")
    allowed = {
        "neg": kinds[0] in "fiu",
        "not": kinds[0] in "iub",
        "select_n": len(kinds) == 4 and kinds[0] == "b",
        "bitcast_convert_type": "b" not in kinds and len({d.itemsize for d in dtypes}) == 1,
        "convert_element_type": kinds not in ("fu", "uf"),
    }
    return allowed.get(name, True)


def scalar(x: float | int | bool, dtype: np.dtype) -> str:
    """A number as LLVM spells it in memory, where truth values are 0 and 1."""
    if dtype.kind != "f":
        return str(int(x))
    rounded = np.float64(np.float32(x)) if dtype.itemsize == 4 else np.float64(x)
    return f"0x{rounded.view(np.uint64):016X}"


class Writer:
    """Collects instructions, and declarations of the functions that they call."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.block = "run"
        self._count = itertools.count()

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begins a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def emit(self, text: str) -> str:
        """An instruction with a result, whose name is returned."""
        name = f"%v{next(self._count)}"
        self.line(f"{name} = {text}")
        return name

    def call(self, function: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """A call; arguments are pairs of type and value."""
        self.declared.add(f"declare {result} @{function}({', '.join(t for t, _ in arguments)})")
        return self.emit(f"call {result} @{function}({', '.join(f'{t} {x}' for t, x in arguments)})")

    @contextlib.contextmanager
    def counted(self, loop: str, end: int, step: int = 1) -> Iterator[str]:
        """A loop around the instructions of the context, which gets its index: 0, step, 2 step, ..., below `end`."""
        i, before, start = f"%i.{loop}", self.block, len(self.lines) + 2
        self.line(f"br label %{loop}")
        self.label(loop)
        self.lines.append("")  # the number, whose last block is known at the end
        yield i
        self.lines[start] = f"  {i} = phi i64 [ 0, %{before} ], [ {i}.next, %{self.block} ]"
        self.line(f"{i}.next = add i64 {i}, {step}")
        self.line(f"{i}.more = icmp slt i64 {i}.next, {end}")
        self.line(f"br i1 {i}.more, label %{loop}, label %{loop}.over")
        self.label(f"{loop}.over")

    def vector_begin(self, number: str, members: int, width: int) -> str:
        """The first member of a vector. The last vector overlaps the one before it, and computes the same again."""
        return self.call("llvm.smin.i64", "i64", [("i64", number), ("i64", str(members - width))])

    def returned(self) -> str:
        """Ends the function without an error; returns its text and the declarations."""
        self.line("ret ptr null")
        return "\n".join([*self.lines, "}", *sorted(self.declared), ""])


class Scope:
    """Code at one level of the loops, in vectors of one width; values of outer levels are looked up there."""

    def __init__(self, writer: Writer, known: Known, width: int, around: Scope | None, contract: bool = True):
        self.w, self.known, self.width, self.around = writer, known, width, around
        self._free = " contract" if contract else ""
        """Flag by which LLVM may fuse a product and a sum."""
        self.names: dict[int, str] = {}

    def type(self, dtype: np.dtype | type) -> str:
        """Type of a value."""
        return self.vector(TYPES[named(np.dtype(dtype))])

    def vector(self, scalar: str) -> str:
        """Type of a vector with one number per member."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def constant(self, x: float | int | bool, dtype: np.dtype) -> str:
        """The same number for all members."""
        literal = str(bool(x)).lower() if dtype.kind == "b" else scalar(x, dtype)
        return literal if self.width == 1 else f"<{', '.join([f'{TYPES[named(dtype)]} {literal}'] * self.width)}>"

    def get(self, v: int) -> str:
        """Name of a value, at whatever level it was computed."""
        if v not in self.names:
            dtype = self.known.values[v].dtype
            if v in self.known.constants:
                return self.constant(self.known.constants[v], dtype)
            assert self.around is not None
            found = self.around.get(v)
            self.names[v] = found if self.around.width == self.width else self.spread(found, dtype)
        return self.names[v]

    def spread(self, x: str, dtype: np.dtype) -> str:
        """One number, broadcast to all members."""
        if self.width == 1:
            return x
        vector = self.type(dtype)
        first = self.w.emit(f"insertelement {vector} poison, {TYPES[named(dtype)]} {x}, i64 0")
        return self.w.emit(f"shufflevector {vector} {first}, {vector} poison, <{self.width} x i32> zeroinitializer")

    def each(self, function: Callable[[list[str]], str], scalars: Sequence[tuple[str, str]], result: str) -> str:
        """A function of single numbers applied member by member; `scalars` are types and values."""
        if self.width == 1:
            return function([x for _, x in scalars])
        whole = "poison"
        for i in range(self.width):
            ones = [self.w.emit(f"extractelement {self.vector(t)} {x}, i64 {i}") for t, x in scalars]
            whole = self.w.emit(f"insertelement {self.vector(result)} {whole}, {result} {function(ones)}, i64 {i}")
        return whole

    def compute(self, op: Operation) -> None:
        """Computes a value."""
        of = [self.known.values[v].dtype for v in op.inputs]
        to = self.known.values[op.output].dtype
        self.names[op.output] = self._instruction(op, [self.get(v) for v in op.inputs], of, to)

    def _instruction(self, op: Operation, x: list[str], of: list[np.dtype], to: np.dtype) -> str:
        name, dtype, vector = op.name, of[0], self.type(of[0])
        if name in BINARY:
            free = self._free if dtype.kind == "f" else ""
            return self.w.emit(f"{BINARY[name][dtype.kind]}{free} {vector} {x[0]}, {x[1]}")
        if name in COMPARISONS:
            return self.w.emit(f"{COMPARISONS[name][dtype.kind]} {vector} {x[0]}, {x[1]}")
        if name in SHIFTS:
            return self._shift(name, dtype, *x)
        if name in INTRINSICS:
            return self._intrinsic(INTRINSICS[name], dtype, x[0])
        if name in LIBRARY:
            return self._library(name, dtype, x)
        special: dict[str, Callable[[], str]] = {
            "bitcast_convert_type": lambda: self.w.emit(f"bitcast {vector} {x[0]} to {self.type(to)}"),
            "clamp": lambda: self._extreme("min", dtype, self._extreme("max", dtype, x[0], x[1]), x[2]),
            "convert_element_type": lambda: self._converted(x[0], dtype, to),
            "integer_pow": lambda: self._power(x[0], op.params["y"], dtype),
            "is_finite": lambda: self._is_finite(x[0], dtype),
            "max": lambda: self._extreme("max", dtype, *x),
            "min": lambda: self._extreme("min", dtype, *x),
            "multiply_add": lambda: self._multiply_add(x, op.params, dtype),
            "neg": lambda: self._negative(x[0], dtype),
            "not": lambda: self.w.emit(f"xor {vector} {x[0]}, {self.constant(dtype.kind == 'b' or -1, dtype)}"),
            "round": lambda: self._round(x[0], op.params["rounding_method"], dtype),
            "rsqrt": lambda: self._reciprocal(self._intrinsic("sqrt", dtype, x[0]), dtype),
            "select_n": lambda: self._select(x[0], of[1], x[2], x[1]),
            "sign": lambda: self._sign(x[0], dtype),
            "square": lambda: self._power(x[0], 2, dtype),
        }
        return x[0] if name in ALIASES else special[name]()

    def _select(self, condition: str, dtype: np.dtype, yes: str, no: str) -> str:
        vector = self.type(dtype)
        return self.w.emit(f"select {self.type(bool)} {condition}, {vector} {yes}, {vector} {no}")

    def _intrinsic(self, name: str, dtype: np.dtype, *x: str) -> str:
        suffix = f"f{8 * dtype.itemsize}" if self.width == 1 else f"v{self.width}f{8 * dtype.itemsize}"
        vector = self.type(dtype)
        return self.w.call(f"llvm.{name}.{suffix}", vector, [(vector, a) for a in x])

    def _library(self, name: str, dtype: np.dtype, x: list[str]) -> str:
        def function(numbers: list[str]) -> str:
            if dtype.itemsize == 4:
                numbers = [self.w.emit(f"fpext float {n} to double") for n in numbers]
            found = self.w.call(LIBRARY[name], "double", [("double", n) for n in numbers])
            return found if dtype.itemsize == 8 else self.w.emit(f"fptrunc double {found} to float")

        scalar = TYPES[named(dtype)]
        if name in SELDOM:
            return self._if_any(x[1], dtype, lambda: self.each(function, [(scalar, x[0])], scalar))
        return self.each(function, [(scalar, a) for a in x], scalar)

    def _if_any(self, condition: str, dtype: np.dtype, compute: Callable[[], str]) -> str:
        """The result of `compute`, executed only if a condition holds for some member; zeros otherwise."""
        vector, zero, bits = self.type(dtype), self.constant(0, dtype), f"i{self.width}"
        flags = self.w.emit(f"bitcast {self.type(bool)} {condition} to {bits}")
        some = self.w.emit(f"icmp ne {bits} {flags}, 0")
        self.w.declared.add('!0 = !{!"branch_weights", i32 1, i32 1000000}')
        before, then, after = self.w.block, f"some.{some[1:]}", f"none.{some[1:]}"
        self.w.line(f"br i1 {some}, label %{then}, label %{after}, !prof !0")
        self.w.label(then)
        found, last = compute(), self.w.block
        self.w.line(f"br label %{after}")
        self.w.label(after)
        return self.w.emit(f"phi {vector} [ {zero}, %{before} ], [ {found}, %{last} ]")

    def _extreme(self, name: str, dtype: np.dtype, a: str, b: str) -> str:
        """The larger or smaller number; NaN if either is, and 0 is larger than -0."""
        vector = self.type(dtype)
        if dtype.kind != "f":
            order = COMPARISONS["gt" if name == "max" else "lt"][dtype.kind]
            return self._select(self.w.emit(f"{order} {vector} {a}, {b}"), dtype, a, b)
        return self._intrinsic(f"{name}imum", dtype, a, b)

    def _shift(self, name: str, dtype: np.dtype, x: str, by: str) -> str:
        """Shifts by the width or more (as unsigned numbers) give zeros, or copies of the sign."""
        vector, bits = self.type(dtype), 8 * dtype.itemsize
        within = self.w.emit(f"icmp ult {vector} {by}, {self.constant(bits, dtype)}")
        far = self.constant(bits - 1 if name == "shift_right_arithmetic" else 0, dtype)
        shifted = self.w.emit(f"{SHIFTS[name]} {vector} {x}, {self._select(within, dtype, by, far)}")
        if name == "shift_right_arithmetic":
            return shifted
        return self._select(within, dtype, shifted, self.constant(0, dtype))

    def _negative(self, x: str, dtype: np.dtype) -> str:
        vector = self.type(dtype)
        return self.w.emit(
            f"fneg {vector} {x}" if dtype.kind == "f" else f"sub {vector} {self.constant(0, dtype)}, {x}"
        )

    def _multiply_add(self, x: list[str], negative: Mapping[str, Any], dtype: np.dtype) -> str:
        a, c = (
            self._negative(y, dtype) if negative[which] else y for y, which in ((x[0], "product"), (x[2], "addend"))
        )
        return self._intrinsic("fmuladd", dtype, a, x[1], c)

    def _reciprocal(self, x: str, dtype: np.dtype) -> str:
        return self.w.emit(f"fdiv {self.type(dtype)} {self.constant(1, dtype)}, {x}")

    def _round(self, x: str, method: Any, dtype: np.dtype) -> str:
        return self._intrinsic("roundeven" if method == RoundingMethod.TO_NEAREST_EVEN else "round", dtype, x)

    def _is_finite(self, x: str, dtype: np.dtype) -> str:
        size = self._intrinsic("fabs", dtype, x)
        return self.w.emit(f"fcmp olt {self.type(dtype)} {size}, {self.constant(math.inf, dtype)}")

    def _sign(self, x: str, dtype: np.dtype) -> str:
        itself = self.w.emit(f"fcmp ueq {self.type(dtype)} {x}, {self.constant(0, dtype)}")  # zeros and NaN
        return self._select(itself, dtype, x, self._intrinsic("copysign", dtype, self.constant(1, dtype), x))

    def _power(self, x: str, n: int, dtype: np.dtype) -> str:
        times = f"fmul{self._free}" if dtype.kind == "f" else "mul"
        vector, result, base = self.type(dtype), "", x
        for bit in reversed(f"{abs(n):b}"):
            if bit == "1":
                result = self.w.emit(f"{times} {vector} {result}, {base}") if result else base
            base = self.w.emit(f"{times} {vector} {base}, {base}")  # (the last one is dropped as unused)
        result = result or self.constant(1, dtype)
        return self._reciprocal(result, dtype) if n < 0 else result

    def _converted(self, x: str, of: np.dtype, to: np.dtype) -> str:
        a, b, kinds = self.type(of), self.type(to), of.kind + to.kind
        if a == b:
            return x
        if to.kind == "b":
            return self.w.emit(f"{COMPARISONS['ne'][of.kind]} {a} {x}, {self.constant(0, of)}")
        if kinds == "fi":
            lanes = "" if self.width == 1 else f"v{self.width}"
            suffix = f"{lanes}i{8 * to.itemsize}.{lanes}f{8 * of.itemsize}"
            return self.w.call(f"llvm.fptosi.sat.{suffix}", b, [(a, x)])
        wider = to.itemsize > of.itemsize
        if kinds == "ff":
            how = "fpext" if wider else "fptrunc"
        elif to.kind == "f":
            how = "uitofp" if of.kind == "b" else "sitofp"
        else:
            how = "zext" if of.kind == "b" or (wider and of.kind == "u") else "sext" if wider else "trunc"
        return self.w.emit(f"{how} {a} {x} to {b}")


class Cells:
    """Loads and stores of a scope."""

    def __init__(self, scope: Scope, stride: int = 1):
        self.scope, self.w, self.stride = scope, scope.w, stride

    @staticmethod
    def cell(dtype: np.dtype) -> str:
        """Type of a number in memory."""
        return "i8" if dtype.kind == "b" else TYPES[named(dtype)]

    def at(self, pointer: str, dtype: np.dtype, index: str | int) -> str:
        """The address of a number."""
        return self.w.emit(f"getelementptr {self.cell(dtype)}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, dtype: np.dtype, index: str | int) -> str:
        """The numbers of all members, `stride` apart."""
        start = self.at(pointer, dtype, index)
        if self.stride != 1:
            return self.gather((self.at(start, dtype, i * self.stride) for i in range(self.scope.width)), dtype)
        x = self.w.emit(f"load {self.scope.vector(self.cell(dtype))}, ptr {start}, align {dtype.itemsize}")
        return self._value(x, dtype)

    def gather(self, addresses: Iterable[str], dtype: np.dtype) -> str:
        """The numbers of all members, from an address each."""
        cell, x = self.cell(dtype), "poison"
        for i, where in enumerate(addresses):
            one = self.w.emit(f"load {cell}, ptr {where}, align {dtype.itemsize}")
            x = (
                one
                if self.scope.width == 1
                else self.w.emit(f"insertelement {self.scope.vector(cell)} {x}, {cell} {one}, i64 {i}")
            )
        return self._value(x, dtype)

    def _value(self, x: str, dtype: np.dtype) -> str:
        """Numbers as they are loaded; bytes become true or false."""
        if dtype.kind != "b":
            return x
        zero = "0" if self.scope.width == 1 else "zeroinitializer"
        return self.w.emit(f"icmp ne {self.scope.vector('i8')} {x}, {zero}")

    def single(self, pointer: str, dtype: np.dtype, index: str) -> str:
        """One number."""
        x = self.w.emit(f"load {self.cell(dtype)}, ptr {self.at(pointer, dtype, index)}, align {dtype.itemsize}")
        return self.w.emit(f"icmp ne i8 {x}, 0") if dtype.kind == "b" else x

    def store(self, x: str, pointer: str, dtype: np.dtype, index: str | int) -> None:
        """Stores the numbers of all members, `stride` apart."""
        cell, start = self.cell(dtype), self.at(pointer, dtype, index)
        vector = self.scope.vector(cell)
        if dtype.kind == "b":
            x = self.w.emit(f"zext {self.scope.type(dtype)} {x} to {vector}")
        if self.stride == 1 or self.scope.width == 1:
            self.w.line(f"store {vector} {x}, ptr {start}, align {dtype.itemsize}")
            return
        for i in range(self.scope.width):
            one = self.w.emit(f"extractelement {vector} {x}, i64 {i}")
            where = self.at(start, dtype, i * self.stride)
            self.w.line(f"store {cell} {one}, ptr {where}, align {dtype.itemsize}")
