"""One update for each unit gives the bits of one for each parameter, with every optimizer and option, and no more memory.

One model is compiled and trained by each recipe with and without spmd-merge-updates.
"""

# REQUIRES: compiler

from phases import *

NO_BIAS_DECAY = 'optimizer.no_decay=["*.bias"]'
# Settings, and updates for each unit; 0: as many as parameters.
ROWS = (
    (("mesh.shard=1",), 1),
    (("mesh.shard=3", "optimizer.name=sgd", "optimizer.momentum=0.9", "optimizer.nesterov=true", "optimizer.weight_decay=0.1"), 1),
    (("mesh.shard=2", "optimizer.name=sgd", "gradient.clip_norm=0.5"), 1),
    # Two groups of attributes.
    (("mesh.shard=2", "optimizer.name=adam", "optimizer.weight_decay=0.1", NO_BIAS_DECAY), 2),
    (("mesh.shard=2", "precision.compute=bf16", "precision.reduce=bf16", "gradient.microbatches=2"), 1),
    (("mesh.shard=2", "precision.compute=f16", "precision.reduce=f16", "precision.loss_scale=dynamic"), 1),
    (("mesh.shard=2", "mesh.replicate=2", "sharding.dim=flat"), 1),
    # Some parameters are sharded and others replicated.
    (("mesh.shard=2", 'sharding.replicated=["*.bias"]'), 2),
    (("mesh.shard=2", 'memory.offload=["parameters", "optimizer"]'), 1),
    # Each parameter is copied right before its update: nothing is merged.
    (("mesh.shard=2", 'memory.offload=["optimizer"]'), 0),
)


def updates(plan):
    return sum(plan.count_instructions(name) for name in ("adamw", "adam", "sgd"))


@test
def merged_updates():
    phases = phases_and_passes()
    for settings, per_unit in ROWS:
        merged = plan_of(settings)
        separate, error = plan_without(phases, "prefetch", "spmd-merge-updates", settings)
        if not expect(separate is not None, f"{settings}: {error}"):
            continue
        parameters, units = updates(separate), len(merged.units())
        expect(parameters > 3 * units, f"{settings}: expected an update for each parameter but got {parameters} of {units} units")
        expect_equal(updates(merged), per_unit * units or parameters, f"{settings}: updates")
        expect_same_bits(train(merged), train(separate), f"{settings}")
        for a, b in zip(merged.description["arenas"], separate.description["arenas"]):
            expect(a["peak_live"] <= b["peak_live"], f"{settings}: expected no more live bytes than {b} but got {a}")
        expect(not per_unit or len(merged.bytes) < len(separate.bytes),
               f"{settings}: expected a plan of less than {len(separate.bytes)} bytes but got {len(merged.bytes)}")


main()
