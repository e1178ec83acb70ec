"""Random models, meshes and recipes by number, and the collectives of their units by the rules."""

import random

from sluice import *

SGD = ["optimizer.name=sgd", "optimizer.lr=0.01", "optimizer.momentum=0.9"]
SPLIT = 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'
# The number of forward invocations of a unit, where not 1.
MODELS = (
    (("mlp-sequence", "count=3", "dim=12"), {}), (("linear-mlps", "count=3", "dim=8"), {}), (("norm-mlps", "dim=5"), {}),
    (("mlp", "dim=9"), {}), (("mlp-stack", "dim=8"), {}),
    (("transformer", "layers=2", "dropout=0", "vocab=11"), {}), (("transformer", "layers=3", "dropout=0", "tied=false", "dim=8"), {}),
    (("linear-relu-linear", "in=7", "hidden=15", "out=3"), {}), (("shared-linear", "dim=6"), {}), (("unused-linear", "dim=8"), {}),
    (("double-linear", "dim=7"), {}), (("two-losses", "dim=7"), {}), (("encoder-decoder",), {}),
    (("nested-recompute", "layers=2", "dim=8"), {}),
    (("multi-forward",), {"inner": 2}), (("two-forwards", "layers=2", "vocab=11"), {"*": 2}),
)


class Case:
    def __init__(self, number):
        self.random = r = random.Random(number)
        self.name, self.uses = r.choice(MODELS)
        self.model = zoo(*self.name)
        self.shard, self.replicate = r.choice([(2, 1), (3, 1), (4, 1), (6, 1), (2, 2), (1, 2), (3, 2), (2, 3), (1, 3)])
        self.tensor = r.choice([1, 2]) if self.name[0] == "mlp-stack" else 1
        self.microbatches = r.choice([1, 1, 2, 3])
        self.strategy = r.choice(["full_shard", "full_shard", "full_shard", "shard_grad_op", "no_shard"])
        divisors = [d for d in range(2, self.shard) if self.shard % d == 0]
        # Without sharding only the default is valid.
        self.after = r.choice(["default", "true", "false", "true"] + [str(d) for d in divisors])
        if self.strategy == "no_shard":
            self.after = "default"
        self.before = self.after in ("false", "default") and r.random() < 0.2
        self.keep = self.after == "false" and not self.before and self.microbatches > 1 and r.random() < 0.5
        self.sync = r.choice(["last", "every", "reduce_scatter_only", "list"])
        self.pattern = [r.random() < 0.5 for _ in range(self.microbatches - 1)] + [True]
        units = r.choice(["block", "block", "root", "block" if self.uses else "bytes:2000"])
        self.recipe = [f"mesh.shard={self.shard}", f"mesh.replicate={self.replicate}", f"gradient.microbatches={self.microbatches}",
                       f"sharding.strategy={self.strategy}", f"sharding.reshard_after_forward={self.after}",
                       f"sharding.dim={r.choice(['first', 'first', 'largest', 'flat'])}",
                       f"schedule.forward_prefetch={r.choice([0, 1, 2, 3])}", f"schedule.backward_prefetch={r.choice([0, 1, 2, 3])}",
                       f"schedule.reduce_buffers={r.choice([1, 1, 2])}",
                       f"recompute.policy={r.choice(['none', 'block'])}", f"sharding.units={units}"]
        if self.tensor > 1:
            self.recipe += [f"mesh.tensor={self.tensor}", SPLIT]
        if self.before:
            self.recipe.append("sharding.reshard_before_backward=true")
        if self.keep:
            self.recipe.append("sharding.reshard_after_backward=last")
        word = str(self.pattern).lower() if self.sync == "list" else self.sync
        self.recipe.append(f"gradient.sync={word}")
        if r.random() < 0.2:
            self.recipe.append("gradient.force_sum=true")
        # Settings of the arithmetic: one rank has them too.
        self.step = list(SGD)
        if r.random() < 0.3:
            self.step += ["gradient.clip_norm=0.5", f"gradient.clip_type={r.choice(['1', '2', '3', 'inf'])}"]
        # Offload changes no count. Lists that reduce in some micro-batches before the last cannot be combined with it.
        mixed = self.sync == "list" and 1 < sum(self.pattern) < self.microbatches
        if r.random() < 0.3 and not mixed:
            self.recipe.append("memory.offload=" + r.choice(['["parameters", "optimizer"]', '["parameters", "optimizer", "activations"]', '["parameters"]', '["optimizer"]']))

    def gathers(self, unit):
        """The gathers of a unit in a step. Each use of the unit, forward or backward, gathers it unless it is still gathered. It is released after each
        use of the backward, and after each use of the forward if it reshards."""
        if self.shard == 1 or self.strategy == "no_shard":
            return 0
        uses = self.uses.get(unit, self.uses.get("*", 1))
        # The root has one backward for all uses.
        backward = 1 if unit == "root" else uses
        if self.keep:
            return 1
        if {"default": self.strategy == "full_shard" and unit != "root", "false": False}.get(self.after, True):
            return self.microbatches * (uses + backward)
        return self.microbatches * (1 + backward if self.before else backward)

    def reductions(self):
        """The reductions of a unit over shards, and over replicas."""
        K = self.microbatches
        over_shards = {"last": 1, "every": K, "reduce_scatter_only": K, "list": sum(self.pattern)}[self.sync]
        over_replicas = 1 if self.sync == "reduce_scatter_only" else over_shards
        if self.strategy == "no_shard" or self.shard == 1:
            return 0, over_replicas if self.shard * self.replicate > 1 else 0
        return over_shards, over_replicas if self.replicate > 1 else 0


