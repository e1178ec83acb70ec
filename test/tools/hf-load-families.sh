#!/bin/sh
# hf-load-families.sh FAMILIES PYTHON SCRIPT: for each family two steps from its checkpoint, saved; then the first loss
# of a run from the saved weights, compared with Hugging Face's. Runs in the current folder, with the tools on the PATH.
set -e
families=$1 python=$2 script=$3
runs=
for folder in "$families"/*/; do
  name=$(basename "$folder")
  sluice-import hf "$folder/config.json" --batch 1 --sequence 24 --allow-longer -o "$name.mlir"
  sluice-compile "$name.mlir" --set mesh.shard=2 --set optimizer.lr=1e-3 -o "$name.plan"
  sluice-train "$name.plan" --data "$folder/tokens.bin" --init "$folder" --steps 2 --save "$name.out" --quiet
  sluice-train "$name.plan" --data "$folder/tokens.bin" --init "$name.out" --steps 1 --log "$name.jsonl" --quiet
  runs="$runs $name.out $folder/tokens.bin 2 24 $name.jsonl"
done
# One process for all: it takes seconds to start.
# shellcheck disable=SC2086
"$python" "$script" $runs
