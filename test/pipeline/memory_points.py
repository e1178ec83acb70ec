"""The bytes by class and by unit of a step are those of arithmetic from shapes.

The memory report is compared at the six points of a step and at the peak of each entry point, for a GPT-2 that is sharded with and
without resharding after the forward, with AdamW (two states) in f32.
"""

from sluice import *

RANKS = 3


def compiled_plan(reshard):
    return Plan(gpt2_tiny(), [f"mesh.shard={RANKS}", f"sharding.reshard_after_forward={reshard}", "schedule.backward_prefetch=0"])


def shard_bytes(parameter):
    """The chunk of dim 0 of one rank, padding included."""
    rows, *rest = parameter["shape"]
    return math.ceil(rows / RANKS) * math.prod(rest) * 4


def kept_bytes(parameter):
    """All ranks' chunks of a parameter that the backward reads: no bias and not the position embedding."""
    name = parameter["name"]
    return 0 if name.endswith(".bias") or name == "wpe.weight" else RANKS * shard_bytes(parameter)


def by_unit(plan, bytes_of):
    return {unit["name"]: sum(map(bytes_of, unit["parameters"])) for unit in plan.description["units"]}


def memory_report(plan, *options):
    return json.loads(run("sluice-plan", "memory", plan.path, "--json", *options).stdout)


@test
def points_and_peaks():
    for reshard in ("true", "false"):
        plan = compiled_plan(reshard)
        shown = memory_report(plan)
        expect_equal(shown["points"], plan.description["memory"]["points"], "points")
        expect_equal(shown["peak"], plan.description["memory"]["peak"], "peak")
        points = {point["name"]: point for point in shown["points"] if point["entry"] == "train_step"}
        expect_equal(list(points), ["start", "after_forward", "after_loss", "after_backward", "after_update", "end"], "names")
        shards, gathered = by_unit(plan, shard_bytes), by_unit(plan, kept_bytes)
        parameters = sum(shards.values())
        for name, point in points.items():
            for division in ("by_class", "by_unit"):
                expect_equal(sum(point[division].values()), point["bytes"], f"{name}: sum {division}")
            expect_equal(point["by_class"]["parameter"], parameters, f"{name}: parameter")
            expect_equal(point["by_class"]["optimizer"], 2 * parameters, f"{name}: optimizer")
        for name in ("start", "end"):
            expect_equal(points[name]["bytes"], 3 * parameters, f"{name}: bytes")
            expect_equal({unit: bytes for unit, bytes in points[name]["by_unit"].items() if unit},
                         {unit: 3 * bytes for unit, bytes in shards.items()}, f"{name}: by_unit")
        kept = sum(gathered.values()) if reshard == "false" else 0
        expect_equal(points["after_loss"]["by_class"]["gathered"], kept, "after_loss: gathered")
        expect_equal(points["after_backward"]["by_class"]["gradient_shard"], parameters, "after_backward: gradient shards")
        expect_equal(points["after_backward"]["by_class"]["gathered"], 0, "after_backward: gathered")
        expect_equal(points["after_update"]["by_class"]["gradient_shard"], 0, "after_update: gradient shards")
        peaks = {entry["entry"]: entry["peak"] for entry in shown["entries"]}
        expect_equal(list(peaks), [entry["entry"] for entry in shown["spaces"][0]["entries"]], "entry points")
        for entry in shown["spaces"][0]["entries"]:
            peak = peaks[entry["entry"]]
            expect_equal((peak["bytes"], peak["instruction"]), (entry["peak"] + plan.arena()["workspace"], entry["instruction"]),
                         "peak of an entry point")
            expect(peak in memory_report(plan, "--at", peak["instruction"]), f"{peak} is not in the report of its instruction")


@test
def report_at_an_instruction():
    plan = compiled_plan("false")
    done = try_run("sluice-plan", "memory", plan.path, "--at", 99999)
    expect_equal((done.returncode, done.stderr), (1, "error: instruction 99999 is in no entry point of the plan\n"),
                 "error of an instruction that does not exist")
    text = run("sluice-plan", "memory", plan.path, "--at", 0).stdout
    expect("by unit\n  root " in text, f"expected bytes by unit but got {text}")


main()
