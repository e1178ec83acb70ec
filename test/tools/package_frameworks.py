"""package_frameworks.py FOLDER FUNCTION...: the Python package with NumPy or PyTorch in one process.

No function has lit's mark: package-numpy.test and package-torch.test run them in a Python that has these."""

from package import *


def numpy_reads_and_writes():
    import numpy
    with sluice.Trainer(small_plan()) as trainer:
        view = numpy.asarray(trainer.shard("wte.weight"))
        view[0, 0] = 3.0
        expect_equal(trainer.parameter("wte.weight").tolist()[0][0], 3.0, "written through NumPy")
        expect_equal(numpy.from_dlpack(trainer.parameter("wte.weight")).tolist(), trainer.parameter("wte.weight").tolist(), "from_dlpack")
        inputs = {name: numpy.asarray(each) for name, each in rows(4).items()}
        first = trainer.step(inputs, lr=0.0)
        inputs["tokens"].flags.writeable = False
        expect_equal(trainer.step(inputs, lr=0.0), first, "a read-only array")
        expect_equal(trainer.step({name: each.T.copy().T for name, each in inputs.items()}, lr=0.0), first, "columns first")
        expect_error(lambda: trainer.step(tokens=inputs["tokens"].astype(">i4"), targets=inputs["targets"]), 1, "little-endian")
        expect_error(lambda: trainer.step(tokens=inputs["tokens"].astype(object), targets=inputs["targets"]), 1, "'tokens'")
    expect_equal(float(view[0, 0]), 3.0, "after the trainer is closed")


def torch_reads_and_writes():
    import torch
    with sluice.Trainer(small_plan()) as trainer:
        view = torch.from_dlpack(trainer.shard("wte.weight"))
        again = torch.from_dlpack(trainer.shard("wte.weight"))
        view[0, 0] = 3.0
        expect_equal(float(again[0, 0]), 3.0, "two views")
        expect_equal(trainer.parameter("wte.weight").tolist()[0][0], 3.0, "written through PyTorch")
        inputs = {name: torch.tensor(each.tolist(), dtype=torch.int64) for name, each in rows(4).items()}
        first = trainer.step(inputs, lr=0.0)
        expect_equal(trainer.step({name: each.t().contiguous().t() for name, each in inputs.items()}, lr=0.0), first, "columns first")
        weight = torch.nn.Parameter(torch.zeros(VOCABULARY, 16))
        expect_error(lambda: trainer.set("wte.weight", weight), 1, "note: pass tensor.detach()")
        trainer.set("wte.weight", weight.detach())
    expect_equal(float(view.abs().max()), 0.0, "after the trainer is closed")


def import_before_torch():
    # `package` has imported sluice, and this loads its libraries.
    loss_of_both()


def import_after_torch():
    import torch
    torch.ones(300, 300) @ torch.ones(300, 300)
    loss_of_both()


def loss_of_both():
    """Both compute, with one OpenMP runtime in the process."""
    inputs = rows(2)
    with sluice.Trainer(small_plan(1, 1, ("target.threads", 2))) as trainer:
        first = trainer.step(inputs, lr=0.0)
        import torch
        expect_equal(float((torch.ones(300, 300) @ torch.ones(300, 300)).sum()), 300.0**3, "a product of PyTorch")
        expect_equal(trainer.step(inputs, lr=0.0), first, "the loss after it")
    with open("/proc/self/maps") as maps:
        runtimes = {line.split()[-1] for line in maps if "libgomp" in line or "libiomp" in line or "libomp" in line}
    expect_equal(len(runtimes), 1, f"OpenMP runtimes {runtimes}")


for name in sys.argv[2:]:
    globals()[name]()
sys.exit("\n".join(helpers.problems) or 0)
