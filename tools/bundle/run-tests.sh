#!/usr/bin/env bash
# Runs the tests of this bundle: those of the CPU anywhere, those of the GPU where there is one.
#
#   ./run-tests.sh [NAME...]   0: all passed    1: some failed    77: those that could run passed, those of the GPU were skipped
#
# NAME, which may have wildcards, chooses tests; without one all are run. The output of tests is in logs/. The last line is "N passed, N failed, N skipped".
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$here/bin:$PATH
logs=$here/logs
rm -rf "$logs"
mkdir -p "$logs"
passed=0 failed=0 skipped=0

chosen=("${@:-*}")
isChosen() {
  local pattern
  for pattern in "${chosen[@]}"; do
    # shellcheck disable=SC2053
    [[ $1 == $pattern ]] && return 0
  done
  return 1
}

# try NAME COMMAND...
try() {
  local name=$1
  shift
  isChosen "$name" || return 0
  if "$@" > "$logs/$name.log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "failed: $name (logs/$name.log): $(tail -1 "$logs/$name.log")"
  fi
}
# skip NAME REASON
skip() {
  isChosen "$1" || return 0
  skipped=$((skipped + 1))
  echo "skipped: $1: $2"
}

# The losses of a run, a line each; nothing where the run failed.
losses() { sed -n 's/^step .*loss \([-0-9.a-z]*\) .*/\1/p' "$logs/$1.log"; }
same() { [[ -n $(losses "$1") && $(losses "$1") == "$(losses "$2")" ]]; }
# close A B X: true if all losses differ by at most X.
close() {
  paste <(losses "$1") <(losses "$2") | awk -v most="$3" 'NF != 2 { exit 1 } { d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) exit 1 } END { if (NR != 10) exit 1 }'
}
# At most five minutes: a rank that does not return is a failure.
train() { timeout -k 5 300 sluice-train "$@" --data tokens.bin --init init.safetensors --steps 10; }
source "$here/world.sh"
# checkLog NAME PLAN: ten steps of one process per rank, and NCCL's own log of them beside the plan.
checkLog() {
  rm -f "$logs/$1".nccl.*
  sluice-plan describe "$2" --json > "$logs/$1.json" &&
    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL,REG NCCL_DEBUG_FILE="$logs/$1.nccl.%h.%p" world 2 train "$2" --cuda-graph off &&
    python3 "$here/nccl_log.py" "$logs/$1.json" "$logs/$1".nccl.* --runs train_step:10
}
cd "$here/plans" || exit 1
for ranks in 1 2 4; do
  try "cpu-$ranks" train "gpt2-tiny-$ranks-cpu.plan"
done
try cpu-2-processes world 2 train gpt2-tiny-2-cpu.plan
try cpu-2-processes-same same cpu-2-processes cpu-2
for size in 64 128; do
  try "heads-$size-cpu" sluice-train "heads-$size-cpu.plan" --data random:1 --steps 10
done
try conv-cpu sluice-train conv-cpu.plan --data random:1 --steps 10
try conformance conformance
try cpu-numeric numericOn cpu
try emulated-kernels unit-cuda-kernels
try emulated-benchmark bench-cuda --emulated
try emulated-executor unit-cuda
# AdamW makes steps of one size out of gradients that are all rounding.
try emulated-gpt2 cuda-plans --steps 2 --tolerance 0.03 gpt2-tiny-1-cpu.plan
try emulated-conv cuda-plans --steps 2 --tolerance 1e-5 conv-cpu.plan

# A plan that cannot run is refused with a reason and exit code 4.
reason=$(sluice-train gpt2-tiny-1.plan --data tokens.bin --steps 1 --quiet 2>&1)
code=$?
if ((code == 4)); then
  skip gpu "$(sed -n 's/^error: //p' <<< "$reason" | head -1)"
