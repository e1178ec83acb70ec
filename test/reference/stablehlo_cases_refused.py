"""Writes stablehlo-cases-refused.json: the cases of stablehlo-cases.zip that sluice-import refuses, with the reason. It needs no JAX.

usage: PYTHONPATH=test/python python3 test/reference/stablehlo_cases_refused.py
"""

import json
import sys
import tempfile
from pathlib import Path

import stablehlo_samples

FOLDER = Path(__file__).parent


def main():
    cases, _ = stablehlo_samples.read(FOLDER / "stablehlo-cases.zip")
    with tempfile.TemporaryDirectory() as folder:
        reasons = {name: stablehlo_samples.reason_of(case, Path(folder) / "case") for name, case in cases.items()}
    refused = {name: reason for name, reason in reasons.items() if reason is not None}
    (FOLDER / "stablehlo-cases-refused.json").write_text(json.dumps(refused, indent=0) + "\n")
    print(f"{len(refused)} of {len(cases)} cases are refused", file=sys.stderr)


main()
