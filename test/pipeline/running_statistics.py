"""Batch norm's running statistics are those that this script computes from the same rows: separate for each rank by default, averaged over the data-parallel
ranks with `statistics.sync`. An evaluation reads them and does not change them."""

# REQUIRES: compiler

import random
import shutil

from sluice import *

ROWS, PLACES, CHANNELS, MOMENTUM, EPSILON = 2, 4, 3, 0.1, 1e-5
COUNT = ROWS * PLACES
X = f"tensor<{ROWS}x{PLACES}x{CHANNELS}xf32>"
C = f"tensor<{CHANNELS}xf32>"
MODULE = f"""
module attributes {{model.name = "statistics", model.batch = {ROWS} : i64}} {{
  model.parameter @w : {C} ones
  model.parameter @b : {C} zeros
  model.parameter @running_mean : {C} zeros state
  model.parameter @running_var : {C} ones state
  model.parameter @count : tensor<i64> zeros state
  func.func @train_step(%x: {X} {{model.input = "x"}}) -> (tensor<f32> {{model.output = "loss"}}) attributes {{model.entry = #model.entry<train>}} {{
    %w = model.read @w : {C}
    %b = model.read @b : {C}
    %y, %m, %v = model.batch_norm %x, %w, %b {{epsilon = {EPSILON:.1e} : f64}} : ({X}, {C}, {C}) -> ({X}, {C}, {C})
    %om = model.read @running_mean : {C}
    %nm = model.running_average %om, %m {{momentum = {MOMENTUM} : f64}} : ({C}, {C}) -> {C}
    model.write @running_mean, %nm : {C}
    %ov = model.read @running_var : {C}
    %nv = model.running_average %ov, %v {{momentum = {MOMENTUM} : f64, factor = {COUNT / (COUNT - 1)} : f64}} : ({C}, {C}) -> {C}
    model.write @running_var, %nv : {C}
    %oc = model.read @count : tensor<i64>
    %nc = model.count_up %oc : (tensor<i64>) -> tensor<i64>
    model.write @count, %nc : tensor<i64>
    %q = model.multiply %y, %x : ({X}, {X}) -> {X}
    %l = model.reduce_sum %q {{dims = array<i64: 0, 1, 2>}} : ({X}) -> tensor<f32>
    return %l : tensor<f32>
  }}
}}
"""
STILL = ["optimizer.name=sgd", "optimizer.lr=0.0"]
LAST = ["statistics.sync=last"]
MESHES = ({"shard": 2}, {"shard": 4}, {"replicate": 2, "shard": 2}, {"replicate": 2})


def model():
    path = SCRATCH / "statistics.mlir"
    path.write_text(MODULE)
    return path


def rows(count, seed, name):
    """A data file, and its rows as lists of places of channels."""
    draw = random.Random(seed)
    values = [struct.unpack("<f", struct.pack("<f", draw.gauss(0.5, 2)))[0] for _ in range(count * PLACES * CHANNELS)]
    header = {"x": {"dtype": "F32", "shape": [count, PLACES, CHANNELS], "data_offsets": [0, 4 * len(values)]}}
    path = SCRATCH / f"{name}.safetensors"
    path.write_bytes(join_safetensors(header, struct.pack(f"<{len(values)}f", *values)))
    width = PLACES * CHANNELS
    return path, [[values[i * width + p * CHANNELS:i * width + (p + 1) * CHANNELS] for p in range(PLACES)] for i in range(count)]


def settings(mesh, microbatches=1):
    return STILL + [f"mesh.{axis}={size}" for axis, size in mesh.items()] + [f"gradient.microbatches={microbatches}"]


def expected_statistics(data, ranks, microbatches, steps, averages):
    """For each rank its mean and variance."""
    running = [[[0.0] * CHANNELS, [1.0] * CHANNELS] for _ in range(ranks)]
    for step in range(steps):
        for micro in range(microbatches):
            for rank in range(ranks):
                first = ((step * microbatches + micro) * ranks + rank) * ROWS
                seen = [place for row in data[first:first + ROWS] for place in row]
                for c in range(CHANNELS):
                    mean = sum(place[c] for place in seen) / COUNT
                    variance = sum((place[c] - mean) ** 2 for place in seen) / (COUNT - 1)
                    for statistic, value in zip(running[rank], (mean, variance)):
                        statistic[c] += MOMENTUM * (value - statistic[c])
        if averages:
            means = [[sum(rank[s][c] for rank in running) / ranks for c in range(CHANNELS)] for s in range(2)]
            running = [[list(mean) for mean in means] for _ in range(ranks)]
    return running


