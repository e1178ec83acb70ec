"""Mutants of compiled plans (docs/mutants.md): the checker refuses them, or they compute the same numbers. And mutants that it refuses for order or memory
compute other numbers or stop, at least some of them.

SLUICE_MUTANT_PLANS is the number of random plans (50), SLUICE_MUTANT_FIRST the number of the first (0), SLUICE_MUTANTS the number of mutants of each (6). The
number of a plan is the seed of its model and recipe, and of its mutants. SLUICE_MUTANT_RESULTS is a folder with one file for each plan: a plan that has a
file is not executed again, so a run can be ended and continued. SLUICE_MUTANT_REPORT is a file for the table of all kinds.
"""

# ONE TEST: kinds_and_counts reads the totals of mutants_of_random_plans

import random

from random_recipes import SGD, Case
from sluice import *

PLANS = int(os.environ.get("SLUICE_MUTANT_PLANS", "50"))
FIRST = int(os.environ.get("SLUICE_MUTANT_FIRST", "0"))
MUTANTS = int(os.environ.get("SLUICE_MUTANTS", "6"))
RESULTS = os.environ.get("SLUICE_MUTANT_RESULTS")

# Behaviours that the random recipes do not have: models, ranks of the mesh other than those of data, settings.
SPLIT = 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'
MODES = (
    (("transformer", "layers=2", "vocab=11"), 1, ["sharding.dim=largest"]),
    (("transformer", "layers=2", "dropout=0", "loss=cross-entropy"), 1, ["precision.compute=f16", "precision.loss_scale=dynamic"]),
    (("transformer", "layers=2", "dropout=0", "loss=cross-entropy"), 1, ["loss.mean=tokens"]),
    (("transformer", "layers=2", "dropout=0", "loss=cross-entropy"), 1, ["loss.chunk_rows=4", "precision.compute=bf16", "precision.reduce=f32"]),
    (("mlp-stack", "dim=8"), 2, ["mesh.tensor=2", SPLIT, "gradient.clip_norm=0.5"]),
    (("nested-recompute", "layers=2", "dim=8"), 1, ["recompute.policy=marked"]),
    (("mlp-sequence", "count=3", "dim=12"), 1, ['memory.offload=["parameters", "optimizer"]']),
    (("transformer", "layers=3", "dropout=0"), 1, ['memory.offload=["activations"]']),
    (("linear-mlps", "count=3", "dim=8"), 1, ["optimizer.in_backward=true"]),
    (("conv", "stem=4", "hidden=6", "height=16", "width=16"), 1, []),
    (("moe",), 2, ["mesh.expert=2", 'sharding.expert=["*.experts.*"]']),
)

Counts = collections.namedtuple("Counts", "made refused expected equivalent rounding stopped survived")
totals = collections.defaultdict(lambda: [0] * len(Counts._fields))
# Of each kind: the change, and the numbers of the properties that it violates.
changes = {}
digests = set()


def random_plan(number):
    """Every fourth plan has one of MODES on a random mesh, the others are those of the random recipes, with SGD."""
    if number % 4 != 3:
        case = Case(number)
        return Plan(case.model, case.recipe + case.step)
    r = random.Random(number)
    model, others, settings = MODES[number // 4 % len(MODES)]
    shard, replicate = r.choice([(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (1, 2)] if others == 1 else [(1, 1), (2, 1), (1, 2)])
    recipe = [f"mesh.shard={shard}", f"mesh.replicate={replicate}", f"gradient.microbatches={r.choice([1, 1, 2, 3])}"]
    recipe += r.choice([["recompute.policy=block"], []]) if not any("recompute" in setting for setting in settings) else []
    return Plan(zoo(*model), recipe + settings + r.choice([[], SGD]))


def mutate(number):
    """The report of the mutants of a plan."""
    saved = Path(RESULTS) / f"{number}.json" if RESULTS else None
    if saved and saved.exists():
        return json.loads(saved.read_text())
    done = try_run("sluice-mutants", random_plan(number).path, MUTANTS, "--seed", number, "--json")
    if not expect(done.returncode in (0, 1), f"plan {number}: exit {done.returncode}\n{done.stderr}"):
        return None
    if saved:
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.with_suffix(".new").write_text(done.stdout)
        saved.with_suffix(".new").rename(saved)
    return json.loads(done.stdout)


def write_report(path):
    """The table of all kinds (docs/mutants.md)."""
    lines = ["| kind | change | properties | " + " | ".join(Counts._fields) + " |", "|---|---|---|" + "---|" * len(Counts._fields)]
    for kind, counts in sorted(totals.items()):
        summary, properties = changes[kind]
        lines.append(f"| `{kind}` | {summary} | {', '.join(f'P{number}' for number in properties)} | " + " | ".join(map(str, counts)) + " |")
    lines.append("| total | | | " + " | ".join(str(sum(column)) for column in zip(*totals.values())) + " |")
    Path(path).write_text("\n".join(lines) + f"\n\n{PLANS} plans, {len(digests)} of them different\n")


@test
def mutants_of_random_plans():
    for number in range(FIRST, FIRST + PLANS):
        try:
            report = mutate(number)
        except Failed as failure:
            expect(False, f"plan {number}: {failure}")
            continue
        if not report:
            continue
        digests.add(report["digest"])
        for row in report["kinds"]:
            totals[row["kind"]] = [a + row[field] for a, field in zip(totals[row["kind"]], Counts._fields)]
            changes[row["kind"]] = row["summary"], row["properties"]
        for one in report["survivors"]:
            expect(False, f"plan {number}: mutant {one['mutant']}, {one['kind']}, survived: {one['reason']}")
        for one in report["unexpected"]:
            expect(False, f"plan {number}: mutant {one['mutant']}, {one['kind']}, is refused for {one['reason']}")


@test
def kinds_and_counts():
    if not totals:
        return
    counts = Counts(*map(sum, zip(*totals.values())))
    expect(counts.made >= PLANS * MUTANTS, f"expected at least {PLANS * MUTANTS} mutants but got {counts.made}")
    expect(len(totals) >= min(90, counts.made // 3), f"expected mutants of at least 90 kinds but got {len(totals)}")
    expect(counts.refused >= counts.made * 0.7, f"expected most of {counts.made} mutants refused but got {counts.refused}")
    if "SLUICE_MUTANT_REPORT" in os.environ:
        write_report(os.environ["SLUICE_MUTANT_REPORT"])


@test
def refused_mutants_are_wrong():
    """Without the checker, mutants with a wrong order or wrong memory compute other numbers, or stop, in a part of the cases: the delays do not show each."""
    program = Path(os.environ.get("SLUICE_BUILD", ROOT / "build")) / "bin" / "refused-mutants"
    plan = Plan(zoo("mlp-sequence", "count=3", "dim=12"), ["mesh.shard=2", "gradient.microbatches=2", "gradient.clip_norm=0.5"])
    counts = json.loads(run(program, plan.path, 4 * MUTANTS, 1).stdout)
    for wanted in ("P2", "P3", "P4"):
        row = counts.get(wanted, {})
        expect(row.get("mutants", 0) > row.get("same", 0), f"{wanted}: expected mutants with other numbers but got {row}")


main()
