"""The two libraries of the C interface, with the types of their functions (runtime/capi/sluice.h, passes/capi/sluice_compiler.h).

They are in the folder `lib` of an installed package; $SLUICE_LIBRARIES names another folder, such as build/lib. The compiler is loaded when it is first used."""

import ctypes
import functools
import json
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Tuple

from .dlpack import DLTensor
from .errors import Error

API_VERSION = 1


class Step(ctypes.Structure):
    """sluice_step"""
    _fields_ = [("step", c_uint64), ("loss", c_double), ("grad_norm", c_double), ("lr", c_double), ("loss_scale", c_double), ("applied", c_int32)]


# A text that the caller frees is an address, not a copy of the text. Each function: its result, its arguments.
_Status, _Out, _Text = c_void_p, POINTER(c_void_p), c_char_p
_Functions = Dict[str, Tuple[Any, Sequence[Any]]]
_RUNTIME: _Functions = {
    "sluice_api_version": (c_int, ()),
    "sluice_version": (_Text, ()),
    "sluice_status_code": (c_int, (_Status,)),
    "sluice_status_message": (_Text, (_Status,)),
    "sluice_status_note_count": (c_size_t, (_Status,)),
    "sluice_status_note": (_Text, (_Status, c_size_t)),
    "sluice_status_free": (None, (_Status,)),
    "sluice_text_free": (None, (c_void_p,)),
    "sluice_tensor_share": (c_void_p, (c_void_p, c_int)),
    "sluice_capsule_free": (None, (c_void_p,)),
    "sluice_plan_open": (_Status, (_Text, _Out)),
    "sluice_plan_from_bytes": (_Status, (_Text, c_size_t, _Text, _Out)),
    "sluice_plan_free": (None, (c_void_p,)),
    "sluice_plan_bytes": (None, (c_void_p, _Out, POINTER(c_size_t))),
    "sluice_plan_report": (_Status, (c_void_p, _Text, _Out)),
    "sluice_session_open": (_Status, (c_void_p, _Text, _Out)),
    "sluice_session_close": (_Status, (c_void_p,)),
    "sluice_session_free": (None, (c_void_p,)),
    "sluice_session_describe": (_Status, (c_void_p, _Out)),
    "sluice_session_set_input": (_Status, (c_void_p, _Text, _Text, POINTER(DLTensor))),
    "sluice_session_run": (_Status, (c_void_p, _Text, c_double, POINTER(Step))),
    "sluice_session_get_output": (_Status, (c_void_p, _Text, _Text, _Out)),
    "sluice_session_read": (_Status, (c_void_p, _Text, _Out)),
    "sluice_session_write": (_Status, (c_void_p, _Text, POINTER(DLTensor))),
    "sluice_session_view": (_Status, (c_void_p, _Text, c_int, _Out)),
    "sluice_session_load": (_Status, (c_void_p, _Text)),
    "sluice_session_save": (_Status, (c_void_p, _Text, _Text)),
    "sluice_session_checkpoint": (_Status, (c_void_p,)),
    "sluice_session_generate": (_Status, (c_void_p, POINTER(c_int64), c_size_t, c_size_t, _Text, POINTER(c_int64), POINTER(c_size_t))),
}
_COMPILER: _Functions = {
    "sluice_compiler_api_version": (c_int, ()),
    "sluice_compiler_version": (_Text, ()),
    "sluice_compiler_status_code": (c_int, (_Status,)),
    "sluice_compiler_status_message": (_Text, (_Status,)),
    "sluice_compiler_status_note_count": (c_size_t, (_Status,)),
    "sluice_compiler_status_note": (_Text, (_Status, c_size_t)),
    "sluice_compiler_status_free": (None, (_Status,)),
    "sluice_compiler_text_free": (None, (c_void_p,)),
    "sluice_compiler_bytes_free": (None, (c_void_p,)),
    "sluice_model_import": (_Status, (_Text, _Text, _Text, _Out)),
    "sluice_model_free": (None, (c_void_p,)),
    "sluice_model_text": (_Status, (c_void_p, _Out)),
    "sluice_model_report": (_Status, (c_void_p, _Out)),
    "sluice_compile": (_Status, (c_void_p, _Text, _Text, _Out, POINTER(c_size_t), _Out)),
    "sluice_what_if": (_Status, (c_void_p, _Text, _Text, _Out)),
    "sluice_simulate": (_Status, (_Text, c_size_t, _Text, _Text, _Out)),
    "sluice_fit": (_Status, (_Text, _Out)),
}


def folder() -> Path:
    given = os.environ.get("SLUICE_LIBRARIES")
    return Path(given) if given else Path(__file__).resolve().parent / "lib"


def _load(name: str, version: str, functions: _Functions) -> Any:
    path = folder() / name
    try:
        library = ctypes.CDLL(os.fspath(path))
    except OSError as problem:
        raise ImportError(f"cannot load '{path}': {problem}\nnote: install the package (pip install .), or set SLUICE_LIBRARIES to the folder "
                          f"of the libraries, such as build/lib") from None
    if getattr(library, version)() != API_VERSION:
        raise ImportError(f"'{path}' has version {getattr(library, version)()} of the C interface, expected {API_VERSION}")
    for function, (result, arguments) in functions.items():
        entry = getattr(library, function)
        entry.restype, entry.argtypes = result, arguments
    return library


@functools.lru_cache(maxsize=None)
def runtime() -> Any:
    return _load("libsluice.so", "sluice_api_version", _RUNTIME)


@functools.lru_cache(maxsize=None)
def compiler() -> Any:
    return _load("libsluice-compiler.so", "sluice_compiler_api_version", _COMPILER)


def encode(text: Optional[str]) -> Optional[bytes]:
    """A text or path as the libraries read it."""
    if text is None:
        return None
    raw = os.fsencode(text)
    if b"\0" in raw:
        raise Error(1, f"'{text!r}': a zero byte in a text or path")
    return raw


def encode_json(members: Any) -> bytes:
    try:
        return json.dumps(members, allow_nan=False).encode()
    except (TypeError, ValueError) as problem:
        raise Error(1, f"settings that are not JSON: {problem}") from None


def _decode(raw: Optional[bytes]) -> str:
    return os.fsdecode(raw or b"")


class _Library:
    """Functions that both libraries have, by their prefixes."""

    def __init__(self, load: Any, prefix: str):
        self._load, self._prefix = load, prefix

    def check(self, status: Optional[int]) -> None:
        """Raises the error of a status, and frees it."""
        if status:
            raise self._error(status)

    def _error(self, status: int) -> Error:
        library, prefix = self._load(), self._prefix

        def of(name: str, *arguments: Any) -> Any:
            return getattr(library, f"{prefix}status_{name}")(status, *arguments)

        error = Error(of("code"), _decode(of("message")), [_decode(of("note", i)) for i in range(of("note_count"))])
        of("free")
        return error

    def take_text(self, text: c_void_p) -> str:
        """The text at an address, which is freed."""
        try:
            return _decode(ctypes.string_at(text.value)) if text.value else ""
        finally:
            getattr(self._load(), f"{self._prefix}text_free")(text)

    def text_of(self, function: str, *arguments: Any) -> str:
        """The text that a function returns through its last argument."""
        text = c_void_p()
        self.check(getattr(self._load(), function)(*arguments, ctypes.byref(text)))
        return self.take_text(text)


RUNTIME = _Library(runtime, "sluice_")
COMPILER = _Library(compiler, "sluice_compiler_")
