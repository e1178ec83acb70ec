"""A second run of a pass changes nothing, and every pass's output verifies, prints and parses to the same text.

usage: second_run.py CONFIG FOLDER

Runs the passes of the pipeline one by one, each on what the one before it left, and each once more on what it left.
"""

import re
import sys
from pathlib import Path

from plans import import_model, run

RECIPES = (
    ("mesh.shard=3", "recompute.policy=block", "gradient.microbatches=2", "gradient.clip_norm=1.0"),
    ("mesh.tensor=2", "mesh.shard=2", "sharding.tensor=megatron", "sharding.sequence=true", "precision.compute=bf16", "loss.mean=tokens",
     'parameters.frozen=["wpe.weight"]'),
    ("mesh.replicate=2", "mesh.shard=2", "mesh.expert=2", 'memory.offload=["parameters", "optimizer"]'),
)


def passes(folder):
    empty = folder / "empty.mlir"
    empty.write_text("module {}\n")
    listing = run("sluice-compile", "--help").stdout
    phases = re.findall(r"^  (\w+): ", listing[listing.index("Phases:"):], re.M)
    for phase in phases[:-1]:
        text = run("sluice-opt", empty, f"-sluice-{phase}", "--dump-pass-pipeline", "--verify-each=0").stderr
        for name, options in re.findall(r"^ +([a-z-]+)(?:\{([^}]*)\})?", text, re.M):
            # As -NAME=OPTIONS, without those that have no value.
            given = " ".join(option for option in options.split() if not option.endswith("="))
            yield phase, f"{name}={given}" if given else name


def main():
    config, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    model = import_model(config, folder / "model.mlir", batch=2, sequence=16)
    order = list(passes(folder))
    failures = 0
    for recipe in RECIPES:
        settings = [part for setting in recipe for part in ("--set", setting)]
        begun = folder / "begun.mlir"
        done = run("sluice-compile", model, *settings, "--compile-to=input", "-o", begun)
        assert done.returncode == 0, done.stderr
        # As the first pass finds it.
        text = re.sub(r'model\.compiled_to = "\w+",? ?', "", begun.read_text(), count=1)
        for _, name in order:
            once, twice = folder / "once.mlir", folder / "twice.mlir"
            begun.write_text(text)
            for before, after in ((begun, once), (once, twice)):
                done = run("sluice-opt", before, f"-{name}", "--mlir-print-debuginfo", "--verify-roundtrip", "-o", after)
                if done.returncode != 0:
                    break
            if done.returncode != 0 or once.read_text() != twice.read_text():
                which = "the first" if before == begun else "a second"
                print(f"{name}: {which} run of it {'changes what it left' if done.returncode == 0 else done.stderr[:400]}")
                failures += 1
            text = once.read_text()
    print(f"{len(order) * len(RECIPES)} passes run twice, {failures} failures")
    return 1 if failures else 0


sys.exit(main())
