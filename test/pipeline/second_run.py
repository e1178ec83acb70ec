"""A second run of a pass changes nothing, and every pass's output verifies, prints and parses to the same text.

The passes of the pipeline run one by one, each on the output of the one before it, and each once more on its own output.
"""

from phases import *

RECIPES = (
    ("mesh.shard=3", "recompute.policy=block", "gradient.microbatches=2", "gradient.clip_norm=1.0"),
    ("mesh.tensor=2", "mesh.shard=2", "sharding.tensor=megatron", "sharding.sequence=true", "precision.compute=bf16", "loss.mean=tokens",
     'parameters.frozen=["wpe.weight"]'),
    ("mesh.replicate=2", "mesh.shard=2", "mesh.expert=2", 'memory.offload=["parameters", "optimizer", "activations"]'),
)


@test
def every_pass_twice():
    order = [(name, options) for passes in pipeline().values() for name, options in passes]
    expect(len(order) > 40, f"expected more than 40 passes but got {len(order)}")
    first, once, twice = (SCRATCH / f"{name}.mlir" for name in ("first", "once", "twice"))
    for recipe in RECIPES:
        run("sluice-compile", gpt2_tiny(), *set_options(recipe), "--compile-to=input", "-o", first)
        # The first pass reads a module that no phase has marked.
        text = re.sub(r'model\.compiled_to = "\w+",? ?', "", first.read_text(), count=1)
        for name, options in order:
            first.write_text(text)
            for before, after in ((first, once), (once, twice)):
                run("sluice-opt", before, f"-{name}={options}" if options else f"-{name}", "--mlir-print-debuginfo", "--verify-roundtrip", "-o", after)
            expect(once.read_text() == twice.read_text(), f"{recipe}: a second run of {name} changes the module")
            text = once.read_text()


main()
