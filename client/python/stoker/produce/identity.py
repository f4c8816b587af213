# SPDX-License-Identifier: MIT
"""The identity of a user's code: a digest of what an object does and holds.

It is equal in all ranks, in a restarted script, under any PYTHONHASHSEED and in a notebook's cell
that is run again: file names, line numbers, comments, addresses and the order of sets are no part
of it. What it covers: the object's state; the code of its class, of the functions that it holds and
of the globals that these name. Of a library (what is installed, and Python's own) the names and the
version stand for the code. A generator of random numbers counts by its type: it is seeded before
each call.

Runs none of the user's code but ``__getstate__`` and ``__reduce_ex__``. Any thread.
"""
from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import importlib.metadata
import os
import random
import site
import sys
import sysconfig
import types
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

import numpy as np

from . import contents

_BYTES = 16
# What the compiler and the interpreter write into a class, and what says nothing of what it does.
_OF_NO_EFFECT = {"__module__", "__dict__", "__weakref__", "__doc__", "__annotations__",
                 "__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__",
                 "__annotations_cache__", "__qualname__", "__slotnames__",
                 "__abstractmethods__", "_abc_impl"}
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)


class CannotTell(Exception):
    """The object holds something that has no identity. ``where``: its name, from the object on."""

    def __init__(self, where: str, what: object) -> None:
        super().__init__(f"{where or 'the object'} is a {type(what).__qualname__}, of which it "
                         "cannot be told whether it is the same in another process")
        self.where = where


def identity_of(thing: object) -> str:
    """32 hexadecimal digits. Raises CannotTell."""
    return identity_and_codes(thing)[0]


def identity_and_codes(thing: object) -> Tuple[str, Dict[str, bytes]]:
    """... and a digest of each function, by its name, that is the same as long as its text is."""
    walk = _Walk()
    return walk.digest(thing, "").hex(), walk.codes


def is_library(module: Optional[str]) -> bool:
    """Is a module of this name installed, or Python's own?"""
    if module in (None, "__main__", "__mp_main__"):
        return False
    found = sys.modules.get(str(module))
    path = getattr(found, "__file__", None)
    if path is None:  # built in, frozen, a namespace; or made by hand, like a notebook's
        spec = getattr(found, "__spec__", None)
        return spec is not None and spec.origin in ("built-in", "frozen")
    path = os.path.realpath(path)
    return any(path.startswith(folder) for folder in _library_folders())


@functools.lru_cache(maxsize=None)
def _library_folders() -> Tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += site.getsitepackages() + [site.getusersitepackages(), os.path.dirname(np.__path__[0])]
    paths.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # stoker
    return tuple({os.path.join(os.path.realpath(path), "") for path in paths})


@functools.lru_cache(maxsize=None)
def _version(module: str) -> str:
    top = module.partition(".")[0]
    version = getattr(sys.modules.get(top), "__version__", None)
    if version is None:
        try:
            version = importlib.metadata.version(top)
        except importlib.metadata.PackageNotFoundError:
            version = sys.version.split()[0]
    return str(version)


