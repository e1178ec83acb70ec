"""Prefetch, recomputation, residency, strategy and placement, all crossed: not a bit of the numbers moves.

usage: crossed_bits.py CONFIG FOLDER

Trains one model on one mesh by the first recipe as it is placed by the compiler, and by every other with each buffer of a
step in a place of its own; exits with 1 where a loss, a norm or a weight differs.
"""

import itertools
import re
import sys
from pathlib import Path

from plans import import_model, run

MESH = ("mesh.shard=3", "gradient.microbatches=2", "gradient.clip_norm=1.0")
KNOBS = (
    (("schedule.forward_prefetch=0", "schedule.backward_prefetch=0"), ("schedule.forward_prefetch=2", "schedule.backward_prefetch=1")),
    (("recompute.policy=none",), ("recompute.policy=block",)),
    (("sharding.reshard_after_forward=default",), ("sharding.reshard_after_forward=true",),
     ("sharding.reshard_after_forward=false",)),
    (("sharding.strategy=full_shard",), ("sharding.strategy=shard_grad_op",)),
)


def spread(text):
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
    assert moved > 100, moved
    return re.sub(r'(plan\.arena <device> \{alignment = \d+ : i64, bytes = )\d+', rf"\g<1>{end}", "\n".join(lines), count=1)


def train(model, folder, settings, moves):
    plan, log, saved = folder / "a.plan", folder / "run.jsonl", folder / "saved"
    commands = [["sluice-compile", model, *(p for s in settings for p in ("--set", s)), "-o", plan]]
    if moves:
        commands[0] += [f"--dump-phases={folder / 'phases'}"]
        placed = folder / "placed.mlir"
        commands += [["sluice-compile", placed, "-o", plan]]
    commands += [["sluice-train", plan, "--data", "random:3", "--steps", "2", "--log", log, "--save", saved]]
    for command in commands:
        if moves and command[1] == placed:
            placed.write_text(spread((folder / "phases" / "10-memory.mlir").read_text()))
        done = run(*command)
        assert done.returncode == 0, f"{settings}: {done.stderr}"
    numbers = re.findall(r'"(?:loss|grad_norm)": ([^,]+)', log.read_text())
    assert len(numbers) == 4, numbers
    return numbers, (saved / "model.safetensors").read_bytes()


def main():
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    model = import_model(sys.argv[1], folder / "model.mlir", batch=2, sequence=16)
    recipes = [MESH + sum(chosen, ()) for chosen in itertools.product(*KNOBS)]
    expected = train(model, folder, recipes[0], moves=False)
    differ = [recipe for recipe in recipes if train(model, folder, recipe, moves=True) != expected]
    for recipe in differ:
        print(f"{recipe}: other bits than {recipes[0]}")
    print(f"{len(recipes)} recipes, {len(differ)} with other bits")
    return 1 if differ else 0


sys.exit(main())
