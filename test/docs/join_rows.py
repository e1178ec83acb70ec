"""join_rows.py FOLDER FILE: the batches inputs.0 to inputs.2 of a model of test/reference/export, one after another, in one safetensors file."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from sluice import join_batches

Path(sys.argv[2]).write_bytes(join_batches([Path(sys.argv[1]) / f"inputs.{i}.safetensors" for i in range(3)]))
