"""One update a unit: with every optimizer and option the same bits as one a parameter, of no more memory.

usage: merged_updates.py CONFIG FOLDER

Compiles and trains one model by each recipe with and without spmd-merge-updates; exits with 1 where a loss, a norm or a weight
differs, more bytes are live at the peak, or there are other numbers of updates than the table says.
"""

import re
import sys
from pathlib import Path

from passes import Workshop, units, updated
from plans import run

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


def trained(plan):
    saved, log = plan.path.with_suffix(".saved"), plan.path.with_suffix(".jsonl")
    done = run("sluice-train", plan.path, "--data", "random:3", "--steps", "3", "--save", saved, "--log", log, "--quiet")
    assert done.returncode == 0, done.stderr
    numbers = re.findall(r'"(?:loss|grad_norm)": ([^,]+)', log.read_text())
    assert len(numbers) == 6, numbers
    return numbers, {path.name: path.read_bytes() for path in sorted(saved.iterdir()) if path.suffix == ".safetensors"}


def updates(plan):
    return sum(1 for one in plan.instructions if one.what in ("adamw", "adam", "sgd"))


def main():
    workshop = Workshop(sys.argv[1], sys.argv[2])
    failures = 0
    for settings, a_unit in ROWS:
        merged = workshop.whole(settings)[0]
        alone, error = workshop.without("prefetch", "spmd-merge-updates", settings)
        assert alone is not None, error
        parameters = updates(alone)
        wanted = a_unit * len(units(merged)) if a_unit else parameters
        claims = {
            f"{wanted} updates": updates(merged) == wanted and parameters > 3 * len(units(merged)),
            "the same bits": trained(merged) == trained(alone),
            "no more live bytes": all(a["peak_live"] <= b["peak_live"] for a, b in
                                      zip(merged.described["arenas"], alone.described["arenas"])),
            "a smaller plan": not a_unit or len(merged.bytes) < len(alone.bytes),
        }
        for claim, holds in claims.items():
            if not holds:
                print(f"{settings}: expected {claim} but got {updates(merged)} of {parameters} updates, "
                      f"{len(merged.bytes)} of {len(alone.bytes)} bytes")
                failures += 1
    print(f"{len(ROWS)} recipes, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
