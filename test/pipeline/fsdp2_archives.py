"""The account of FSDP2 against PyTorch's tracker, for models that are imported from archives of torch.export (test/reference/fsdp2_archives.py)."""

from sluice import *

MEASURED = json.loads((REFERENCE / "fsdp2-archives.json").read_text())["models"]
TOLERANCE = 0.03
# Cases with another difference, between these bounds.
DIFFERENT = {
    ("gpt2", True): (-0.08, -0.05),  # Probably temporaries in the backward of a GELU that is written with seven ops.
    ("gpt2-dropout", True): (-0.15, -0.12),  # The same, and those of attention with dropout by the ops of the CPU.
    ("t5", False): (0.03, 0.04),  # Probably masks of attention that the module has in torch.export alone.
}


def account(model, case):
    """The units of the reference, each a list of modules."""
    units = ", ".join(f'"{path}"=["{path}"]' for path in model["units"])
    settings = [f"mesh.shard={case['shard']}", f"sharding.units={{{units}}}", "optimizer.name=adamw"]
    if case["checkpoint"]:
        settings.append("recompute.policy=block")
    if case["compute"]:
        settings.append("precision.compute=bf16")
    archive = SCRATCH / f"{model['name']}.mlir"
    if not archive.exists():
        run("sluice-import", "export", REFERENCE / model["archive"], "--train-only", "-o", archive)
    plan = Plan(archive, settings)
    return json.loads(run("sluice-plan", "memory", plan.path, "--account", "fsdp2", "--loss-in-model", "--json").stdout)


@test
def peaks_are_those_of_the_tracker():
    expect_equal((len(MEASURED), sum(len(model["cases"]) for model in MEASURED)), (10, 19), "models and cases")
    unused = set(DIFFERENT)
    for model in MEASURED:
        for case in model["cases"]:
            found = account(model, case)
            error = found["peak"] / case["peak"] - 1
            print(f"{model['name']:14} shard {case['shard']} checkpoint {case['checkpoint']!s:5} {case['compute'] or 'f32':9} {case['peak']:>11} {found['peak']:>11} {error:+.2%}")
            unused.discard((model["name"], case["checkpoint"]))
            least, most = DIFFERENT.get((model["name"], case["checkpoint"]), (-TOLERANCE, TOLERANCE))
            expect(least <= error <= most, f"{model['name']}, {case}: expected a peak of {case['peak']} from {least:+.0%} to {most:+.0%} but got {found['peak']}")
    expect(not unused, f"cases with a known difference that were not measured: {sorted(unused)}")


main(no_empty_loops=True)
