#!/usr/bin/env bash
# Step time of models from archives of torch.export in f32, one process with all cores, next to PyTorch eager and torch.compile
# on the same machine: resnet18, vit, bert, nanogpt and unet, all small (test/bench/peers/own_model.py).
#
#   PEER_PYTHON=python3 test/bench/own-model.sh [ROUNDS] [NAME...]      a Python with torch, torchvision, transformers and safetensors
#   STEPS=8                                                             steps of a round
#   KEEP=DIR                                                            keeps archives, plans and logs there
#
# The three run in turns, each in a new process. Prints one line per model: the median step of all rounds of each, without the
# first two steps of a round, and the medians of the rounds' ratios.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
rounds=${1:-5}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- resnet18 vit bert nanogpt unet
steps=${STEPS:-8}
kept=${KEEP:-}
folder=${kept:-$(mktemp -d)}
[ -n "$kept" ] || trap 'rm -rf "$folder"' EXIT
export PATH="$root/build/bin:$PATH"
for name in "$@"; do
  model=$folder/$name
  mkdir -p "$model"
  "$PEER_PYTHON" "$here/peers/own_model.py" export "$name" "$model"
  sluice-import export "$model/model.pt2" -o "$model/model.mlir" --weights "$model/weights.safetensors" > "$model/import.log" 2>&1
  sluice-compile "$model/model.mlir" --set "target.threads=$(nproc)" --set optimizer.name=adamw --set optimizer.lr=1e-4 --set optimizer.weight_decay=0 -o "$model/model.plan"
  rm -f "$model"/*.round
  for _ in $(seq "$rounds"); do
    sluice-train "$model/model.plan" --init "$model/weights.safetensors" --data "$model/data.safetensors" --order sequential --steps "$steps" --quiet --log "$model/run.jsonl"
    cat "$model/run.jsonl" >> "$model/sluice.round"
    for form in eager compile; do
      "$PEER_PYTHON" "$here/peers/own_model.py" run "$name" "$model" "$form" "$steps" >> "$model/$form.round"
    done
  done
  python3 - "$name" "$model" <<'PYTHON'
import json, pathlib, statistics, sys

name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
lines = {form: [json.loads(line) for line in (folder / f"{form}.round").read_text().splitlines()] for form in ("sluice", "eager", "compile")}
rounds = {form: [line["step_ms"][2:] for line in lines[form]] for form in ("eager", "compile")}
# A log of a round begins with step 1.
ours = []
for line in lines["sluice"]:
    if "step_ms" in line and "step" in line:
        if line["step"] == 1:
            ours.append([])
        if line["step"] > 2:
            ours[-1].append(line["step_ms"])
rounds["sluice"] = ours
median = {form: [statistics.median(times) for times in each] for form, each in rounds.items()}
ratio = {form: statistics.median(a / b for a, b in zip(median["sluice"], median[form])) for form in ("eager", "compile")}
figures = {form: statistics.median(each) for form, each in median.items()}
print(f"{name}: sluice {figures['sluice']:.1f} ms; torch {lines['eager'][0]['torch']} eager {figures['eager']:.1f} ms, compiled {figures['compile']:.1f} ms; "
      f"ratio {ratio['eager']:.2f}, {ratio['compile']:.2f}")
PYTHON
done
