"""memory_points.py CONFIG FOLDER: the bytes by class and by unit of a step are those of arithmetic from shapes.

The memory report is compared at the six points of a step and at the peak of each entry point, for a GPT-2 that is sharded with and
without resharding after the forward, with AdamW (two states) in f32.
"""

import json
import math
import sys
from pathlib import Path

import plans

SETTINGS = {"reshard": "true", "keep": "false"}
RANKS = 3


def shard_bytes(parameter):
    """The chunk of dim 0 of one rank, padding included."""
    rows, *rest = parameter["shape"]
    return math.ceil(rows / RANKS) * math.prod(rest) * 4


def kept_bytes(parameter):
    """All ranks' chunks of a parameter that the backward reads: no bias and not the position embedding."""
    name = parameter["name"]
    return 0 if name.endswith(".bias") or name == "wpe.weight" else RANKS * shard_bytes(parameter)


def by_unit(plan, bytes_of):
    return {unit["name"]: sum(map(bytes_of, unit["parameters"])) for unit in plan.described["units"]}


def expect(what, found, expected):
    assert found == expected, f"{what}: expected {expected} but got {found}"


def check(plan, keeps):
    shown = json.loads(plans.run("sluice-plan", "memory", plan.path, "--json").stdout)
    expect("points", shown["points"], plan.described["memory"]["points"])
    expect("peak", shown["peak"], plan.described["memory"]["peak"])
    points = {point["name"]: point for point in shown["points"] if point["entry"] == "train_step"}
    expect("names", list(points), ["start", "after_forward", "after_loss", "after_backward", "after_update", "end"])
    shards, gathered = by_unit(plan, shard_bytes), by_unit(plan, kept_bytes)
    parameters = sum(shards.values())
    for name, point in points.items():
        for division in ("by_class", "by_unit"):
            expect(f"{name}: sum {division}", sum(point[division].values()), point["bytes"])
        expect(f"{name}: parameter", point["by_class"]["parameter"], parameters)
        expect(f"{name}: optimizer", point["by_class"]["optimizer"], 2 * parameters)
    for name in ("start", "end"):
        expect(f"{name}: bytes", points[name]["bytes"], 3 * parameters)
        expect(f"{name}: by_unit", {unit: bytes for unit, bytes in points[name]["by_unit"].items() if unit},
               {unit: 3 * bytes for unit, bytes in shards.items()})
    kept = sum(gathered.values()) if keeps else 0
    expect("after_loss: gathered", points["after_loss"]["by_class"]["gathered"], kept)
    expect("after_backward: gradient shards", points["after_backward"]["by_class"]["gradient_shard"], parameters)
    expect("after_backward: gathered", points["after_backward"]["by_class"]["gathered"], 0)
    expect("after_update: gradient shards", points["after_update"]["by_class"]["gradient_shard"], 0)
    peaks = {entry["entry"]: entry["peak"] for entry in shown["entries"]}
    expect("entry points", list(peaks), [entry["entry"] for entry in shown["spaces"][0]["entries"]])
    for entry in shown["spaces"][0]["entries"]:
        peak = peaks[entry["entry"]]
        expect("peak of an entry point", (peak["bytes"], peak["instruction"]),
               (entry["peak"] + plan.device()["workspace"], entry["instruction"]))
        at = json.loads(plans.run("sluice-plan", "memory", plan.path, "--json", "--at", peak["instruction"]).stdout)
        assert peak in at, f"{peak} is not in the report of its instruction"


def main():
    config, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    model = plans.import_model(config, folder / "m.mlir", 2, 16)
    for name, reshard in SETTINGS.items():
        plan = plans.compile_plan(model, folder / f"{name}.plan", f"mesh.shard={RANKS}", f"sharding.reshard_after_forward={reshard}",
                                  "schedule.backward_prefetch=0")
        check(plan, keeps=reshard == "false")
    done = plans.run("sluice-plan", "memory", folder / "keep.plan", "--at", 99999)
    expect("error of an instruction that does not exist", (done.returncode, done.stderr),
           (1, "error: instruction 99999 is in no entry point of the plan\n"))
    done = plans.run("sluice-plan", "memory", folder / "keep.plan", "--at", 0)
    assert done.returncode == 0 and "by unit\n  root " in done.stdout, done.stdout


main()
