"""fit.py FIT.json [CONFIG.json SEQUENCE]: the rows of sluice-fit; with a config, whether they are the plans of sluice-compile."""

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


def main():
    found = json.loads(Path(sys.argv[1]).read_text())
    if len(sys.argv) == 2:
        meshes = sorted({"{replicate}x{shard}x{tensor}".format(**row["mesh"]) for row in found["rows"]})
        print(f"meshes {' '.join(meshes)}, rows {' '.join(map(str, sorted({row['rows'] for row in found['rows']})))}, {found['plans']} plans")
        return
    for row in found["rows"]:
        peak, seconds = peak_of(row, row["rows"], sys.argv[2], sys.argv[3], found["gpus"]["limit"])
        if (row["peak"], row["step_s"]) != (peak, seconds):
            sys.exit(f"{row}: expected {peak} bytes and {seconds} s")
    print(f"{len(found['rows'])} rows agree, {found['plans']} plans")


main()
