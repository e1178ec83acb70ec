"""Mutants of compiled plans (docs/mutants.md): the checker refuses them, or they compute the same numbers. And mutants that it refuses for order or memory
compute other numbers or stop, at least some of them.

SLUICE_MUTANT_PLANS is the number of random plans (50), SLUICE_MUTANT_FIRST the number of the first (0), SLUICE_MUTANTS the number of mutants of each (6). The
number of a plan is the seed of its model and recipe, and of its mutants. SLUICE_MUTANT_RESULTS is a folder with one file for each plan: a plan that has a
file is not executed again, so a run can be ended and continued. SLUICE_MUTANT_REPORT is a file for the table of all kinds.
"""

# ONE TEST: kinds_and_counts reads the totals of mutants_of_random_plans

from mutant_report import mutant_report
from random_recipes import random_plan
from sluice import *

PLANS = int(os.environ.get("SLUICE_MUTANT_PLANS", "50"))
FIRST = int(os.environ.get("SLUICE_MUTANT_FIRST", "0"))
MUTANTS = int(os.environ.get("SLUICE_MUTANTS", "6"))
RESULTS = os.environ.get("SLUICE_MUTANT_RESULTS")

Counts = collections.namedtuple("Counts", "made refused expected equivalent rounding stopped survived")
totals = collections.defaultdict(lambda: [0] * len(Counts._fields))
# Of each kind: the change, and the numbers of the properties that it violates.
changes = {}
digests = set()


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
        report = mutant_report(number, lambda: random_plan(number), MUTANTS, RESULTS)
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
