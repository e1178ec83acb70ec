"""Mutants by the fields of the schema (docs/mutants.md): the checker refuses them, or they compute the same numbers, or docs/what-is-proved.md lists the field
with the reason why a plan with another value is right for another recipe.

SLUICE_FIELD_PLANS is the number of plans: those of RECIPES (12), then random ones. SLUICE_FIELD_MUTANTS is the number of mutants of each (42). The number of a
plan, from SLUICE_FIELD_FIRST (0) on, is the seed of its mutants. SLUICE_FIELD_RESULTS is a folder with one file for each plan, so a run can be ended and
continued. SLUICE_FIELD_REPORT is a file for the counts of all fields.
"""

# ONE TEST: fields_and_counts reads the totals of mutants_of_fields

from mutant_report import mutant_report
from random_recipes import SPLIT, random_plan
from sluice import *

FIRST = int(os.environ.get("SLUICE_FIELD_FIRST", "0"))
MUTANTS = int(os.environ.get("SLUICE_FIELD_MUTANTS", "42"))
RESULTS = os.environ.get("SLUICE_FIELD_RESULTS")

STACK = ("mlp-stack", "dim=8")
TRANSFORMER = ("transformer", "layers=2", "dropout=0", "loss=cross-entropy")
RECIPES = (
    # Full shard, hybrid, recompute, host memory, accumulation.
    (STACK, ["mesh.shard=4"]),
    (("mlp-sequence", "count=3", "dim=12"), ["mesh.shard=2", "mesh.replicate=2"]),
    (("nested-recompute", "layers=2", "dim=8"), ["mesh.shard=2", "recompute.policy=marked"]),
    (("mlp-sequence", "count=3", "dim=12"), ["mesh.shard=2", 'memory.offload=["parameters", "optimizer"]']),
    (TRANSFORMER, ["mesh.shard=2", "gradient.microbatches=3", "loss.mean=tokens"]),
    # Ranks of other axes.
    (STACK, ["mesh.shard=2", "mesh.tensor=2", SPLIT]),
    (("moe",), ["mesh.shard=2", "mesh.expert=2", 'sharding.expert=["*.experts.*"]']),
    # Values that a step changes in other ways.
    (TRANSFORMER, ["mesh.shard=2", "precision.compute=f16", "precision.loss_scale=dynamic"]),
    (("transformer", "layers=2", "vocab=11"), ["mesh.shard=2", "gradient.microbatches=2"]),
    (("conv", "stem=4", "hidden=6", "height=16", "width=16"), ["mesh.shard=2", "statistics.sync=last"]),
    (("linear-mlps", "count=3", "dim=8"), ["mesh.shard=3", "gradient.clip_norm=0.5", "optimizer.name=sgd", "optimizer.momentum=0.9"]),
    (TRANSFORMER, ["mesh.replicate=2", "lr_schedule.name=cosine", "lr_schedule.warmup_steps=3", "lr_schedule.total_steps=20"]),
)
PLANS = int(os.environ.get("SLUICE_FIELD_PLANS", len(RECIPES)))

Counts = collections.namedtuple("Counts", "made refused expected equivalent rounding stopped survived")
totals = collections.defaultdict(lambda: [0] * len(Counts._fields))
digests = set()


def listed_fields():
    """The fields that the page lists, as `Table.field`."""
    page = (ROOT / "docs" / "what-is-proved.md").read_text()
    section = re.search(r"^## Fields that a plan alone cannot check$(.*?)^## ", page, re.M | re.S)
    return set(re.findall(r"^\| `(\w+\.\w+)` \|", section[1], re.M)) if section else set()


def plan(number):
    if number >= len(RECIPES):
        return random_plan(number)
    model, recipe = RECIPES[number]
    return Plan(zoo(*model), recipe)


@test
def mutants_of_fields():
    listed = listed_fields()
    lines = (line.split(" | ") for line in (ROOT / "runtime" / "plan" / "plan-fields.txt").read_text().splitlines())
    expect_equal({line[0] for line in lines if "a plan alone cannot check" in line[-1]}, listed,
                 "fields of runtime/plan/plan-fields.txt that a plan alone cannot check, and of docs/what-is-proved.md")
    for number in range(FIRST, FIRST + PLANS):
        report = mutant_report(number, lambda: plan(number), MUTANTS, RESULTS, "--fields")
        if not report:
            continue
        digests.add(report["digest"])
        for row in report["kinds"]:
            totals[row["kind"]] = [a + row[field] for a, field in zip(totals[row["kind"]], Counts._fields)]
        for one in report["survivors"]:
            # A mesh of very many ranks does not end in time.
            expect(one["reason"] in ("other numbers", "did not end") and one["kind"] in listed,
                   f"plan {number}: mutant {one['mutant']}, {one['kind']}, survived: {one['reason']}")


@test
def fields_and_counts():
    if not totals:
        return
    counts = Counts(*map(sum, zip(*totals.values())))
    expect(counts.made >= PLANS * MUTANTS, f"expected at least {PLANS * MUTANTS} mutants but got {counts.made}")
    expect(counts.survived > 0, "expected other numbers for some of the listed fields")
    expect(len(totals) >= 150, f"expected mutants of at least 150 fields but got {len(totals)}")
    if "SLUICE_FIELD_REPORT" in os.environ:
        lines = ["| field | " + " | ".join(Counts._fields) + " |", "|---|" + "---|" * len(Counts._fields)]
        lines += [f"| `{field}` | " + " | ".join(map(str, row)) + " |" for field, row in sorted(totals.items())]
        lines.append("| total | " + " | ".join(map(str, counts)) + " |")
        Path(os.environ["SLUICE_FIELD_REPORT"]).write_text("\n".join(lines) + f"\n\n{PLANS} plans, {len(digests)} of them different\n")


main()
