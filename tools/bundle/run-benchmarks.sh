#!/usr/bin/env bash
# Times steps of this bundle's plans: on the CPU anywhere, on the GPU where there is one.
#
#   ./run-benchmarks.sh     0: done    1: a run failed    77: the CPU's are done, those of the GPU were skipped
#
# The middle of the steps' times, the first ten left out. Where python3 has PyTorch, the same model by it.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
cd "$here/plans" || exit 1
log=$here/logs/benchmark.jsonl
mkdir -p "$here/logs"
code=0

# time NAME STEPS ARGUMENTS...
measure() {
  local name=$1 steps=$2
  shift 2
  if ! "$here/bin/sluice-train" "$@" --data tokens.bin --steps "$steps" --log "$log" --quiet; then
    echo "failed: $name"
    code=1
    return
  fi
  sed -n 's/.*"step_ms": *\([0-9.]*\).*"tokens_per_s": *\([0-9.]*\).*/\1 \2/p' "$log" | tail -n +11 | sort -n |
    awk -v name="$name" '{ line[NR] = $0 } END { split(line[int((NR + 1) / 2)], m, " "); printf "%-40s %10.3f ms a step %12.0f tokens/s\n", name, m[1], m[2] }'
}

measure "gpt2-tiny, f32, one rank, CPU" 40 gpt2-tiny-1-cpu.plan
reason=$("$here/bin/sluice-train" gpt2-tiny-1.plan --data tokens.bin --steps 1 --quiet 2>&1)
if (($? == 4)); then
  echo "skipped: gpu: $(sed -n 's/^error: //p' <<< "$reason" | head -1)"
  exit $((code == 0 ? 77 : code))
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
for ranks in 1 2 4; do
  for graph in off auto; do
    measure "gpt2-tiny, f32, $ranks ranks on one GPU, graph $graph" 100 "gpt2-tiny-$ranks.plan" --cuda-graph $graph
  done
done
measure "gpt2-tiny, bf16, graph auto" 100 gpt2-tiny-bf16.plan
measure "gpt2 124M, bf16, B 8, T 1024, graph auto" 30 gpt2-124m.plan
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2> /dev/null; then
  python3 "$here/compare.py" || code=1
else
  echo "skipped: comparison: no python3 with PyTorch and a GPU on this machine"
fi
exit "$code"
