#!/usr/bin/env bash
# The cost of checkpoints at the default interval, in processor time: runs of 60 steps without and with a checkpoint
# every 5 steps in turns, so that a save's cost is measured, divided by that of 500 steps.
#
#   test/bench/checkpoint-cost.sh [ROUNDS [FOLDER]]   tools from build/bin; FOLDER: for the checkpoints (default: that of
#                                                     temporary files)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d -p "${2:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$folder"' EXIT
export PATH="$root/build/bin:$PATH"
steps=60 every=5

sluice-import hf "$root/docs/examples/gpt2-small-demo/config.json" --batch 4 --sequence 64 -o "$folder/m.mlir"
sluice-compile "$folder/m.mlir" --set mesh.shard=4 -o "$folder/m.plan"

# Seconds of all processors in user and system mode.
seconds() {
  local TIMEFORMAT='%U %S' used
  used=$({ time sluice-train "$folder/m.plan" --data random:1 --steps $steps --quiet "$@" >"$folder/output" 2>&1; } 2>&1) ||
    { cat "$folder/output" >&2; exit 1; }
  awk '{print $1 + $2}' <<<"$used"
}

without=0 with=0
for ((round = 1; round <= ${1:-3}; ++round)); do
  a=$(seconds)
  b=$(seconds --checkpoint "$folder/run" --every $every --keep 1)
  rm -rf "$folder/run"
  without=$(awk "BEGIN {print $without + $a}") with=$(awk "BEGIN {print $with + $b}")
  echo "round $round: $steps steps take $a s of processor time, with $((steps / every)) checkpoints $b s"
done
awk -v a="$without" -v b="$with" -v steps=$steps -v every=$every -v rounds="${1:-3}" 'BEGIN {
  save = (b - a) / rounds / (steps / every); step = a / rounds / steps
  printf "a checkpoint costs %.4f s, a step %.4f s: %.2f %% of a run with a checkpoint every 500 steps\n", save, step, 100 * save / (500 * step)
}'
