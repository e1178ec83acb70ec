"""Random model x random mesh x random recipe: the checker accepts the plan, its collectives are those of a small model of the
rules that is written here, and its losses are those of one rank.

Fifty cases, or as many as SLUICE_PROPERTY_CASES says; the first is number SLUICE_PROPERTY_FIRST, 0. A case is a function of its
number, which stands before every message.
"""

import collections
import random

from sharding_tools import *

SGD = ["optimizer.name=sgd", "optimizer.lr=0.01", "optimizer.momentum=0.9"]
# Each unit of theirs is used in one stretch of the forward.
MODELS = (
    ("mlp-sequence", "count=3", "dim=12"), ("linear-mlps", "count=3", "dim=8"), ("norm-mlps", "dim=5"),
    ("transformer", "layers=2", "dropout=0", "vocab=11"), ("transformer", "layers=3", "dropout=0", "tied=false", "dim=8"),
    ("linear-relu-linear", "in=7", "hidden=15", "out=3"), ("shared-linear", "dim=6"), ("unused-linear", "dim=8"),
    ("double-linear", "dim=7"),
)


def names(units):
    """Those with a parameter that anything uses."""
    return {unit["name"] for unit in units if any("unused" not in parameter["name"] for parameter in unit["parameters"])}


class Case:
    def __init__(self, number):
        self.random = r = random.Random(number)
        self.model = zoo(*r.choice(MODELS))
        self.shard, self.replicate = r.choice([(2, 1), (3, 1), (4, 1), (6, 1), (2, 2), (1, 2), (3, 2), (2, 3), (1, 3)])
        self.microbatches = r.choice([1, 1, 2, 3])
        self.strategy = r.choice(["full_shard", "full_shard", "full_shard", "shard_grad_op", "no_shard"])
        divisors = [d for d in range(2, self.shard) if self.shard % d == 0]
        # With everything whole there is nothing to release: only the default is taken.
        self.after = r.choice(["default", "true", "false", "true"] + [str(d) for d in divisors])
        if self.strategy == "no_shard":
            self.after = "default"
        self.before = self.after in ("false", "default") and r.random() < 0.2
        self.keep = self.after == "false" and not self.before and self.microbatches > 1 and r.random() < 0.5
        self.sync = r.choice(["last", "every", "reduce_scatter_only", "list"])
        self.pattern = [r.random() < 0.5 for _ in range(self.microbatches - 1)] + [True]
        self.recipe = [f"mesh.shard={self.shard}", f"mesh.replicate={self.replicate}", f"gradient.microbatches={self.microbatches}",
                       f"sharding.strategy={self.strategy}", f"sharding.reshard_after_forward={self.after}",
                       f"sharding.dim={r.choice(['first', 'first', 'largest', 'flat'])}",
                       f"schedule.forward_prefetch={r.choice([0, 1, 2, 3])}", f"schedule.backward_prefetch={r.choice([0, 1, 2, 3])}",
                       f"recompute.policy={r.choice(['none', 'block'])}", f"sharding.units={r.choice(['block', 'block', 'root', 'bytes:2000'])}"]
        if self.before:
            self.recipe.append("sharding.reshard_before_backward=true")
        if self.keep:
            self.recipe.append("sharding.reshard_after_backward=last")
        word = str(self.pattern).lower() if self.sync == "list" else self.sync
        self.recipe.append(f"gradient.sync={word}")
        if r.random() < 0.2:
            self.recipe.append("gradient.force_sum=true")

    def gathers(self, unit, in_backward):
        """Of a unit in a step: whether its weights are read in the forward is a matter of the model, that they are in the
        backward is told."""
        if self.shard == 1 or self.strategy == "no_shard":
            return 0
        reshards = {"default": self.strategy == "full_shard" and unit != "root", "false": False}.get(self.after, True)
        if not in_backward:
            return self.microbatches
        if self.keep:
            return 1
        return self.microbatches * (2 if reshards or self.before else 1)

    def reductions(self):
        """Of a unit that has gradients: within the shards, and over replicas."""
        K = self.microbatches
        within = {"last": 1, "every": K, "reduce_scatter_only": K, "list": sum(self.pattern)}[self.sync]
        across = 1 if self.sync == "reduce_scatter_only" else within
        if self.strategy == "no_shard" or self.shard == 1:
            return 0, across if self.shard * self.replicate > 1 else 0
        return within, across if self.replicate > 1 else 0


def check(number):
    case = Case(number)
    where = f"case {number}: {case.model.stem} {case.recipe}"
    try:
        plan = Plan(case.model, case.recipe + SGD)
        found = train(plan, steps=2)
        alone = train(Plan(case.model, [f"gradient.microbatches={case.shard * case.replicate * case.microbatches}"] + SGD), steps=2)
    except Failed as failure:
        expect(False, f"{where}: {failure}")
        return
    near_runs(found, alone, 3e-5, where, weights=3e-4)
    counts = collections.Counter((c["unit"], c["kind"]) for c in plan.collectives() if c["unit"])
    within, across = case.reductions()
    for unit in names(plan.shown["units"]):
        backward = any(c["kind"] == "all_gather" and c["unit"] == unit and c["phase"] == "backward" for c in plan.collectives())
        reads = backward or reads_in_backward(plan, unit)
        wanted = (case.gathers(unit, reads), within, across)
        expect_equal((counts[unit, "all_gather"], counts[unit, "reduce_scatter"], counts[unit, "all_reduce"]), wanted,
                     f"{where}: gathers and reductions of '{unit}'")


def reads_in_backward(plan, unit):
    """True where the unit's release that ends a micro-batch stands in the backward."""
    places = [e["phase"] for e in plan.shown["events"] if e["entry"] == "train_step" and e["what"] == "reshard" and e["unit"] == unit]
    return bool(places) and places[-1] == "backward"


@test
def random_plans():
    first = int(os.environ.get("SLUICE_PROPERTY_FIRST", "0"))
    count = int(os.environ.get("SLUICE_PROPERTY_CASES", "50"))
    print(f"cases {first} to {first + count - 1}")
    for number in range(first, first + count):
        check(number)


main()
