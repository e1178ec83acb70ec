"""generate_families.py FAMILIES: the most probable text of each family's checkpoint is that of transformers.

Cases of test/reference/families whose expected.json has `generated`: the tokens after `prompt`. All are bytes.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from sluice import run


def main():
    compared = failed = 0
    for case in sorted(Path(sys.argv[1]).iterdir()):
        expected = json.loads((case / "expected.json").read_text())
        if "generated" not in expected:
            continue
        with tempfile.TemporaryDirectory() as folder:
            model, plan = Path(folder) / "m.mlir", Path(folder) / "m.plan"
            run("sluice-import", "hf", case / "config.json", "--batch", 1, "--sequence", expected["sequence"], "--allow-longer", "-o", model)
            run("sluice-compile", model, "-o", plan)
            command = ["sluice-train", plan, "--init", case, "--prompt", expected["prompt"], "--temperature", "0", "--generate"]
            text = subprocess.run([*command, str(len(expected["generated"]))], check=True, capture_output=True).stdout
        wanted = expected["prompt"].encode() + bytes(expected["generated"]) + b"\n"
        compared += 1
        if text != wanted:
            failed += 1
            print(f"{case.name}: expected {wanted} but got {text}")
    print(f"{compared} texts, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
