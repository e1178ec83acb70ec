"""The rule of PyTorch's RuntimeEstimator (torch/distributed/_tools/runtime_estimator.py, mode `operator-level-cost-model`) as a machine file of
`sluice-plan simulate`: an op takes the longer of its multiply-adds, flops / 2, at 75 % of the peak, and of its bytes, inputs and outputs, at the bandwidth.
Collectives take no time. The reference's test prints its accuracy and asserts no number."""

from sluice import *

PEAK, PART, BANDWIDTH = 60 * 10**12, 0.75, 3 * 10**12
F32 = 4
SOURCE = 'from = "datasheet", source = "https://pytorch.org"'


def machine(points, collectives=""):
    """Sluice counts a multiply-add as two FLOPs, so the rate of products is twice the reference's. Starting a kernel takes no time."""
    path = SCRATCH / "reference.toml"
    unknown = "".join(f'{key} = "unknown"\n' for key in ("link_bytes_per_second", "bf16_flops_per_second", "context_bytes", "library_bytes", "communicator_bytes"))
    path.write_text(f"""name = "reference"
device = "cuda"
arch = "sm_90"
[figures]
memory_bytes = {{ value = 80_000_000_000, from = "datasheet" }}
memory_bytes_per_second = {{ value = {BANDWIDTH}, from = "datasheet" }}
{unknown}[times]
f32_flops_per_second = {{ value = {PEAK}, {SOURCE} }}
host_copy_bytes_per_second = {{ value = 64_000_000_000, {SOURCE} }}
launch_seconds = {{ value = 1e-15, {SOURCE} }}
[[products]]
kernel = "matmul"
dtype = "f32"
{SOURCE.replace(", ", chr(10))}
points = {points}
[[streaming]]
kernel = "*"
dtype = "f32"
{SOURCE.replace(", ", chr(10))}
points = [[1e9, {BANDWIDTH}]]
{collectives}""")
    return path


def predicted(plan, file):
    """Microseconds of the launches of a step, by kernel in the order of issue, and the prediction."""
    trace = SCRATCH / "trace.json"
    prediction = json.loads(run("sluice-plan", "simulate", plan.path, "--machine", file, "--trace", trace, "--json").stdout)
    times = collections.defaultdict(list)
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] == "X" and event["name"].startswith("launch "):
            times[event["name"].split()[1]].append(event["dur"])
    return times, prediction


def by_the_reference(multiply_adds, elements):
    """Microseconds of an op: its time of compute and its time of memory."""
    return 1e6 * multiply_adds / (PART * PEAK), 1e6 * F32 * elements / BANDWIDTH


def expect_times(found, expected, what):
    """The trace has nanoseconds; Sluice also counts the additions of a bias in a product, 1 / (2 dim) of its FLOPs."""
    expect(found and all(math.isclose(time, expected, rel_tol=0.002, abs_tol=0.001) for time in found), f"{what}: expected {expected} us but got {found}")


CUDA = ["target.device=cuda", "target.arch=sm_90"]


@test
def the_reference_rule_as_a_machine_file():
    count, dim = 4, 512
    rate = 2 * PART * PEAK
    for rows in (512, 16):
        plan = Plan(linears(count, dim, rows), CUDA)
        compute, memory = by_the_reference(rows * dim * dim, 2 * rows * dim + dim * dim)
        # 16 rows take as long as reading the weight: a file has the rate of such products at their size.
        expect_equal(compute > memory, rows == 512, f"{rows} rows: bound by compute")
        slow = 2e6 * rows * dim * dim / max(compute, memory)
        points = [[rows, dim, dim, slow], [dim, rows, dim, slow], [dim, dim, rows, slow], [dim, dim, dim, rate]]
        times, prediction = predicted(plan, machine(points))
        # A product forward, and backward the gradients of the weights and of all inputs but the model's.
        expect_equal(len(times["matmul"]), 3 * count - 1, "products")
        expect_times(times["matmul"], max(compute, memory), f"{rows} rows: products")
        # The gradient of a bias, and the loss.
        expect_times(times["reduce_sum"], max(by_the_reference(0, rows * dim + dim)), f"{rows} rows: sums")
        expect_equal(len(times["reduce_sum"]), count + 1, "sums")
        expect_equal(prediction["exposed_communication_s"], 0, "communication of one rank")
        # One rate for all sizes, without the bandwidth: less than the reference's time where memory is the bound.
        times, _ = predicted(plan, machine([[dim, dim, dim, rate]]))
        expect_times(times["matmul"], compute, f"{rows} rows: products at one rate")


@test
def collectives_take_time():
    """The reference's step is the sum of its ops on any number of ranks. Sluice's step has the same launches, and waits for collectives."""
    collectives = f"""[[collectives]]
kinds = ["all_gather", "reduce_scatter", "all_reduce"]
algorithm = "host"
{SOURCE.replace(", ", chr(10))}
points = [[2, 1e-5, 100e9]]
"""
    model, points = linears(4, 512, 512), [[512, 512, 512, 2 * PART * PEAK]]
    one, alone = predicted(Plan(model, CUDA), machine(points))
    two, sharded = predicted(Plan(model, CUDA + ["mesh.shard=2"]), machine(points, collectives))
    for kernel in ("matmul", "reduce_sum"):
        expect_equal(sorted(two[kernel]), sorted(one[kernel]), f"{kernel} on two ranks")
    expect(sharded["collectives"] and all(each["s"] > 1e-5 for each in sharded["collectives"]), f"collectives {sharded['collectives']}")
    expect(sharded["exposed_communication_s"] > 0 and sharded["step_s"] >= sharded["work_s"] + sharded["exposed_communication_s"] - 1e-9,
           f"step of {sharded['step_s']} s")
    expect_equal(alone["collectives"], [], "collectives of one rank")


main(no_empty_loops=True)