class _Walk:
    """A walk over an object: the digest of each thing is made of those of its parts."""

    def __init__(self) -> None:
        self.codes: Dict[str, bytes] = {}
        self._known: Dict[int, bytes] = {}
        self._alive: List[object] = []  # so that no address is used twice
        self._open: List[int] = []  # things whose parts are being walked over

    def digest(self, thing: Any, where: str) -> bytes:
        plain = _plain(thing)
        if plain is not None:
            return plain
        key = id(thing)
        if key in self._known:
            return self._known[key]
        if key in self._open:
            return _hash("within", len(self._open) - self._open.index(key))
        self._open.append(key)
        try:
            made = self._parts(thing, where)
        finally:
            self._open.pop()
        self._known[key] = made
        self._alive.append(thing)
        return made

    def _parts(self, thing: Any, where: str) -> bytes:
        kind = type(thing)
        for types_, method in _METHODS:
            if isinstance(thing, types_) and (kind in types_ or method not in _EXACT):
                return method(self, thing, where)
        if isinstance(thing, type):
            return self._class(thing, where)
        if _is_tensor(thing):
            return _hash("tensor", str(thing.dtype), self._array(thing.detach().cpu().numpy(),
                                                                 where))
        if _is_torch_generator(thing):
            return _hash("generator", kind.__qualname__)
        return self._instance(thing, where)

    def _each(self, things: Iterable[Any], where: str) -> List[bytes]:
        return [self.digest(thing, f"{where}[{number}]") for number, thing in enumerate(things)]

    def _sequence(self, thing: Any, where: str) -> bytes:
        return _hash(type(thing).__name__, *self._each(thing, where))

    def _set(self, thing: Any, where: str) -> bytes:
        return _hash("set", *sorted(self.digest(item, f"{where}{{}}") for item in thing))

    def _dict(self, thing: Dict[Any, Any], where: str) -> bytes:
        parts = []
        for key, value in thing.items():
            parts += [self.digest(key, f"{where} key"), self.digest(value, f"{where}[{key!r:.40}]")]
        return _hash("dict", *parts)

    def _attributes(self, state: Dict[str, Any], where: str) -> bytes:
        """Their order has no meaning."""
        return _hash("attributes", *(part for name in sorted(state, key=str) for part in (
            _hash(str(name)), self.digest(state[name], f"{where}.{name}" if where else str(name)))))

    def _array(self, thing: Any, where: str) -> bytes:
        if thing.dtype.hasobject:
            return _hash("objects", str(thing.dtype), *thing.shape,
                         *self._each(thing.ravel().tolist(), where))
        return _hash("array", str(thing.dtype.descr), *thing.shape, contents.digest(thing))

    def _generator(self, thing: Any, where: str) -> bytes:
        return _hash("generator", type(thing).__qualname__)

    def _module(self, thing: types.ModuleType, where: str) -> bytes:
        name = thing.__name__
        if is_library(name):
            return _hash("library", name, _version(name))
        try:
            with open(str(thing.__file__), "rb") as file:
                code = compile(file.read(), "", "exec", dont_inherit=True)
        except (OSError, TypeError, SyntaxError, ValueError):
            raise CannotTell(where or name, thing) from None
        return _hash("module", self._code(code, where))

    def _function(self, thing: types.FunctionType, where: str) -> bytes:
        if is_library(thing.__module__):
            return _hash("library", thing.__module__, thing.__qualname__,
                         _version(thing.__module__))
        where = where or thing.__qualname__
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell)]
        named = {name: thing.__globals__[name] for name in sorted(_globals_of(thing.__code__))
                 if name in thing.__globals__}
        code = self._code(thing.__code__, where)
        name = f"{thing.__module__}.{thing.__qualname__}"
        self.codes[name] = _hash("codes", self.codes.get(name, b""), code)
        return _hash("function", code,
                     self.digest(thing.__defaults__, f"{where} default"),
                     self.digest(thing.__kwdefaults__, f"{where} default"),
                     *self._each(cells, f"{where} closure"), self._attributes(named, where),
                     self._attributes(vars(thing), where))

    def _code(self, code: types.CodeType, where: str) -> bytes:
        consts = [self._code(const, where) if isinstance(const, types.CodeType)
                  else self.digest(const, where) for const in code.co_consts]
        return _hash("code", code.co_code, code.co_flags, code.co_argcount,
                     code.co_posonlyargcount, code.co_kwonlyargcount, " ".join(code.co_names),
                     " ".join(code.co_varnames), " ".join(code.co_freevars),
                     " ".join(code.co_cellvars), getattr(code, "co_exceptiontable", b""), *consts)

    def _method(self, thing: types.MethodType, where: str) -> bytes:
        return _hash("method", self.digest(thing.__func__, where),
                     self.digest(thing.__self__, where))

    def _builtin(self, thing: Any, where: str) -> bytes:
        owner = getattr(thing, "__self__", None)
        bound = b"" if owner is None or isinstance(owner, types.ModuleType) else \
            self.digest(owner, where)
        module = str(getattr(thing, "__module__", None))
        return _hash("builtin", module, thing.__qualname__, bound)

    def _wrapped(self, thing: Any, where: str) -> bytes:
        return _hash(type(thing).__name__, self.digest(thing.__func__, where))

    def _property(self, thing: property, where: str) -> bytes:
        return _hash("property", *self._each((thing.fget, thing.fset, thing.fdel), where))

    def _partial(self, thing: Any, where: str) -> bytes:
        return _hash("partial", self.digest(thing.func, where), self.digest(thing.args, where),
                     self.digest(thing.keywords, where), self._attributes(vars(thing), where))

    def _class(self, thing: type, where: str) -> bytes:
        if is_library(thing.__module__):
            return _hash("library", thing.__module__, thing.__qualname__,
                         _version(thing.__module__))
        members = {name: value for name, value in vars(thing).items()
                   if name not in _OF_NO_EFFECT and not _is_slot(value)}
        return _hash("class", thing.__qualname__, *self._each(thing.__bases__, where),
                     self.digest(type(thing), where), self._attributes(members, where))

    def _instance(self, thing: Any, where: str) -> bytes:
        kind = self.digest(type(thing), where)
        try:
            own = copyreg.dispatch_table.get(type(thing))
            reduced = own(thing) if own else thing.__reduce_ex__(4)
        except Exception:  # of the user's code, or of an object that refuses
            raise CannotTell(where, thing) from None
        if isinstance(reduced, str):  # the name of a global
            return _hash("global", kind, reduced)
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):
            state = {**(state[0] or {}), **state[1]}  # of slots
        held = self._attributes(state, where) if isinstance(state, dict) else \
            self.digest(state, where)
        return _hash("instance", kind, self.digest(make, where), self.digest(arguments, where),
                     held, *self._each(items or (), where),
                     *(self.digest(pair, where) for pair in pairs or ()))


