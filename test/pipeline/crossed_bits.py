"""Prefetch, recomputation, resharding, strategy and placement change no bit of the numbers, in any of their combinations.

The first recipe is placed by the compiler. In all others each buffer of a step has a separate place.
"""

from sluice import *

MESH = ("mesh.shard=3", "gradient.microbatches=2", "gradient.clip_norm=1.0")
SETTINGS = (
    (("schedule.forward_prefetch=0", "schedule.backward_prefetch=0"), ("schedule.forward_prefetch=2", "schedule.backward_prefetch=1")),
    (("recompute.policy=none",), ("recompute.policy=block",)),
    (("sharding.reshard_after_forward=default",), ("sharding.reshard_after_forward=true",),
     ("sharding.reshard_after_forward=false",)),
    (("sharding.strategy=full_shard",), ("sharding.strategy=shard_grad_op",)),
)


def with_separate_places(text):
    """Gives every buffer of an entry point a separate range, the last declared first."""
    arena = re.search(r'plan\.arena <device> \{alignment = (\d+).*?persistent = (\d+)', text)
    step, end = int(arena[1]), int(arena[2])
    moved = 0
    lines = text.split("\n")
    for i in reversed(range(len(lines))):
        if "plan.buffer @" in lines[i] and 'entry = "' in lines[i] and 'space = #plan.space<device>' in lines[i]:
            end = -(-end // step) * step
            lines[i], count = re.subn(r"\boffset = \d+", f"offset = {end}", lines[i])
            end += int(re.search(r"\bbytes = (\d+)", lines[i])[1])
            moved += count
    expect(moved > 100, f"expected more than 100 buffers with a separate place but got {moved}")
    return re.sub(r'(plan\.arena <device> \{alignment = \d+ : i64, bytes = )\d+', rf"\g<1>{end}", "\n".join(lines), count=1)


@test
def every_combination_keeps_every_bit():
    recipes = [MESH + sum(chosen, ()) for chosen in itertools.product(*SETTINGS)]
    wanted = train(Plan(gpt2_tiny(), recipes[0]), steps=2)
    expect_equal((len(recipes), len(wanted.loss)), (24, 2), "recipes and steps")
    placed = SCRATCH / "placed.mlir"
    for recipe in recipes:
        Plan(gpt2_tiny(), recipe, f"--dump-phases={SCRATCH / 'phases'}")
        placed.write_text(with_separate_places((SCRATCH / "phases" / "10-memory.mlir").read_text()))
        expect_same_bits(train(Plan(placed), steps=2), wanted, f"{recipe}")


main()
