"""Tensors that the library returns."""

import ctypes
import math
import struct
from ctypes import POINTER
from typing import Any, Callable, Dict, Optional, Tuple

from . import library
from .dlpack import CODES, CPU, LETTERS, READ_ONLY, TYPES, ManagedVersioned, capsule_of

# NumPy's names; it has no bf16.
KINDS = {"i": "i", "u": "u", "f": "f", "b": "b"}


class Tensor:
    """Numbers in CPU memory, for `numpy.asarray`, `torch.from_dlpack` and anything else that reads DLPack or a buffer, without a copy.

    `parameter`, `state` and outputs of a trainer are copies. A `shard` is a view of the memory of a rank: it shows current values after each step, it may be
    written between steps, its memory exists until the view and all that were made of it are released, and during a step it raises BufferError."""

    def __init__(self, address: int, check: Optional[Callable[[], None]] = None):
        self._address = address
        self._managed: Any = ctypes.cast(address, POINTER(ManagedVersioned)).contents
        self._check = check
        tensor = self._managed.tensor
        self.dtype: str = TYPES[tensor.dtype.code, tensor.dtype.bits]
        self.shape: Tuple[int, ...] = tuple(tensor.shape[i] for i in range(tensor.ndim))
        #: In elements.
        self.strides: Tuple[int, ...] = (tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else
                                         _row_major(self.shape))

    def __del__(self) -> None:
        managed = getattr(self, "_managed", None)
        if managed is not None:
            self._managed = None
            managed.deleter(self._address)

    @property
    def readonly(self) -> bool:
        return bool(self._managed.flags & READ_ONLY)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def _data(self) -> int:
        if self._check is not None:
            self._check()
        return int(self._managed.tensor.data or 0) + int(self._managed.tensor.byte_offset)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (CPU, 0)

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None, dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        self._data()
        if dl_device not in (None, (CPU, 0)):
            raise BufferError("the tensor is in CPU memory")
        if copy:
            raise BufferError("a tensor of Sluice is not copied by __dlpack__: copy what you make of it")
        versioned = max_version is not None and max_version[0] >= 1
        if self.readonly and not versioned:
            raise BufferError("the tensor is read-only, which only DLPack 1.0 can state")
        runtime = library.runtime()
        shared = runtime.sluice_tensor_share(self._address, int(versioned))
        if not shared:
            raise MemoryError("there is not enough memory")
        return capsule_of(shared, versioned, runtime.sluice_capsule_free)

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        if self.dtype == "bf16":
            raise TypeError("NumPy has no type bf16: use torch.from_dlpack, or tolist()")
        width = CODES[self.dtype][1] // 8
        return {"version": 3, "shape": self.shape, "typestr": f"{'|' if width == 1 else '<'}{KINDS[self.dtype[0]]}{width}",
                "data": (self._data(), self.readonly), "strides": tuple(stride * width for stride in self.strides)}

    def __buffer__(self, flags: int) -> memoryview:
        # From Python 3.12 on, NumPy reads this before __array_interface__, which states these types and shapes.
        if self.dtype in ("f16", "bf16") or not self.size or not self.shape:
            raise BufferError(f"{self!r} has no buffer with its type and shape: use numpy.asarray, torch.from_dlpack or memoryview()")
        return self.memoryview()

    def memoryview(self) -> memoryview:
        """The elements as a `memoryview`, of tensors in row-major order. Floats of 16 bits are integers of 16 bits; a tensor without dims has the shape (1,),
        and one without elements is empty bytes."""
        if self.strides != _row_major(self.shape):
            raise BufferError("the tensor is not in row-major order: use numpy.asarray")
        width = CODES[self.dtype][1] // 8
        letter = "H" if self.dtype in ("f16", "bf16") else LETTERS[self.dtype]
        memory: Any = (ctypes.c_char * (self.size * width)).from_address(self._data())
        memory._tensor = self  # The view has a reference on the array.
        view: Any = memoryview(memory).cast("B")
        if self.size:
            view = view.cast(letter, self.shape) if self.shape else view.cast(letter)
        result: memoryview = view.toreadonly() if self.readonly else view
        return result

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("the tensor has no dims")
        return self.shape[0]

    def tolist(self) -> Any:
        """Nested lists of Python's numbers; of a tensor without dims, the number."""
        data, width = self._data(), CODES[self.dtype][1] // 8
        letter = LETTERS.get(self.dtype)

        def number(index: int) -> Any:
            raw = ctypes.string_at(data + index * width, width)
            return struct.unpack("<" + letter, raw)[0] if letter else struct.unpack("<f", b"\0\0" + raw)[0]

        def rows(dim: int, index: int) -> Any:
            if dim == len(self.shape):
                return number(index)
            return [rows(dim + 1, index + i * self.strides[dim]) for i in range(self.shape[dim])]

        return rows(0, 0)

    def item(self) -> Any:
        """The number of a tensor of one element."""
        if self.size != 1:
            raise ValueError(f"a tensor of {self.size} elements, expected one")
        values = self.tolist()
        while isinstance(values, list):
            values = values[0]
        return values

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self) -> str:
        return f"sluice.Tensor({self.dtype}, {list(self.shape)})"


def _row_major(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    """The strides of a tensor without gaps."""
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))
