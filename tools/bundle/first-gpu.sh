#!/usr/bin/env bash
# The first ten minutes on a machine with a GPU: what an emulated device cannot show, in one table.
#
#   ./first-gpu.sh [MINUTES]    0: all passed    1: some failed    77: all that could run passed, some were skipped
#
# Every step runs under `timeout`, and all of them within MINUTES (10). What a step printed is in logs/. Steps:
#   conformance         the device suite and the communicators
#   kernels             every kernel against the CPU's reference
#   sanitizer-*         compute-sanitizer on a step
#   model-*             two steps issued, then three recorded and replayed: the same losses, exit code 0 after a replay
#   nccl-*              the same by two processes on two GPUs, exit code 0 after a replay
#   numeric             PyTorch's numbers
#   floor               each kernel's share of its floor: logs/floor.log, and the lowest here
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$here/bin:$PATH
logs=$here/logs/first-gpu
mkdir -p "$logs"
limit=$((${1:-10} * 60))
SECONDS=0
rows=() failed=0 skipped=0

# row NAME RESULT SECONDS DETAIL
row() {
  rows+=("$(printf '%-24s %-8s %6s  %s' "$1" "$2" "$3" "$4")")
  case $2 in
  failed | timeout) failed=$((failed + 1)) ;;
  skipped) skipped=$((skipped + 1)) ;;
  esac
}
skip() { row "$1" skipped - "$2"; }
# try NAME LIMIT COMMAND...: at most LIMIT seconds, and at most the remaining time.
try() {
  local name=$1 most=$2 begin=$SECONDS code
  shift 2
  local left=$((limit - SECONDS))
  if ((left < 5)); then
    skip "$name" "the $((limit / 60)) minutes are over"
    return 1
  fi
  timeout -k 5 "$((most < left ? most : left))" "$@" > "$logs/$name.log" 2>&1
  code=$?
  case $code in
  0) row "$name" passed $((SECONDS - begin)) "$(tail -1 "$logs/$name.log" | cut -c1-100)" ;;
  77) skip "$name" "$(grep -m1 '^error' "$logs/$name.log" | cut -c1-100)" ;;
  124 | 137) row "$name" timeout $((SECONDS - begin)) "did not end within $most s: logs/first-gpu/$name.log" ;;
  *) row "$name" failed $((SECONDS - begin)) "exit code $code: $(grep -m1 '^error' "$logs/$name.log" || tail -1 "$logs/$name.log" | cut -c1-100)" ;;
  esac
  return "$code"
}

# try() runs the following functions in a shell that `timeout` can end.
losses() { sed -n 's/^step .*loss \([-0-9.a-z]*\) .*/\1/p'; }
# model PLAN ARGUMENTS...: issued and replayed steps have the same losses.
model() {
  local plan=$1 issued replayed code
  shift
  if ! issued=$(sluice-train "$plan.plan" "$@" --steps 2 --cuda-graph off 2> "$logs/$plan.err"); then
    cat "$logs/$plan.err"
    grep -q 'cannot get .* bytes of device memory' "$logs/$plan.err" && return 77
    return 1
  fi
  # The first step is issued, the second is recorded, the third is replayed.
  replayed=$(sluice-train "$plan.plan" "$@" --steps 3 --cuda-graph on)
  code=$?
  ((code == 0)) || { echo "error: exit code $code after a replay"; return "$code"; }
  issued=$(losses <<< "$issued") replayed=$(losses <<< "$replayed" | head -2)
  [[ -n $issued && $issued == "$replayed" ]] || { echo "error: losses differ: issued" "${issued//$'\n'/ }" "replayed" "${replayed//$'\n'/ }"; return 1; }
  echo "losses ${issued//$'\n'/ }"
}
source "$here/world.sh"
export -f losses model world numericOn
export here logs

cd "$here/plans" || exit 1
reason=$(timeout 60 sluice-train gpt2-tiny-1.plan --data tokens.bin --steps 1 --quiet 2>&1)
if (($? == 4)); then
  skip gpu "$(sed -n 's/^error: //p' <<< "$reason" | head -1)"
else
  tiny=(--data tokens.bin --init init.safetensors)
  try conformance 90 conformance --gtest_brief=1
  try kernels 150 env SLUICE_TEST_GPU=gpu unit-cuda-kernels --gtest_brief=1 '--gtest_filter=Cuda*:-CudaAlgorithms.*'
  for ranks in 1 2 4; do
    try "model-gpt2-tiny-$ranks" 60 bash -c 'model "$@"' - "gpt2-tiny-$ranks" "${tiny[@]}"
  done
  try model-gpt2-tiny-bf16 60 bash -c 'model "$@"' - gpt2-tiny-bf16 "${tiny[@]}"
  for plan in conv heads-64-bf16 heads-128-bf16 heads-64-f16 heads-128-f16 gpt2-124m gpt2-1.5b llama-1b llama-7b; do
    try "model-$plan" 60 bash -c 'model "$@"' - "$plan" --data random:1
  done
  gpus=$(nvidia-smi --list-gpus 2> /dev/null | wc -l)
  for graph in off on; do
    if ((gpus < 2)); then
      skip "nccl-2-graph-$graph" "GPUs of this machine, expected 2 but got $gpus"
    else
      try "nccl-2-graph-$graph" 60 bash -c 'world "$@"' - 2 sluice-train gpt2-tiny-2.plan "${tiny[@]}" --steps 4 --cuda-graph $graph
    fi
  done
  if command -v compute-sanitizer > /dev/null; then
    for tool in memcheck racecheck; do
      try "sanitizer-$tool" 60 compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 1 "$here/bin/sluice-train" gpt2-tiny-1.plan "${tiny[@]}" \
        --steps 1 --cuda-graph off
    done
  else
    skip sanitizer "no compute-sanitizer on this machine"
  fi
  if try floor 120 bench-cuda; then
    lowest=$(awk '/% of the/ { share = $0; sub(/ % of the.*/, "", share); sub(/.* /, "", share); print share, $0 }' "$logs/floor.log" | sort -n | head -3 |
      sed 's/^[^ ]* //; s/  */ /g')
  fi
  try numeric 240 bash -c 'numericOn cuda'
fi

printf '%-24s %-8s %6s  %s\n' step result seconds detail
printf '%s\n' "${rows[@]}"
[[ -z ${lowest:-} ]] || printf 'lowest shares of a floor:\n%s\n' "$lowest"
echo "${#rows[@]} steps in $SECONDS s: $((${#rows[@]} - failed - skipped)) passed, $failed failed, $skipped skipped"
((failed == 0)) || exit 1
((skipped == 0)) || exit 77
