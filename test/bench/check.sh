#!/usr/bin/env bash
# Processor time of the checker, and memory of the process that reads and checks the plan: GPT-2 124M, the demo's GPT-2, 400 small
# blocks in one unit, and Llama 405B on 16,384 ranks.
#
#   test/bench/check.sh [RUNS]          tools from build/bin; the least time of RUNS (default 20)
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
  sluice-compile model.mlir "${settings[@]}" -o model.plan
  python3 - "$1" "$runs" <<'PYTHON'
import json, os, subprocess, sys

name, runs = sys.argv[1], int(sys.argv[2])
seconds, memory = [], 0
for _ in range(runs):
    process = subprocess.Popen(["sluice-plan", "check", "model.plan", "--json"], stdout=subprocess.PIPE)
    seconds.append(json.load(process.stdout)["seconds"])
    memory = max(memory, os.wait4(process.pid, 0)[2].ru_maxrss)
print(f"{name}: plan {os.path.getsize('model.plan') / 1e6:.1f} MB, check {1000 * min(seconds):.1f} ms, "
      f"memory {memory / 1024:.0f} MiB", flush=True)
PYTHON
}

config() { # NAME JSON
  printf '%s' "$2" > "$1.json"
}
config gpt2 '{"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257, "n_positions": 1024}'
config blocks '{"model_type": "gpt2", "n_layer": 400, "n_embd": 64, "n_head": 4, "vocab_size": 256, "n_positions": 64}'
config llama '{"model_type": "llama", "vocab_size": 128256, "num_key_value_heads": 8, "max_position_embeddings": 131072,
  "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "rope_theta": 500000.0, "hidden_size": 16384,
  "intermediate_size": 53248, "num_hidden_layers": 126, "num_attention_heads": 128}'
measure "GPT-2 124M, 4 ranks" gpt2.json 4 1024 mesh.shard=4
measure "GPT-2 124M, 32 ranks, 8 micro-batches" gpt2.json 64 1024 mesh.shard=8 mesh.replicate=4 \
  'precision.compute="bf16"' gradient.microbatches=8 gradient.clip_norm=1.0
measure "400 blocks in unit root, 4 ranks" blocks.json 2 16 mesh.shard=4 'sharding.units="root"'
measure "Llama 405B, 16384 ranks" llama.json 1 8192 mesh.shard=16384 'recompute.policy="block"' 'precision.compute="bf16"'
