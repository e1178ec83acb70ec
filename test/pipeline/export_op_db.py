"""Samples of torch's op database, exported by torch: the loss and each element of each gradient are those of f64 to a few roundings of f32.

The samples that cannot be imported are listed with the reason in test/reference/export-op-db-refused.json, which test/reference/export_op_db_refused.py writes.
"""

import op_db_samples
from sluice import *

ENTRIES, COUNTS = op_db_samples.read(REFERENCE / "export-op-db.zip")
REFUSED = json.loads((REFERENCE / "export-op-db-refused.json").read_text())
SAMPLES = [sample for samples in ENTRIES.values() for sample in samples]
IMPORTED = [sample for sample in SAMPLES if sample.name not in REFUSED]
# A step of SGD with a rate of a power of two gives gradients with almost no rounding.
RATE = 1024.0
# Samples in one program, so that they share the start of the programs.
GROUP = 60
# Half a unit in the last place of f32.
ROUNDING = 2.0 ** -24


def check_groups(part, parts):
    samples = IMPORTED[part * len(IMPORTED) // parts:(part + 1) * len(IMPORTED) // parts]
    compared = 0
    for first in range(0, len(samples), GROUP):
        compared += check_group(f"{part}-{first}", samples[first:first + GROUP])
    expect(compared > 10 * len(samples), f"only {compared} elements of {len(samples)} samples are compared")


def check_group(name, samples):
    archive, model, done = op_db_samples.import_samples(samples, SCRATCH / name)
    if done.returncode != 0:
        for sample in samples:
            _, _, done = op_db_samples.import_samples([sample], SCRATCH / name)
            expect(done.returncode == 0, f"{sample.name}: {done.stderr}")
        raise Failed(f"{name}: {done.stderr}")
    data, weights = model.with_suffix(".data.safetensors"), model.with_suffix(".safetensors")
    data.write_bytes(archive.file())
    done = train(Plan(model, ["optimizer.name=sgd", f"optimizer.lr={RATE}"]), "--init", weights, steps=1, data=data)
    start, after = tensors(weights.read_bytes()), tensors(done.weights)
    compared = 0
    for i, sample in enumerate(samples):
        stored = sample.stored
        compared += check(start, after, f"scale{i}", [stored["loss"]], stored["added"], stored["errors"]["loss"], f"{sample.name}: loss")
        for key, gradient in stored["gradients"].items():
            compared += check(start, after, f"s{i}_{key}", gradient, max(map(abs, gradient)), stored["errors"][key], f"{sample.name}: gradient of '{key}'")
    return compared


def check(start, after, key, wanted, size, error, what):
    """`size` is the size of what is added up, and `error` that of torch's f32: where digits cancel no f32 is better."""
    if key not in after:
        expect(not any(wanted), f"{what}: the parameter is not in the plan, and its gradient is {wanted}")
        return 0
    compared = 0
    for i, (a, b, value) in enumerate(zip(start[key], after[key], wanted, strict=True)):
        # A parameter that is infinite or NaN does not change by a step.
        if not math.isfinite(a):
            continue
        # A step is rounded with its parameter.
        found, allowed = (a - b) / RATE, 16 * ROUNDING * size + 4 * error + 2 * ROUNDING * abs(a) / RATE
        compared += 1
        if not expect(abs(found - value) <= allowed, f"{what}: element {i}, expected {value} within {allowed:.3g} but got {found}"):
            break
    return compared


@test
def first_quarter():
    check_groups(0, 4)


@test
def second_quarter():
    check_groups(1, 4)


@test
def third_quarter():
    check_groups(2, 4)


@test
def fourth_quarter():
    check_groups(3, 4)


@test
def refused_samples():
    """Each with the reason of the list."""
    refused = [sample for sample in SAMPLES if sample.name in REFUSED]
    expect_equal(sorted(sample.name for sample in refused), sorted(REFUSED), "samples that are refused")
    for sample in refused:
        expect_equal(op_db_samples.reason_of(sample, SCRATCH / "refused"), REFUSED[sample.name], sample.name)


@test
def torch_leaves_few_digits():
    """A sample whose error in torch's f32 is large tells little; few are."""
    inaccurate = [sample.name for sample in IMPORTED
                  if any(sample.stored["errors"][key] > 1e-3 * max(map(abs, gradient)) > 0 for key, gradient in sample.stored["gradients"].items())]
    expect(len(inaccurate) <= len(IMPORTED) // 100, f"{len(inaccurate)} samples: {inaccurate}")


main()
