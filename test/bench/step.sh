#!/usr/bin/env bash
# Step time and peak memory of GPT-2 (6 layers, 384 wide, vocabulary 5,000, batch 4 x 256) on 2 ranks, in f32, bf16 and f16,
# beside PyTorch FSDP2 on the same machine, in one run; f16 by itself, with the loss scaled.
#
#   test/bench/step.sh [STEPS [CONFIG]] tools from build/bin; CONFIG: another Hugging Face config (test/bench/step/llama.json)
#   PEER_PYTHON=python3                 a Python with torch and transformers; unset: Sluice's figures alone
#
# Prints one line a precision: median step of each, ratio, peak bytes of one rank's process (the peer's resident growth
# after its imports; ours measured over the whole process, divided by the ranks), ratio. Of f32 also what the library's
# products alone take of it (bench-plan): what no order of them can go below.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
steps=${1:-12}
config=${2:-$here/step/config.json}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PATH="$root/build/bin:$PATH"

sluice-import hf "$config" --batch 4 --sequence 256 -o "$folder/m.mlir"
for precision in f32 bf16 f16; do
  scale=none
  [ $precision = f16 ] && scale=1024.0
  sluice-compile "$folder/m.mlir" --recipe "$here/step/recipe.toml" --set precision.compute=$precision \
    --set precision.loss_scale=$scale -o "$folder/$precision.plan"
  sluice-train "$folder/$precision.plan" --data random:1 --steps "$steps" --quiet --log "$folder/$precision.jsonl"
  if [ -n "${PEER_PYTHON:-}" ] && [ $precision != f16 ]; then
    "$PEER_PYTHON" "$here/peers/fsdp2_cpu.py" "$config" --ranks 2 --batch 4 --sequence 256 \
      --steps "$steps" --precision $precision >"$folder/$precision.peer.json" 2>/dev/null
  fi
  [ $precision != f32 ] || bench-plan "$folder/f32.plan" "$steps" >"$folder/f32.products"
done
python3 - "$folder" <<'PYTHON'
import json, pathlib, statistics, sys

folder = pathlib.Path(sys.argv[1])
for precision in ("f32", "bf16", "f16"):
    lines = [json.loads(line) for line in (folder / f"{precision}.jsonl").read_text().splitlines()]
    summary = lines[-1]["summary"]
    ours = statistics.median(line["step_ms"] for line in lines[2:-1])
    memory = summary["measured_process"] / 2
    text = f"{precision}: sluice {ours:.1f} ms, {memory / 2**20:.1f} MiB a rank"
    peer = folder / f"{precision}.peer.json"
    if peer.exists():
        figures = json.loads(peer.read_text())
        theirs = figures["median_step_s"] * 1000
        resident = max(p - b for p, b in zip(figures["peak_rss_bytes"], figures["rss_before_model_bytes"]))
        text += f"; torch {figures['torch']} FSDP2 {theirs:.1f} ms, {resident / 2**20:.1f} MiB a rank"
        text += f"; ratio time {ours / theirs:.2f}, memory {memory / resident:.2f}"
    print(text)
    if precision == "f32":
        print("".join(f"  {line}" for line in (folder / "f32.products").read_text().splitlines(True)[:2]), end="")
PYTHON
