#!/usr/bin/env bash
# The main job on this machine's CPU: build, import a small GPT-2, compile it for 4 ranks, show the plan, train it on
# the licence texts that every Debian machine has, generate text. Everything lands in build/demo.
#
#   tools/demo.sh [STEPS]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
steps=${1:-1200}
[[ $steps =~ ^[1-9][0-9]*$ ]] || { echo "error: steps, expected a number of at least 1 but got '$steps'" >&2; exit 2; }
export SLUICE_BUILD=${SLUICE_BUILD:-$root/build}

bash "$root/tools/setup.sh" bin/sluice-import bin/sluice-compile bin/sluice-plan bin/sluice-train
export PATH=$SLUICE_BUILD/bin:$PATH
example=$root/docs/examples/gpt2-text-demo
out=$SLUICE_BUILD/demo
mkdir -p "$out"
cd "$out"

show() {
  printf '\n$'
  printf ' %s' "$@"
  printf '\n'
  "$@"
}
# At a higher temperature more words are not words of the training text, and at 0 the text repeats itself (test/docs/demo.test).
sample=(--generate 150 --prompt 'You may' --temperature 0.2 --top-k 20)
echo "demo: from here on about two minutes; the files are in $out"
show sluice-import hf "$example/config.json" --batch 4 --sequence 64 -o gpt2.mlir
show sluice-compile gpt2.mlir --recipe "$example/recipe.toml" --set lr_schedule.total_steps="$steps" -o gpt2.plan
show sluice-plan memory gpt2.plan
show sluice-plan schedule gpt2.plan
show sluice-train gpt2.plan --data '/usr/share/common-licenses/*' --tokenizer "$example" --order shuffled \
  --steps "$steps" --log run.jsonl --save weights "${sample[@]}"