else
  for ranks in 1 2 4; do
    for graph in off auto; do
      try "gpu-$ranks-$graph" train "gpt2-tiny-$ranks.plan" --cuda-graph $graph
      try "gpu-$ranks-$graph-again" train "gpt2-tiny-$ranks.plan" --cuda-graph $graph
      # Run to run, and with and without a graph: the same digits. Against the CPU: within 1e-3.
      try "gpu-$ranks-$graph-repeats" same "gpu-$ranks-$graph" "gpu-$ranks-$graph-again"
    done
    try "gpu-$ranks-graph" same "gpu-$ranks-off" "gpu-$ranks-auto"
    try "gpu-$ranks-close" close "gpu-$ranks-off" "cpu-$ranks" 0.001
  done
  # Every kernel against the CPU's reference, and twice to the bit.
  try gpu-kernels env SLUICE_TEST_GPU=gpu unit-cuda-kernels --gtest_brief=1 --gtest_filter='Cuda*:-CudaAlgorithms.*'
  # PyTorch's numbers at each world size, ops, families, the zoo, settings, with the tolerances of the CPU.
  try gpu-numeric numericOn cuda
  try gpu-bf16 train gpt2-tiny-bf16.plan
  try gpu-bf16-close close gpu-bf16 cpu-1 0.05
  # Attention on tensor cores: the CPU's losses in f32 but for roundings, and the same digits again.
  for size in 64 128; do
    for type in bf16 f16; do
      try "gpu-heads-$size-$type" sluice-train "heads-$size-$type.plan" --data random:1 --steps 10
      try "gpu-heads-$size-$type-again" sluice-train "heads-$size-$type.plan" --data random:1 --steps 10
      try "gpu-heads-$size-$type-repeats" same "gpu-heads-$size-$type" "gpu-heads-$size-$type-again"
      try "gpu-heads-$size-$type-close" close "gpu-heads-$size-$type" "heads-$size-cpu" 0.02
    done
  done
  # Algorithms that are measured once give the same digits from then on.
  rm -f "$logs/algorithms.txt"
  for run in measured kept again; do
    try "gpu-algorithms-$run" train gpt2-tiny-bf16.plan --algorithms "$logs/algorithms.txt"
  done
  try gpu-algorithms-repeat same gpu-algorithms-measured gpu-algorithms-kept
  try gpu-algorithms-repeat-again same gpu-algorithms-kept gpu-algorithms-again
  try gpu-trace train gpt2-tiny-1.plan --trace "$logs/trace.json"
  try conv-gpu sluice-train conv.plan --data random:1 --steps 10
  try conv-close close conv-gpu conv-cpu 0.05
  gpus=$(nvidia-smi --list-gpus 2> /dev/null | wc -l)
  for ranks in 2 4; do
    if ((gpus >= ranks)); then
      try "nccl-$ranks" world $ranks train "gpt2-tiny-$ranks.plan" --cuda-graph off
      try "nccl-$ranks-close" close "nccl-$ranks" "cpu-$ranks" 0.001
      try "nccl-$ranks-graph" world $ranks train "gpt2-tiny-$ranks.plan" --cuda-graph on
      try "nccl-$ranks-graph-same" same "nccl-$ranks-graph" "nccl-$ranks"
    else
      skip "nccl-$ranks" "GPUs of this machine, expected $ranks but got $gpus"
    fi
  done
  for plan in gpt2-tiny-2 gpt2-tiny-2-unregistered; do
    if ((gpus < 2)); then
      skip "nccl-log-$plan" "GPUs of this machine, expected 2 but got $gpus"
    elif ! command -v python3 > /dev/null; then
      skip "nccl-log-$plan" "no python3 on this machine"
    else
      try "nccl-log-$plan" checkLog "nccl-log-$plan" "$plan.plan"
    fi
  done
  if command -v compute-sanitizer > /dev/null; then
    for tool in memcheck racecheck initcheck; do
      try "$tool" compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 1 "$here/bin/sluice-train" gpt2-tiny-1.plan \
        --data tokens.bin --init init.safetensors --steps 2 --cuda-graph off
      try "$tool-heads" compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 1 "$here/bin/sluice-train" heads-128-bf16.plan \
        --data random:1 --steps 1 --cuda-graph off
    done
  else
    skip sanitizer "no compute-sanitizer on this machine"
  fi
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0)) || exit 1
((skipped == 0)) || exit 77