_Method = Callable[[_Walk, Any, str], bytes]
_METHODS: List[Tuple[Tuple[type, ...], _Method]] = [
    ((tuple, list), _Walk._sequence),
    ((set, frozenset), _Walk._set),
    ((dict,), _Walk._dict),
    ((np.ndarray,), _Walk._array),
    (_GENERATORS, _Walk._generator),
    ((types.ModuleType,), _Walk._module),
    ((types.FunctionType,), _Walk._function),
    ((types.CodeType,), _Walk._code),
    ((types.MethodType,), _Walk._method),
    ((types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType,
      types.ClassMethodDescriptorType, types.MethodWrapperType, types.GetSetDescriptorType,
      types.MemberDescriptorType), _Walk._builtin),
    ((staticmethod, classmethod), _Walk._wrapped),
    ((property,), _Walk._property),
    ((functools.partial,), _Walk._partial),
]
# A subclass of these is an instance of its own class.
_EXACT = {_Walk._sequence, _Walk._set, _Walk._dict}


def _hash(tag: str, *parts: Any) -> bytes:
    state = hashlib.blake2b(tag.encode(), digest_size=_BYTES)
    for part in parts:
        bytes_ = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        state.update(b"%d:" % len(bytes_))
        state.update(bytes_)
    return state.digest()


def _plain(thing: Any) -> Optional[bytes]:
    """Of what has no parts."""
    kind = type(thing)
    if thing is None or thing is Ellipsis or thing is NotImplemented:
        return _hash("constant", repr(thing))
    if kind in (bool, int, complex):
        return _hash(kind.__name__, repr(thing))
    if kind is float:
        return _hash("float", thing.hex())
    if kind is str:
        return _hash("str", thing)
    if kind in (bytes, bytearray):
        return _hash(kind.__name__, bytes(thing))
    return None


def _globals_of(code: types.CodeType) -> Set[str]:
    """The globals that it names, those of functions within it too."""
    names = {step.argval for step in dis.get_instructions(code)
             if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _globals_of(const)
    return names


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _is_slot(member: object) -> bool:
    return isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType))


def _is_tensor(thing: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


def _is_torch_generator(thing: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Generator)
