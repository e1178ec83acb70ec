"""DLPack 1.0: tensors of other libraries as arguments, and tensors of Sluice for other libraries.

Arguments are read where they are: the library copies them before the call returns. Only memory of the CPU is read.
"""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_ssize_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object
from typing import Any, Dict, Optional, Tuple

from .errors import Error

CPU, CUDA_HOST = 1, 3
READ_ONLY, COPIED = 1, 2


class Device(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("dtype", DataType), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Version(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class Managed(ctypes.Structure):
    """DLManagedTensor, before DLPack 1.0."""


Deleter = ctypes.CFUNCTYPE(None, c_void_p)
Managed._fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", Deleter)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [("version", Version), ("context", c_void_p), ("deleter", Deleter), ("flags", c_uint64), ("tensor", DLTensor)]


# Codes of DLPack: signed, unsigned, float, bfloat, bool. A boolean is a byte of the plan.
TYPES: Dict[Tuple[int, int], str] = {
    (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (1, 16): "u16", (1, 32): "u32", (1, 64): "u64",
    (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16", (6, 8): "bool"}
CODES = {name: code for code, name in TYPES.items()}
# The letters of the buffer protocol. bf16 has none.
LETTERS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f16": "e", "f32": "f", "f64": "d", "bool": "?"}
FORMATS = {letter: name for name, letter in LETTERS.items()}
# `l` has the size of a long where no byte order is given.
FORMATS.update(l="i64", L="u64", c="u8")

# Functions of Python itself. Those with a capsule take it as an object.
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = c_int, [py_object, c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [py_object, c_char_p]


class _Buffer(ctypes.Structure):
    """Py_buffer."""
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int), ("ndim", c_int),
                ("format", c_char_p), ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)), ("suboffsets", POINTER(c_ssize_t)),
                ("internal", c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.restype, _get_buffer.argtypes = c_int, [py_object, POINTER(_Buffer), c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.restype, _release_buffer.argtypes = None, [POINTER(_Buffer)]
# PyBUF_STRIDES | PyBUF_FORMAT, read-only memory included.
_STRIDED = 0x0018 | 0x0004


class Argument:
    """A tensor of the caller while a function of the library reads it: `tensor` is valid within the `with` block."""

    def __init__(self, name: str, value: Any):
        self.tensor: Any = None
        self._owner: Any = None
        self._buffer: Optional[_Buffer] = None
        if hasattr(value, "__dlpack__"):
            self._take_capsule(name, value)
        else:
            self._take_buffer(name, value)

    def __enter__(self) -> "Argument":
        return self

    def __exit__(self, *_: Any) -> None:
        self.tensor = self._owner = None
        if self._buffer is not None:
            _release_buffer(byref(self._buffer))
            self._buffer = None

    def _take_capsule(self, name: str, value: Any) -> None:
        # A capsule that nobody renames frees its tensor itself.
        try:
            device = value.__dlpack_device__()
            if device[0] not in (CPU, CUDA_HOST):
                raise Error(1, f"'{name}': a tensor in the memory of a device, expected one in CPU memory", ["pass tensor.cpu()"])
            try:
                capsule = value.__dlpack__(max_version=(1, 0))
            except TypeError:
                capsule = value.__dlpack__()
        except Error:
            raise
        except Exception as problem:  # Of any class, from a foreign object.
            # NumPy before 2.1 exports no read-only arrays, but they have a buffer.
            if _has_buffer(value):
                self._take_buffer(name, value)
                return
            raise Error(1, f"'{name}': {problem}", ["pass tensor.detach() of a tensor that requires gradients, in CPU memory"]) from None
        if _is_valid(capsule, b"dltensor_versioned"):
            managed = ctypes.cast(_pointer(capsule, b"dltensor_versioned"), POINTER(ManagedVersioned))
            if managed.contents.version.major > 1:
                raise Error(1, f"'{name}': DLPack {managed.contents.version.major}, expected 1 or before")
            self.tensor = managed.contents.tensor
        elif _is_valid(capsule, b"dltensor"):
            self.tensor = ctypes.cast(_pointer(capsule, b"dltensor"), POINTER(Managed)).contents.tensor
        else:
            raise Error(1, f"'{name}': __dlpack__ returned no tensor that can still be read")
        self._owner = capsule

    def _take_buffer(self, name: str, value: Any) -> None:
        try:
            memory = memoryview(value)
        except (TypeError, BufferError):
            raise Error(1, f"'{name}': '{type(value).__name__}' is no tensor, expected an object with __dlpack__ or the buffer protocol",
                        ["pass numpy.asarray(values, dtype), array.array('i', values) or a tensor of PyTorch"]) from None
        dtype = _dtype_of(name, memory)
        code, bits = CODES[dtype]
        strides = None
        if not memory.c_contiguous:
            width, steps = memory.itemsize, memory.strides or ()
            if any(stride % width for stride in steps):
                raise Error(1, f"'{name}': a stride that is no multiple of the element's {width} bytes", ["pass a copy, for example numpy.ascontiguousarray(values)"])
            strides = (c_int64 * memory.ndim)(*(stride // width for stride in steps))
        view = _Buffer()
        _get_buffer(memory, byref(view), _STRIDED)
        self._buffer = view
        # The structure keeps `shape` and `strides`.
        self.tensor = DLTensor(view.buf, Device(CPU, 0), memory.ndim, DataType(code, bits, 1), (c_int64 * memory.ndim)(*(memory.shape or ())), strides, 0)


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except (TypeError, BufferError, ValueError):
        return False
    return True


def _dtype_of(name: str, memory: memoryview) -> str:
    text = memory.format
    order, letter = (text[0], text[1:]) if text[:1] in ("@", "=", "<", ">", "!") else ("@", text)
    if letter in ("l", "L") and order != "@":
        letter = {"l": "i", "L": "I"}[letter]  # 4 bytes where a byte order is given.
    dtype = FORMATS.get(letter)
    if dtype is None or order in (">", "!"):
        raise Error(1, f"'{name}': elements of the format '{text}', expected numbers in little-endian order",
                    ["convert them, for example by numpy.asarray(values, 'float32')"])
    return dtype


def capsule_of(address: int, versioned: bool, destructor: Any) -> Any:
    """A capsule that owns the managed tensor at the address. destructor: a function in C, because a capsule may be freed while an exception is set, and
    after Python's modules."""
    return _new(address, b"dltensor_versioned" if versioned else b"dltensor", ctypes.cast(destructor, c_void_p))
