"""explain.py PLAN MODEL: the JSON of `sluice-plan explain` agrees with other reports on the plan.

A recompute region frees memory at the peak if and only if its unit has fewer live bytes there than in the plan without recompute, at the same
instruction.
"""

import json
import sys

from sluice import set_options, try_run


def output(*words):
    done = try_run(*words)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def report(*words):
    return json.loads(output("sluice-plan", *words, "--json"))


def same(found, expected, what):
    if found != expected:
        sys.exit(f"{what}, expected {expected} but got {found}")


def same_work(works, peak):
    """The instructions of this operation, unit and phase, in order of issue."""
    return [work["instruction"] for work in works if not work["recompute"] and
            (work["operation"], work["unit"], work["phase"]) == (peak["operation"], peak["unit"], peak["phase"])]


def works_of(plan):
    entry = next(row for row in report("schedule", plan)["entries"] if row["entry"] == "train_step")
    return sorted((work for stream in entry["streams"] for work in stream["work"]), key=lambda work: work["i"])


def freed_at_peak(plan, other, peak):
    """By unit, the bytes that `plan` has fewer than `other` at the instruction of its peak."""
    at = same_work(works_of(other), peak)[same_work(works_of(plan), peak).index(peak["instruction"])]
    here, there = (next(row for row in report("memory", name, "--at", str(i)) if row["entry"] == "train_step")["by_unit"]
                   for name, i in ((plan, peak["instruction"]), (other, at)))
    return {unit: there[unit] - here[unit] for unit in here}


def main():
    plan, model = sys.argv[1:]
    explained = report("explain", plan)
    peak = explained["peak"]
    memory = next(row for row in report("memory", plan)["entries"] if row["entry"] == "train_step")["peak"]
    same({key: peak[key] for key in memory}, memory, "peak")
    activations = sum(buffer["bytes"] for buffer in peak["buffers"] if buffer["class"] == "activation")
    same(sum(row["bytes"] for row in explained["activations"]), activations, "activations at the peak")
    described = report("describe", plan)
    gathers = sorted(event["instruction"] for event in described["events"] if event["what"] == "unshard" and event["entry"] == "train_step")
    begins = sorted(interval["begin"] for unit in explained["gathered"] for interval in unit["intervals"])
    same(begins, gathers, "instructions at which units are gathered")
    at_peak = sum(interval["bytes"] for unit in explained["gathered"] for interval in unit["intervals"] if interval["at_peak"])
    same(at_peak >= peak["by_class"]["gathered"] > 0, True, "gathered bytes at the peak")
    launches = sum(work["recompute"] and work["operation"].startswith("launch ") for work in works_of(plan))
    same(sum(region["launches"] for region in explained["recompute"]), launches, "recomputed launches")
    output("sluice-compile", model, *set_options(["mesh.shard=4"]), "-o", "other.plan")
    freed = freed_at_peak(plan, "other.plan", peak["at"])
    for region in explained["recompute"]:
        same(freed[region["unit"]] > 0, region["frees_at_peak"], f"{region['unit']} frees {freed[region['unit']]} bytes, which")
    same({region["frees_at_peak"] for region in explained["recompute"]}, {True, False}, "regions of both kinds")
    print(f"{len(explained['recompute'])} regions agree")


if __name__ == "__main__":
    main()
