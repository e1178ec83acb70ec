"""The boundary values of each number that a command line takes, and of the numbers in the attributes of a model.

The numbers of a recipe are in `RecipeKeys.Bounds`.
"""

# REQUIRES: compiler

from sluice import *

LARGE = 2**64
# Flags of sluice-train: the smallest accepted number, and the flags that they require. A number without a bound is a float.
INTEGERS = {"--steps": 0, "--seed": 0, "--eval-every": 1, "--eval-batches": 1, "--log-every": 1, "--save-shard-size": 1, "--generate": 0, "--top-k": 0,
            "--stop-token": 0, "--every": 1, "--keep": 1, "--max-failed-saves": 1, "--threads": 1}
# The smallest float, and whether it is accepted.
FLOATS = {"--epochs": (0, False), "--data-weights": (0, False), "--join-timeout": (0, False), "--watchdog": (0, True), "--temperature": (0, True)}
NEEDS = {"--eval-every": ["--eval-data", "random:1"], "--eval-batches": ["--eval-data", "random:1"], "--every": ["--checkpoint", "ck"],
         "--keep": ["--checkpoint", "ck"], "--max-failed-saves": ["--checkpoint", "ck"]}


def accepts(plan, flag, value):
    """The value passes the command line. A dry run shows it: later errors have another exit code."""
    done = subprocess.run(["sluice-train", str(plan), "--data", "random:1", "--dry-run", *NEEDS.get(flag, []), f"{flag}={value}"],
                          capture_output=True, text=True, cwd=SCRATCH)
    expect(done.returncode >= 0 and done.returncode != 70, f"{flag}={value}: exit code {done.returncode}, {done.stderr}")
    if done.returncode == 2:
        expect(flag in done.stderr or "threads" in done.stderr, f"{flag}={value}: the error does not name the flag: {done.stderr}")
    return done.returncode != 2


@test
def flags_of_training():
    plan = SCRATCH / "p.plan"
    run("sluice-compile", zoo("mlp-sequence", "dim=2"), "-o", plan)
    for flag, least in INTEGERS.items():
        for value in (least - 1, -1, LARGE, 10**30, "nan", "inf", "", "1x", "0x", "1.5"):
            # A size may have a fraction and a unit.
            if not (flag == "--save-shard-size" and value == "1x"):
                expect(not accepts(plan, flag, value), f"{flag}={value} is accepted")
        expect(accepts(plan, flag, least), f"{flag}={least} is refused")
    for flag, (least, included) in FLOATS.items():
        for value in (-1, "-1e-300", "nan", "-nan", "inf", "-inf", "1e999", "", "1x"):
            expect(not accepts(plan, flag, value), f"{flag}={value} is accepted")
        # Random data have no epochs: that is another error of the command line.
        if flag != "--epochs":
            expect_equal(accepts(plan, flag, least), included, f"{flag}={least}")
            expect(accepts(plan, flag, 0.5), f"{flag}=0.5 is refused")


@test
def flags_of_import():
    config = REFERENCE / "gpt2-tiny" / "config.json"
    values = {"--batch": "2", "--sequence": "8", "--dropout": "0.5"}
    for flag in values:
        for value in ("-1", "nan", "inf", "", "1x", str(LARGE)) + (("0", "1.5") if flag != "--dropout" else ("1",)):
            given = [part for name, text in (values | {flag: value}).items() for part in (f"{name}={text}",)]
            done = subprocess.run(["sluice-import", "hf", str(config), *given, "-o", str(SCRATCH / "x.mlir")], capture_output=True, text=True)
            expect_equal(done.returncode, 2, f"{flag}={value}: {done.stderr}")
            expect(flag in done.stderr, f"{flag}={value}: {done.stderr}")


@test
def attributes_of_a_model():
    text = Path(zoo("mlp-sequence", "dim=2")).read_text()
    expect("model.batch = 2" in text, text[:300])
    for attribute in ("model.batch", "model.sequence"):
        for value, accepted in ((1, attribute == "model.sequence"), (0, False), (-1, False), (2**63 - 1, attribute == "model.sequence")):
            changed = text.replace("model.batch = 2", f"model.batch = {value}" if attribute == "model.batch" else f"model.batch = 2 : i64, {attribute} = {value}", 1)
            model = SCRATCH / "m.mlir"
            model.write_text(changed)
            done = subprocess.run(["sluice-compile", str(model), "-o", str(SCRATCH / "m.plan")], capture_output=True, text=True)
            expect(done.returncode in (0, 1), f"{attribute} = {value}: exit code {done.returncode}, {done.stderr}")
            expect_equal(done.returncode == 0, accepted, f"{attribute} = {value}: {done.stderr}")
            expect(accepted or attribute in done.stderr, f"{attribute} = {value}: {done.stderr}")


main()
