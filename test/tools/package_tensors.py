"""Tensors of the Python package as Python's buffers. package_frameworks.py is about NumPy and PyTorch."""

# REQUIRES: compiler

from package import *
from sluice.dlpack import Argument


def read(value):
    """Type, shape, and strides in elements of an argument, as the library gets them; no strides for rows without gaps."""
    with Argument("x", value) as argument:
        given = argument.tensor
        shape = tuple(given.shape[i] for i in range(given.ndim))
        strides = tuple(given.strides[i] for i in range(given.ndim)) if given.strides else None
        return (given.dtype.code, given.dtype.bits), shape, strides


@test
def buffers_as_arguments():
    expect_equal(read(array.array("f", [1, 2, 3])), ((2, 32), (3,), None), "array")
    expect_equal(read(tensor(range(12), (3, 4), "q")), ((0, 64), (3, 4), None), "rows")
    expect_equal(read(tensor(range(12), (3, 4), "q")[::2]), ((0, 64), (2, 4), (8, 1)), "every second row")
    expect_equal(read(b"abc"), ((1, 8), (3,), None), "read-only bytes")
    expect_equal(read(memoryview(bytearray(4)).cast("?")), ((6, 8), (4,), None), "booleans")
    expect_equal(read(array.array("l", [1])), ((0, 64), (1,), None), "a long")
    released = bytearray(8)
    read(released)
    released.append(1)  # A buffer that is still exported cannot grow.


@test
def results_as_buffers():
    with sluice.Trainer(small_plan()) as trainer:
        weight = trainer.parameter("wpe.weight")
        expect_equal((weight.dtype, weight.shape, weight.strides, len(weight), weight.size), ("f32", (SEQUENCE, 16), (16, 1), SEQUENCE, 16 * SEQUENCE), "weight")
        view = weight.memoryview()
        expect_equal((view.shape, view.format, view.tolist()), (weight.shape, "f", weight.tolist()), "memory")
        interface = weight.__array_interface__
        expect_equal((interface["typestr"], interface["shape"], interface["strides"]), ("<f4", (SEQUENCE, 16), (64, 4)), "interface of NumPy")
        expect_equal(weight.__dlpack_device__(), (1, 0), "device")
        expect_equal(repr(weight), f"sluice.Tensor(f32, [{SEQUENCE}, 16])", "text")
        for versioned in (None, (1, 0)):
            expect("capsule" in str(type(weight.__dlpack__(max_version=versioned))).lower(), "no capsule")
        for refused in ({"copy": True}, {"dl_device": (2, 0)}):
            try:
                weight.__dlpack__(**refused)
                expect(False, f"{refused}: expected a BufferError")
            except BufferError:
                pass
        first = weight.tolist()
    expect_equal(view.tolist(), first, "after the trainer is closed")
    expect_equal(weight.tolist(), first, "the tensor after the trainer is closed")


main()
