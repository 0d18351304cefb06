"""Machine code of functions in LLVM's assembly language, on disk, and in memory for as long as the process runs.

One target machine makes object code, and one linker loads it (separate engines would each need their own target
machine, which they release). XLA never forgets a registered function, so none is ever released.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import llvmlite.binding as llvm

from jaxgait.native import disk

OPTIMISATION = 2

_loaded: dict[str, Any] = {}
_codes: dict[str, bytes] = {}
"""Their object code, should the folder for it change, or lose it."""
_lock = threading.Lock()


def address(name: str, text: str, *, optimised: bool = False, symbols: Mapping[str, int] = MappingProxyType({})) -> int:
    """The address of a function, compiled and loaded at most once.

    Args:
        name: of the function, another one for every text.
        text: a module in LLVM's assembly language that defines it. It may call functions of the C library.
        optimised: whether LLVM's passes go over it first: they pay where there are loops.
        symbols: addresses of other functions that it calls.
    """
    return linked(name, lambda: _object_code(text, optimised), symbols)


def linked(name: str, code: Callable[[], bytes], symbols: Mapping[str, int] = MappingProxyType({})) -> int:
    """The address of a function of which there is object code, loaded at most once."""
    with _lock:
        if name not in _loaded:
            _codes[name] = code()
            library = llvm.JITLibraryBuilder().add_object_img(_codes[name]).add_current_process()
            for symbol, where in symbols.items():
                library.import_symbol(symbol, where)
            _loaded[name] = library.export_symbol(name).link(_linker(), name)
        return _loaded[name][name]


def key(text: str, optimised: bool = False) -> str:
    """The name on disk of a module's object code."""
    return disk.key("loops" if optimised else "kernel", text)


def keep(name: str, key: str) -> None:
    """Ensures that the object code of a loaded function is on disk."""
    if disk.load(key) is None:
        disk.store(key, _codes[name])


def _object_code(text: str, optimised: bool = False) -> bytes:
    name = key(text, optimised)
    code = disk.load(name)
    if code is None:
        code = _compiled(text, optimised)
        disk.store(name, code)
    return code


def _compiled(text: str, optimised: bool) -> bytes:
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if optimised:
        optimise(machine, module)
    return machine.emit_object(module)


def optimise(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> None:
    """LLVM's own passes, without those that look for vectors: there are some already."""
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


@functools.cache
def _machine() -> llvm.TargetMachine:
    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=OPTIMISATION, jit=True
    )


@functools.cache
def _linker() -> llvm.LLJIT:
    _initialize()
    return llvm.create_lljit_compiler()


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
