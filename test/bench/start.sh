#!/usr/bin/env bash
# Time of sluice-train from its start to the end of the first step, on the demo's plan: the median of five runs, in
# seconds. The goal is 0.5; exits 1 above it.
#
#   test/bench/start.sh [RUNS]          tools from build/bin
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
runs=${1:-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PATH="${SLUICE_BUILD:-$root/build}/bin:$PATH"

example=$root/docs/examples/gpt2-small-demo
sluice-import hf "$example/config.json" --batch 4 --sequence 64 -o "$folder/gpt2.mlir"
sluice-compile "$folder/gpt2.mlir" --recipe "$example/recipe.toml" --set lr_schedule.total_steps=300 -o "$folder/gpt2.plan"
for _ in $(seq "$runs"); do
  begin=$(date +%s%N)
  sluice-train "$folder/gpt2.plan" --data '/usr/share/common-licenses/*' --order shuffled --steps 1 --quiet
  echo $(($(date +%s%N) - begin))
done | sort -n | awk '
  { time[NR] = $1 / 1e9 }
  END {
    median = time[int((NR + 1) / 2)]
    printf "start to the end of the first step: %.2f s (median of %d)\n", median, NR
    exit median > 0.5
  }'
