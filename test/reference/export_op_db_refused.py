"""Writes export-op-db-refused.json: the samples of export-op-db.zip that sluice-import refuses, with the reason. It needs no torch.

usage: PYTHONPATH=test/python python3 test/reference/export_op_db_refused.py
"""

import json
import sys
import tempfile
from pathlib import Path

import op_db_samples

FOLDER = Path(__file__).parent


def main():
    entries, _ = op_db_samples.read(FOLDER / "export-op-db.zip")
    refused, total = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for sample in (sample for samples in entries.values() for sample in samples):
            total += 1
            reason = op_db_samples.reason_of(sample, Path(folder) / "sample")
            if reason is not None:
                refused[sample.name] = reason
    (FOLDER / "export-op-db-refused.json").write_text(json.dumps(refused, indent=0) + "\n")
    print(f"{len(refused)} of {total} samples are refused", file=sys.stderr)


main()
