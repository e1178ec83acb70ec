"""Random models, meshes and recipes: the checker accepts the plan, its collectives are those of the rules in this script, its losses, norms and weights are
those of one rank, and no delay of a stream changes a bit.

SLUICE_PROPERTY_CASES is the number of cases (50), SLUICE_PROPERTY_FIRST the number of the first (0). The number of a case determines it and is the prefix
of every message.
"""

from random_recipes import Case
from sluice import *


@functools.cache
def one_rank(name, microbatches, step):
    return train(Plan(zoo(*name), [f"gradient.microbatches={microbatches}", *step]), steps=2)


def check(number):
    case = Case(number)
    where = f"case {number}: {case.model.stem} {case.recipe + case.step}"
    try:
        plan = Plan(case.model, case.recipe + case.step)
        found = train(plan, steps=2)
        wanted = one_rank(case.name, case.shard * case.replicate * case.microbatches, tuple(case.step))
        delayed = dict(line.split(" ", 1) for line in run("sluice-steps", plan.path).stdout.splitlines())
    except Failed as failure:
        expect(False, f"{where}: {failure}")
        return
    expect_near_runs(found, wanted, 3e-5, where, weights=3e-4)
    # With dead bytes overwritten, and with each stream slow.
    expect(len(delayed) > 1, f"{where}: no stream is slow")
    for label, numbers in delayed.items():
        expect(numbers == delayed["poisoned"], f"{where}: other numbers: {label}")
    counts = collections.Counter((c["unit"], c["kind"]) for c in plan.collectives() if c["unit"])
    over_shards, over_replicas = case.reductions()
    for unit in plan.description["units"]:
        # Unused parameters are neither gathered nor reduced.
        if any("unused" not in parameter["name"] for parameter in unit["parameters"]):
            expect_equal(tuple(counts[unit["name"], kind] for kind in ("all_gather", "reduce_scatter", "all_reduce")),
                         (case.gathers(unit["name"]), over_shards, over_replicas), f"{where}: gathers and reductions of '{unit['name']}'")


@test
def random_plans():
    first = int(os.environ.get("SLUICE_PROPERTY_FIRST", "0"))
    count = int(os.environ.get("SLUICE_PROPERTY_CASES", "50"))
    print(f"cases {first} to {first + count - 1}")
    for number in range(first, first + count):
        check(number)


main(no_empty_loops=True)
