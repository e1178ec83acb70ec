"""what_if.py ROWS...: the JSON of `sluice-compile --what-if` and its relatives.

ROWS CONFIG RECIPE MACHINE BATCH SEQUENCE: each row has the peak, the class and the step time of the plan that import and compilation with
its settings give.
ROWS: the rows on the front are those for which no other needs less memory and time.
ROWS batch|sequence: the first row fits, and the second, the next value, does not.
"""

import json
import sys

from sluice import set_options, try_run


def output(*words):
    done = try_run(*words)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def check_plans(rows, config, recipe, machine, batch, sequence):
    for row in rows:
        settings = {"batch": batch, "sequence": sequence, **row["settings"]}
        output("sluice-import", "hf", config, "--batch", str(settings.pop("batch")), "--sequence", str(settings.pop("sequence")), "-o", "row.mlir")
        output("sluice-compile", "row.mlir", "--recipe", recipe, *set_options([f"{key}={json.dumps(value)}" for key, value in settings.items()]), "-o", "row.plan")
        plan = json.loads(output("sluice-plan", "describe", "row.plan", "--json"))
        device = next(arena for arena in plan["arenas"] if arena["space"] == "device")
        classes = plan["memory"]["peak"]["by_class"]
        largest = max(classes, key=classes.get)
        step = json.loads(output("sluice-plan", "simulate", "row.plan", "--machine", machine, "--json"))["step_s"]
        expected = (device["bytes"] + device["workspace"], largest, classes[largest], step, True, None)
        found = tuple(row[key] for key in ("peak", "largest_class", "largest_class_bytes", "step_s", "feasible", "error"))
        if found != expected:
            sys.exit(f"{row['settings']}: expected {expected} but got {found}")
    print(f"{len(rows)} variants agree")


def check_front(rows):
    for row in rows:
        better = [other for other in rows if other["feasible"] and other["peak"] <= row["peak"] and other["step_s"] <= row["step_s"]
                  and (other["peak"], other["step_s"]) != (row["peak"], row["step_s"])]
        same = [other for other in rows if (other["peak"], other["step_s"]) == (row["peak"], row["step_s"])]
        if row["pareto"] != (row["feasible"] and not better and same[0] is row):
            sys.exit(f"{row}: {'is' if row['pareto'] else 'is not'} on the front, with {len(better)} better variants")
    print(f"{len(rows)} variants, {sum(row['pareto'] for row in rows)} on the front")


def check_fit(rows, key):
    fits, exceeds = rows
    if not fits["feasible"] or exceeds["feasible"] or exceeds["settings"][key] != fits["settings"][key] + 1:
        sys.exit(f"expected neighbours, of which the first fits, but got {rows}")
    print(f"{fits['settings'][key]} is the largest")


def main():
    path, *rest = sys.argv[1:]
    with open(path) as file:
        result = json.load(file)
    if len(rest) == 5:
        check_plans(result["rows"], *rest)
    elif rest:
        check_fit(result["rows"], rest[0])
    else:
        check_front(result["rows"])
    best = result["rows"][result["best"]]
    if not best["feasible"]:
        sys.exit(f"the best variant is not feasible: {best}")


if __name__ == "__main__":
    main()
