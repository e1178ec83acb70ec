"""Tensors of the Python package as Python's buffers. package_frameworks.py is about NumPy and PyTorch."""

# REQUIRES: compiler

import ctypes

from package import *
from sluice.dlpack import CODES, Argument, Deleter, ManagedVersioned


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


def of_memory(dtype, shape, data=b""):
    """A tensor of these bytes, and a list to which its deleter appends."""
    managed, deleted = ManagedVersioned(), []
    memory, extents = ctypes.create_string_buffer(data, max(len(data), 1)), (ctypes.c_int64 * max(len(shape), 1))(*shape)
    deleter = Deleter(deleted.append)
    managed.version.major, managed.deleter = 1, deleter
    managed.tensor.data, managed.tensor.ndim, managed.tensor.shape = ctypes.addressof(memory), len(shape), extents
    managed.tensor.device.type = 1
    managed.tensor.dtype.code, managed.tensor.dtype.bits, managed.tensor.dtype.lanes = *CODES[dtype], 1
    created = sluice.Tensor(ctypes.addressof(managed))
    created.kept = managed, memory, extents, deleter
    return created, deleted


@test
def types_and_shapes_that_buffers_lack():
    """NumPy of Python 3.12 and later reads __buffer__ first, and __array_interface__ after a BufferError."""
    for dtype, shape, data in (("f16", (1,), b"\0\x3c"), ("bf16", (1,), b"\x80\x3f"), ("f32", (), b"\0\0\x80\x3f"), ("f32", (0, 3), b"")):
        each, _ = of_memory(dtype, shape, data)
        try:
            each.__buffer__(0)
            expect(False, f"{dtype} {shape}: expected a BufferError")
        except BufferError as error:
            expect("use numpy.asarray" in str(error), f"{dtype} {shape}: {error}")
        expect_equal(each.tolist(), 1.0 if shape == () else [] if not data else [1.0], f"numbers of {dtype} {shape}")
        if dtype != "bf16":
            interface = each.__array_interface__
            expect_equal((interface["typestr"], interface["shape"]), ({"f16": "<f2", "f32": "<f4"}[dtype], shape), "interface of NumPy")
    each, _ = of_memory("i32", (2,), bytes(8))
    expect_equal((each.__buffer__(0).format, each.__buffer__(0).shape), ("i", (2,)), "buffer")
    empty, _ = of_memory("f32", (0, 3))
    expect_equal((empty.size, len(empty), empty.memoryview().nbytes), (0, 0, 0), "a tensor without elements")
    expect_equal(read(array.array("f"))[1], (0,), "an argument without elements")


@test
def capsules_that_are_dropped():
    """Free their tensor, and leave an exception that is set meanwhile."""
    unraisable = []
    sys.unraisablehook = lambda problem: unraisable.append(problem.exc_value)
    try:
        with sluice.Trainer(small_plan()) as trainer:
            weight = trainer.parameter("wte.weight")
            # A capsule that is not freed keeps the memory of its copy.
            before, wanted = 0, weight.tolist()
            for i in range(6000):
                copy = trainer.parameter("wte.weight")
                try:
                    # The tuple's elements are dropped while the error of the division is set.
                    (copy.__dlpack__(max_version=(1, 0)), copy.__dlpack__(), 1 // 0)
                    expect(False, "expected a ZeroDivisionError")
                except ZeroDivisionError:
                    pass
                if i == 1000:
                    before = resident_bytes()
            grown = resident_bytes() - before
            expect(grown < 5000 * 4 * weight.size / 4, f"{grown} bytes more after 5000 capsules of {4 * weight.size} bytes")
            expect_equal(weight.tolist(), wanted, "the tensor")
    finally:
        sys.unraisablehook = sys.__unraisablehook__
    expect_equal(unraisable, [], "errors in destructors")


def resident_bytes():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGESIZE")


main()
