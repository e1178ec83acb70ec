#!/usr/bin/env bash
# Saves and loads of GPT-2 124M with AdamW (1.5 GB) on 4 ranks, next to dd of as many bytes (bench-checkpoint).
#
#   test/bench/checkpoint.sh [ROUNDS [FOLDER]]   tools from build/bin; FOLDER: on the disk to measure (default: that of
#                                                temporary files). Needs 3.2 GB of memory and of disk.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d -p "${2:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$folder"' EXIT
export PATH="$root/build/bin:$PATH"

echo '{"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}' >"$folder/config.json"
sluice-import hf "$folder/config.json" --batch 1 --sequence 64 -o "$folder/m.mlir"
sluice-compile "$folder/m.mlir" --set mesh.shard=4 -o "$folder/gpt2.plan"
sluice-plan memory "$folder/gpt2.plan" --checkpoint | grep "checkpoints"
bench-checkpoint "$folder/gpt2.plan" "$folder/run" "${1:-5}"
