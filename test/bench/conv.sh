#!/usr/bin/env bash
# Step time of the memory tests' convolutional model with 32 channels (zoo `conv`: 224 x 224, batch 2), one process with all
# cores, in f32, and of PyTorch in one process on the same machine.
#
#   test/bench/conv.sh [STEPS]          tools from build/bin
#   PEER_PYTHON=python3                 a Python with torch; unset: Sluice's figure alone
#
# Prints one line: median step of each, without the first two, and their ratio.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
steps=${1:-12}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PATH="$root/build/bin:$PATH"

sluice-import zoo conv --set hidden=32 --set marked=false --set loss=first-row-square -o "$folder/m.mlir"
sluice-compile "$folder/m.mlir" --set "target.threads=$(nproc)" --set optimizer.name=sgd --set optimizer.lr=1e-4 \
  --set optimizer.momentum=0.9 -o "$folder/m.plan"
sluice-train "$folder/m.plan" --data random:1 --steps "$steps" --quiet --log "$folder/run.jsonl"
if [ -n "${PEER_PYTHON:-}" ]; then
  "$PEER_PYTHON" "$here/peers/conv_cpu.py" --hidden 32 --steps "$steps" >"$folder/peer.json"
fi
python3 - "$folder" <<'PYTHON'
import json, pathlib, statistics, sys

folder = pathlib.Path(sys.argv[1])
lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
ours = statistics.median(line["step_ms"] for line in lines[2:-1])
text = f"conv: sluice {ours:.1f} ms"
peer = folder / "peer.json"
if peer.exists():
    figures = json.loads(peer.read_text())
    theirs = figures["median_step_s"] * 1000
    text += f"; torch {figures['torch']} {theirs:.1f} ms; ratio {ours / theirs:.2f}"
print(text)
PYTHON
