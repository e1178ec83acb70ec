#!/usr/bin/env bash
# Processor time of the checker, its share of the time of sluice-compile, which runs it too, and memory of the process that reads and
# checks the plan: GPT-2 124M, 200 and 400 small blocks in units of several sizes, and Llama 405B on 16,384 ranks.
#
#   test/bench/check.sh [RUNS]          tools from build/bin; the least time of RUNS (default 20; at most 3 compilations)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
runs=${1:-20}
export PATH=${SLUICE_BUILD:-$root/build}/bin:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

measure() { # NAME CONFIG BATCH SEQUENCE [SETTING...]
  local settings=()
  for setting in "${@:5}"; do settings+=(--set "$setting"); done
  sluice-import hf "$2" --batch "$3" --sequence "$4" -o model.mlir
  python3 - "$1" "$runs" "${settings[@]}" <<'PYTHON'
import json, os, subprocess, sys

name, runs, settings = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def run(*command):
    """What the command prints, its processor time and its largest resident set in KiB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    text = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{name}: {command[0]} failed")
    return text, used.ru_utime + used.ru_stime, used.ru_maxrss


compilation = min(run("sluice-compile", "model.mlir", *settings, "-o", "model.plan")[1] for _ in range(min(runs, 3)))
checks = [run("sluice-plan", "check", "model.plan", "--json") for _ in range(runs)]
best = min((json.loads(text) for text, _, _ in checks), key=lambda report: report["seconds"])
proof = sum(stage["seconds"] for stage in best["stages"] if "P9" in stage["properties"])
print(f"{name}: plan {os.path.getsize('model.plan') / 1e6:.1f} MB, check {1000 * best['seconds']:.1f} ms (P9 {1000 * proof:.1f} ms), "
      f"compilation {1000 * compilation:.0f} ms, share {100 * best['seconds'] / compilation:.0f} % (P9 {100 * proof / compilation:.0f} %), "
      f"memory {max(memory for _, _, memory in checks) / 1024:.0f} MiB", flush=True)
PYTHON
}

config() { # NAME JSON
  printf '%s' "$2" > "$1.json"
}
config gpt2 '{"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}'
for layers in 200 400; do
  config blocks$layers "{\"model_type\": \"gpt2\", \"n_layer\": $layers, \"n_embd\": 64, \"n_head\": 4, \"vocab_size\": 256, \"n_positions\": 64}"
done
config llama '{"model_type": "llama", "vocab_size": 128256, "num_key_value_heads": 8, "max_position_embeddings": 131072,
  "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "rope_theta": 500000.0, "hidden_size": 16384,
  "intermediate_size": 53248, "num_hidden_layers": 126, "num_attention_heads": 128}'
measure "GPT-2 124M, 4 ranks" gpt2.json 4 1024 mesh.shard=4
measure "GPT-2 124M, 32 ranks, 8 micro-batches" gpt2.json 64 1024 mesh.shard=8 mesh.replicate=4 \
  'precision.compute="bf16"' gradient.microbatches=8 gradient.clip_norm=1.0
for units in '"root"' '"block"' '"bytes:65536"'; do
  for layers in 200 400; do
    measure "$layers blocks, sharding.units = $units, 4 ranks" blocks$layers.json 2 16 mesh.shard=4 "sharding.units=$units"
  done
done
measure "Llama 405B, 16384 ranks" llama.json 1 8192 mesh.shard=16384 'recompute.policy="block"' 'precision.compute="bf16"'
