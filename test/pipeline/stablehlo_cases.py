"""StableHLO's own test data: each element of the result of each case is that of the file.

The cases that cannot be imported are listed with the reason in test/reference/stablehlo-cases-refused.json, which test/reference/stablehlo_cases_refused.py writes.
"""

import stablehlo_samples
from sluice import *

CASES, COUNTS = stablehlo_samples.read(REFERENCE / "stablehlo-cases.zip")
REFUSED = json.loads((REFERENCE / "stablehlo-cases-refused.json").read_text())
IMPORTED = [name for name in CASES if name not in REFUSED]
# A step of SGD with a rate of a power of two gives gradients with almost no rounding.
RATE = 1024.0
# Cases in one program, so that they share the start of the programs.
GROUP = 40


def check_group(number, names):
    path = SCRATCH / f"group{number}"
    samples, model, done = stablehlo_samples.import_samples([CASES[name] for name in names], path)
    expect(done.returncode == 0, f"group {number}: {done.stderr}")
    data, weights = path.with_suffix(".data.safetensors"), path.with_suffix(".safetensors")
    data.write_bytes(stablehlo_samples.safetensors({"one": ([1], [1.0])}))
    text = model.read_text()
    weights.write_bytes(stablehlo_samples.safetensors({name: value for name, value in samples.weights.items() if f"model.parameter @{name} :" in text}))
    done = train(Plan(model, ["optimizer.name=sgd", f"optimizer.lr={RATE}"]), "--init", weights, steps=1, data=data)
    after = tensors(done.weights)
    for i, name in enumerate(names):
        wanted = CASES[name]["expected"][1]
        # A result that depends on no input is left out with its parameter.
        size = max(map(abs, wanted), default=0)
        for at, (a, value) in enumerate(zip(after[f"p{i}"], wanted, strict=True)):
            found = -a / RATE
            if not expect(abs(found - value) <= 2e-5 * abs(value) + 4e-6 * size, f"{name}: element {at}, expected {value} but got {found}"):
                break


@test
def results():
    expect(len(IMPORTED) > 100, f"only {len(IMPORTED)} cases")
    for number in range(0, len(IMPORTED), GROUP):
        check_group(number, IMPORTED[number:number + GROUP])


@test
def refused_cases():
    """Each for the reason that is listed."""
    for name, reason in REFUSED.items():
        expect_equal(stablehlo_samples.reason_of(CASES[name], SCRATCH / "refused"), reason, name)


main()
