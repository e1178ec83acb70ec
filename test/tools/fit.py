"""fit.py FIT.json: the rows of sluice-fit, and whether the largest that fits was found.
fit.py FIT.json CONFIG.json SEQUENCE: whether they are the plans of sluice-compile.
fit.py FIT.json calls: whether the calls of PyTorch are Python.
fit.py FIT.json OTHER.json: whether the rows are equal."""

import ast
import json
import subprocess
import sys
from pathlib import Path


def peak_of(row, rows, config, sequence, limit):
    subprocess.run(["sluice-import", "hf", config, "--batch", str(rows), "--sequence", sequence, "--train-only", "-o", "row.mlir"], check=True)
    recipe = row["recipe"] | {"target.device": "cuda", "target.arch": "sm_90", "memory.budget": limit}
    settings = [word for key, value in recipe.items() for word in ("--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}")]
    subprocess.run(["sluice-compile", "row.mlir", *settings, "-o", "row.plan"], check=True)
    arena = json.loads(subprocess.run(["sluice-plan", "memory", "row.plan", "--json"], check=True, capture_output=True, text=True).stdout)
    machine = Path(__file__).resolve().parents[2] / "tools/machines/h100-8x4.toml"
    step = json.loads(subprocess.run(["sluice-plan", "simulate", "row.plan", "--machine", machine, "--json"], check=True, capture_output=True, text=True).stdout)
    device = next(space for space in arena["spaces"] if space["space"] == "device")
    return device["bytes"] + device["workspace"], step["step_s"]


def check_rows(found):
    meshes = sorted({"{replicate}x{shard}x{tensor}".format(**row["mesh"]) for row in found["rows"]})
    print(f"meshes {' '.join(meshes)}, rows {' '.join(map(str, sorted({row['rows'] for row in found['rows']})))}, {found['plans']} plans")
    settings = {}
    for row in found["rows"]:
        settings.setdefault((str(row["mesh"]), row["recompute"], row["offload"], row["precision"]), {})[row["rows"]] = row["fits"]
    for name, rows in settings.items():
        largest = max(count for count, fits in rows.items() if fits)
        smaller = [count for count in (2**n for n in range(9)) if count < largest]
        if largest < 256 and rows.get(2 * largest) is not False:
            sys.exit(f"{name}: expected {2 * largest} rows that do not fit but got {rows}")
        if not all(rows.get(count) for count in (smaller if found["assertions"] else smaller[-1:])):
            sys.exit(f"{name}: expected smaller rows that fit but got {rows}")
    kind = "all powers of two that fit, and the double of the largest" if found["assertions"] else "the largest number of rows fits and its double does not"
    print(f"{len(settings)} settings: {kind}")


def main():
    found = json.loads(Path(sys.argv[1]).read_text())
    if len(sys.argv) == 2:
        return check_rows(found)
    if sys.argv[2] == "calls":
        for row in found["rows"]:
            ast.parse(row["calls"])
        print(f"{len(found['rows'])} rows have calls that are Python")
        return
    if len(sys.argv) == 3:
        other = json.loads(Path(sys.argv[2]).read_text())
        if found["rows"] != other["rows"]:
            sys.exit(f"expected equal rows but got {found['rows']} and {other['rows']}")
        print(f"{len(found['rows'])} rows are equal")
        return
    for row in found["rows"]:
        peak, seconds = peak_of(row, row["rows"], sys.argv[2], sys.argv[3], found["gpus"]["limit"])
        if (row["peak"], row["step_s"]) != (peak, seconds):
            sys.exit(f"{row}: expected {peak} bytes and {seconds} s")
    print(f"{len(found['rows'])} rows agree, {found['plans']} plans")


main()
