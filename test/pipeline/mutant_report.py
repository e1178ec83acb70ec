"""The report of sluice-mutants for one plan, which is kept so that a long run can be ended and continued."""

from sluice import *


def mutant_report(number, plan, mutants, results, *options):
    """The report of `mutants` mutants of the plan that plan() compiles; the seed is `number`. `results` is a folder with a file for each number, or None: a
    number with a file is not executed again, and its mutants that survive are in a folder with its number. None after a failure."""
    saved = Path(results) / f"{number}.json" if results else None
    if saved and saved.exists():
        return json.loads(saved.read_text())
    if saved:
        survivors = saved.with_suffix("")
        survivors.mkdir(parents=True, exist_ok=True)
        options += ("--survivors", survivors)
    try:
        done = try_run("sluice-mutants", plan().path, mutants, "--seed", number, *options, "--json")
    except Failed as failure:
        expect(False, f"plan {number}: {failure}")
        return None
    if not expect(done.returncode in (0, 1), f"plan {number}: exit {done.returncode}\n{done.stderr}"):
        return None
    if saved:
        saved.with_suffix(".new").write_text(done.stdout)
        saved.with_suffix(".new").rename(saved)
    return json.loads(done.stdout)
