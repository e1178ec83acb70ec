"""not_yet.py README PLAN MODEL: each name in the README's "not yet" row is refused by an error that contains the name.

Options are in no help text. Keys of the recipe that take only their default are in the row too.
"""

import re
import sys
from pathlib import Path

from sluice import set_options, try_run

SETTINGS = {
    "mesh.context": ["mesh.context=2"], "mesh.pipeline": ["mesh.pipeline=2"], "1f1b": ["schedule.order=1f1b"],
}


def commands(name, plan, model):
    """The commands that use the feature."""
    if name in SETTINGS:
        return [["sluice-compile", model, *set_options(["mesh.shard=2", setting]), "-o", "x.plan"] for setting in SETTINGS[name]]
    if name.startswith("--"):
        return [["sluice-train", plan, "--data", "random:1", name, "1"]]
    return []


def main():
    readme, plan, model = sys.argv[1:]
    row = re.search(r"^\| not yet \|.*$", Path(readme).read_text(), re.M)[0]
    names = re.findall(r"`([^`]+)`", row)
    problems = [f"'{name}' is not in the row" for name in SETTINGS if name not in names]
    table = try_run("sluice-compile", "--recipe-keys").stdout
    problems += [f"'{key}' is not in the row" for key in re.findall(r"^\| `([\w.]+)` \| [^|]+ \| only the default", table, re.M)
                 if key not in names]
    for name in names:
        attempts = commands(name, plan, model)
        if not attempts:
            problems.append(f"no command uses '{name}'")
        for command in attempts:
            done = try_run(*command)
            code = 1 if name in SETTINGS else 2
            if done.returncode != code or not done.stderr.startswith("error: ") or name not in done.stderr:
                problems.append(f"{' '.join(command)}: expected exit code {code} and an error with '{name}' but got exit code {done.returncode} "
                                f"and {done.stderr!r}")
    for tool in (["sluice-compile"], ["sluice-train"], ["sluice-plan"], ["sluice-plan", "memory"]):
        shown = set(re.findall(r"--[\w-]+", try_run(*tool, "--help").stdout))
        problems += [f"{' '.join(tool)} --help shows '{name}'" for name in names if name in shown]
    print("\n".join(problems) or f"{len(names)} features are refused by name")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
