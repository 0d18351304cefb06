"""Measured motion: readers, strides, Fourier drives, the embedded reference gaits; errors and warnings."""

from __future__ import annotations


class MotionWarning(UserWarning):
    """Measured motion that is usable but unusual: pathological gait, or a mistake that looks like one."""


class NotAligned(MotionWarning):
    """A mechanism walks at no alignment with a measured motion; `parameter` names the one that was left unchanged."""

    def __init__(self, text: str, parameter: str):
        super().__init__(text)
        self.parameter = parameter

    def __reduce__(self):
        return type(self), (str(self), self.parameter)


class MotionFormatError(ValueError):
    """Measured motion that is unusable; its text is one line: where, what is wrong, and how to correct it.

    Its attributes are `what`, `advice` (may be empty), and `file`, `line` (counted from 1) and `column` (or signal),
    each of them None if unknown.
    """

    def __init__(
        self, what: str, advice: str = "", file: str | None = None, line: int | None = None, column: str | None = None
    ):
        super().__init__(what, advice, file, line, column)
        self.what, self.advice, self.file, self.line, self.column = what, advice, file, line, column

    def __str__(self) -> str:
        column = self.column if self.column is None or self.file is None else f"column {self.column}"
        where = ", ".join(part for part in (self.file, self.line and f"line {self.line}", column) if part)
        return (f"{where}: " if where else "") + self.what + (f"; {self.advice}" if self.advice else "")
