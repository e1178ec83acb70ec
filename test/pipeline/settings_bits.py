"""The settings that docs/recipe.md names change no bit: the recipes contain every pair of their values."""

# REQUIRES: compiler

from sluice import *

SELECTIVE = 'recompute.policy={"h.*" = "selective", "h.1" = "none"}'
SETTINGS = (
    ("schedule.forward_prefetch=1", "schedule.forward_prefetch=0", "schedule.forward_prefetch=3"),
    ("schedule.backward_prefetch=1", "schedule.backward_prefetch=0", "schedule.backward_prefetch=post"),
    ("schedule.reduce_buffers=1", "schedule.reduce_buffers=2"),
    ("schedule.overlap_steps=true", "schedule.overlap_steps=false"),
    ("sharding.reshard_after_forward=default", "sharding.reshard_after_forward=true", "sharding.reshard_after_forward=false",
     "sharding.reshard_after_forward=2"),
    ("sharding.reshard_before_backward=false", "sharding.reshard_before_backward=true"),
    ("sharding.strategy=full_shard", "sharding.strategy=shard_grad_op"),
    ("sharding.units=block", "sharding.units=root", "sharding.units=bytes:60000"),
    ("recompute.policy=none", "recompute.policy=block", SELECTIVE),
    ("memory.offload=[]", 'memory.offload=["parameters"]', 'memory.offload=["optimizer"]',
     'memory.offload=["parameters", "optimizer"]', 'memory.offload=["activations"]', 'memory.offload=["parameters", "optimizer", "activations"]',
     'memory.offload={root=["parameters", "optimizer"]}'),
)
MESHES = (("mesh.shard=4", "gradient.microbatches=2"), ("mesh.shard=2", "mesh.replicate=2"))
CLIPPING = ((), ("gradient.clip_norm=0.5",))
# Sums in a different order: by docs/recipe.md they differ from the seventh digit on.
OTHER_SUMS = ("sharding.strategy=no_shard", "sharding.dim=largest", "sharding.dim=flat", 'sharding.replicated=["*.bias"]',
              "gradient.sync=every", "loss.chunk_rows=16")


def covering_recipes():
    """Recipes with one value of every setting, which together contain every pair of values."""
    places = range(len(SETTINGS))
    missing = {frozenset(((i, a), (j, b))) for i, j in itertools.combinations(places, 2) for a in SETTINGS[i] for b in SETTINGS[j]}
    recipes = []
    while missing:
        chosen = {}
        (i, a), (j, b) = sorted(min(missing, key=sorted))
        chosen[i], chosen[j] = a, b
        for place in places:
            if place not in chosen:
                chosen[place] = max(SETTINGS[place], key=lambda value: sum(
                    frozenset(((place, value), other)) in missing for other in chosen.items()))
        missing -= {frozenset(pair) for pair in itertools.combinations(chosen.items(), 2)}
        recipes.append([chosen[place] for place in places])
    return recipes


def trained_by(settings):
    return train(Plan(gpt2_tiny(), list(settings)), steps=2)


@test
def every_pair_of_settings_changes_no_bit():
    for mesh, clipping in itertools.product(MESHES, CLIPPING):
        base = trained_by(mesh + clipping)
        for recipe in covering_recipes():
            expect_same_bits(trained_by(mesh + clipping + tuple(recipe)), base, f"{mesh + clipping}, {recipe}")


@test
def reshard_after_backward_changes_no_bit():
    for clipping in CLIPPING:
        mesh = MESHES[0] + clipping
        kept = ("sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last")
        expect_same_bits(trained_by(mesh + kept), trained_by(mesh), f"{mesh + kept}")


@test
def sums_of_chunks():
    base = ["mesh.shard=2", "gradient.microbatches=2", "loss.chunk_rows=5", "precision.compute=bf16"]
    model = hugging_face("llama-tiny")
    wanted = train(Plan(model, base))
    for setting in ("recompute.policy=block", "sharding.units=root", "sharding.reshard_after_forward=false", "schedule.reduce_buffers=1"):
        plan = Plan(model, base + [setting])
        expect("linear_cross_entropy_and_grad" in plan.text and "dweight_sum = 1" in plan.text, "expected a chunked loss that adds to a sum")
        expect_same_bits(train(plan), wanted, f"sums of chunks, {setting}")


@test
def other_sums_differ_in_the_last_digits():
    for mesh, clipping in itertools.product(MESHES, CLIPPING):
        base = trained_by(mesh + clipping)
        for setting in OTHER_SUMS:
            found = trained_by(mesh + clipping + (setting,))
            expect_equal(found.loss[0], base.loss[0], f"{mesh + clipping}, {setting}: loss of the first step")
            expect_near_runs(found, base, 2e-7, f"{mesh + clipping}, {setting}", weights=1e-5)


main()