def check(mesh, microbatches, averages):
    ranks, steps = math.prod(mesh.values()), 2
    path, data = rows(steps * microbatches * ranks * ROWS, ranks + microbatches, "rows")
    plan = Plan(model(), settings(mesh, microbatches) + (LAST if averages else []))
    saved = tensors(train(plan, steps=steps, data=path).weights)
    what = f"{mesh}, {microbatches} micro-batches, {'averaged' if averages else 'separate'}"
    for rank, wanted in enumerate(expected_statistics(data, ranks, microbatches, steps, averages)):
        for name, values in zip(("running_mean", "running_var"), wanted):
            found = saved[f"rank{rank}.{name}"]
            expect_near(found, values, 2e-6, f"{what}: {name} of rank {rank}")
            expect((found == saved[f"rank0.{name}"]) == (averages or rank == 0), f"{what}: {name} of rank {rank} and of rank 0")
        expect_equal(saved[f"rank{rank}.count"], (steps * microbatches,), f"{what}: count of rank {rank}")


@test
def separate_for_each_rank():
    for mesh in MESHES:
        check(mesh, 2, averages=False)


@test
def averaged_over_ranks():
    for mesh in MESHES:
        for microbatches in (1, 3):
            check(mesh, microbatches, averages=True)


@test
def one_collective_in_the_last_microbatch():
    for mesh in MESHES:
        for microbatches in (1, 3):
            without, plan = (Plan(model(), settings(mesh, microbatches) + more) for more in ([], LAST))
            found = [c for c in plan.collectives("all_reduce") if c["bytes_in"] == 2 * CHANNELS * 4 and c["unit"] is None]
            expect_equal([(c["op"], c["dtype"], c["group"], c["microbatch"]) for c in found],
                         [("mean", "f32", math.prod(mesh.values()), microbatches - 1)], f"{mesh}: collectives of statistics")
            expect_equal(len(plan.collectives()), len(without.collectives()) + 1, f"{mesh}: collectives")
            expect_equal(plan.collectives(entry="eval_step"), without.collectives(entry="eval_step"), f"{mesh}: collectives of the evaluation")


@test
def collectives_of_a_cuda_plan():
    shown = [Plan(model(), settings(MESHES[2], 3) + LAST + more).collectives() for more in ([], ["target.device=cuda"])]
    expect_equal(*[[(c["kind"], c.get("op"), c["bytes_in"], c["microbatch"]) for c in each] for each in shown], "collectives of a CUDA plan")


@test
def sync_changes_no_parameter():
    path, _ = rows(24, 5, "bits")
    learns = ["mesh.shard=2", "gradient.microbatches=3", "optimizer.lr=0.01"]
    separate, averaged = (train(Plan(model(), learns + more), steps=2, data=path) for more in ([], LAST))
    expect_equal(averaged.loss, separate.loss, "losses")
    a, b = tensors(separate.weights), tensors(averaged.weights)
    for name in ("w", "b"):
        expect_equal(a[name], b[name], name)


@test
def processes_give_the_same_bits():
    if not shutil.which("mpirun"):
        return
    path, _ = rows(24, 6, "processes")
    plan = Plan(model(), settings({"shard": 2}, 3) + LAST)
    threads = train(plan, steps=2, data=path).weights
    for launcher in ("mpirun", "torchrun"):
        saved = SCRATCH / launcher
        run(sys.executable, ROOT / "test" / "tools" / "processes.py", launcher, 2, "sluice-train", plan.path, "--data", path, "--steps", 2,
            "--save", saved, "--quiet")
        expect((saved / "model.safetensors").read_bytes() == threads, f"{launcher}: expected the bits of threads but got others")


@test
def no_effect_on_one_rank():
    expect_equal(Plan(model(), settings({"shard": 1}) + LAST).collectives(), [], "collectives of one rank")
    expect_remark(model(), LAST, "--set statistics.sync=last: 'statistics.sync' has no effect on one rank")


@test
def refusals():
    expect_refused(model(), ["statistics.sync=every"], "--set statistics.sync=every: value of 'statistics.sync', expected \"never\" or \"last\" but got")


@test
def evaluation_reads_the_statistics():
    """The loss of rows that are normalized by the statistics of the step; weights and statistics do not change."""
    path, data = rows(4, 7, "train")
    seen, evaluated = rows(4, 8, "eval")
    plan = Plan(model(), settings({"shard": 2}) + LAST)
    without = train(plan, steps=1, data=path)
    run_with = train(plan, "--eval-data", seen, "--eval-every", "1", steps=1, data=path)
    expect(run_with.weights == without.weights, "expected the same weights with an evaluation")
    mean, variance = expected_statistics(data, 2, 1, 1, True)[0]
    loss = sum((place[c] - mean[c]) / math.sqrt(variance[c] + EPSILON) * place[c]
               for row in evaluated for place in row for c in range(CHANNELS)) / 2
    found = [line["eval_loss"] for line in run_with.steps if "eval_loss" in line]
    expect(len(found) > 0, "expected an eval_loss")
    expect_near(found[-1:], [loss], 1e-5, "eval_loss")


main()