# Behaviours that the random recipes do not have: models, ranks of the mesh other than those of data, settings.
MODES = (
    (("transformer", "layers=2", "vocab=11"), 1, ["sharding.dim=largest"]),
    (("transformer", "layers=2", "dropout=0", "loss=cross-entropy"), 1, ["precision.compute=f16", "precision.loss_scale=dynamic"]),
    (("transformer", "layers=2", "dropout=0", "loss=cross-entropy"), 1, ["loss.mean=tokens"]),
    (("transformer", "layers=2", "dropout=0", "loss=cross-entropy"), 1, ["loss.chunk_rows=4", "precision.compute=bf16", "precision.reduce=f32"]),
    (("mlp-stack", "dim=8"), 2, ["mesh.tensor=2", SPLIT, "gradient.clip_norm=0.5"]),
    (("nested-recompute", "layers=2", "dim=8"), 1, ["recompute.policy=marked"]),
    (("mlp-sequence", "count=3", "dim=12"), 1, ['memory.offload=["parameters", "optimizer"]']),
    (("transformer", "layers=3", "dropout=0"), 1, ['memory.offload=["activations"]']),
    (("linear-mlps", "count=3", "dim=8"), 1, ["optimizer.in_backward=true"]),
    (("conv", "stem=4", "hidden=6", "height=16", "width=16"), 1, []),
    (("moe",), 2, ["mesh.expert=2", 'sharding.expert=["*.experts.*"]']),
)


def random_plan(number):
    """Every fourth plan has one of MODES on a random mesh, the others are those of the random recipes, with SGD."""
    if number % 4 != 3:
        case = Case(number)
        return Plan(case.model, case.recipe + case.step)
    r = random.Random(number)
    model, others, settings = MODES[number // 4 % len(MODES)]
    shard, replicate = r.choice([(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (1, 2)] if others == 1 else [(1, 1), (2, 1), (1, 2)])
    recipe = [f"mesh.shard={shard}", f"mesh.replicate={replicate}", f"gradient.microbatches={r.choice([1, 1, 2, 3])}"]
    recipe += r.choice([["recompute.policy=block"], []]) if not any("recompute" in setting for setting in settings) else []
    return Plan(zoo(*model), recipe + settings + r.choice([[], SGD]))
