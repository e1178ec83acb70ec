#!/usr/bin/env bash
# Times steps of this bundle's plans and kernels of the GPU: a step on the CPU anywhere, the rest where there is a GPU.
#
#   ./run-benchmarks.sh     0: done    1: a run failed    77: the CPU's are done, those of the GPU were skipped
#
# The time of a step is the median without the first ten steps. A model too large for the GPU's memory, or whose plan requires cuDNN where it cannot run, is skipped with its reason. Where
# python3 has PyTorch, the same models and attention by it. The share of the product's rate is that of the flops that a step needs
# (6 per token and parameter of its products, and causal attention; recomputation is not counted) at the rate
# of a large product, which bench-cuda measures first.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
cd "$here/plans" || exit 1
logs=$here/logs
mkdir -p "$logs"
code=0
# The rate of a product in TFLOP/s; unknown until it is measured.
rate=0

# measure TITLE STEPS FLOPS-A-TOKEN ARGUMENTS...
measure() {
  local title=$1 steps=$2 flops=$3 log=$logs/benchmark.jsonl
  shift 3
  if ! "$here/bin/sluice-train" "$@" --steps "$steps" --log "$log" --quiet 2> "$logs/benchmark.err"; then
    if grep -q -e 'cannot get .* bytes of device memory .* bytes free' -e 'which the plan computes by cuDNN' "$logs/benchmark.err"; then
      echo "skipped: $title: $(sed -n 's/^error: //p' "$logs/benchmark.err" | head -1)"
    else
      cat "$logs/benchmark.err" >&2
      echo "failed: $title"
      code=1
    fi
    return
  fi
  sed -n 's/.*"step_ms": *\([0-9.]*\).*"tokens_per_s": *\([0-9.]*\).*/\1 \2/p' "$log" | tail -n +11 | sort -n |
    awk -v title="$title" -v flops="$flops" -v rate="$rate" '
      { line[NR] = $0 }
      END {
        split(line[int((NR + 1) / 2)], m, " ")
        printf "%-48s %10.3f ms a step %12.0f tokens/s", title, m[1], m[2]
        if (flops > 0 && rate > 0)
          printf " %8.1f TFLOP/s, %5.1f %% of the product'"'"'s", m[2] * flops * 1e-12, m[2] * flops * 1e-10 / rate
        printf "\n"
      }'
  tail -1 "$log" | sed -n 's/.*"predicted_peak": *\({[^}]*}\).*"measured_peak": *\({[^}]*}\).*/    predicted \1, measured \2/p'
}

measure "gpt2-tiny, f32, one rank, CPU" 40 0 gpt2-tiny-1-cpu.plan --data tokens.bin
reason=$("$here/bin/sluice-train" gpt2-tiny-1.plan --data tokens.bin --steps 1 --quiet 2>&1)
if (($? == 4)); then
  echo "skipped: gpu: $(sed -n 's/^error: //p' <<< "$reason" | head -1)"
  exit $((code == 0 ? 77 : code))
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
"$here/bin/bench-cuda" --figures > "$logs/bench-cuda.log" || code=1
cat "$logs/bench-cuda.log"
# Kernels that cuDNN has, by cuDNN; the reason if the library is missing.
if "$here/bin/bench-cuda" --dnn attention > "$logs/bench-dnn.log" 2>&1; then
  grep ', cudnn' "$logs/bench-dnn.log"
else
  echo "skipped: attention by cudnn: $(tail -1 "$logs/bench-dnn.log")"
fi
rate=$(sed -n 's/^product of .* \([0-9.]*\) TFLOP\/s.*/\1/p' "$logs/bench-cuda.log")
rate=${rate:-0}
for ranks in 1 2 4; do
  for graph in off auto; do
    measure "gpt2-tiny, f32, $ranks ranks on one GPU, graph $graph" 100 0 "gpt2-tiny-$ranks.plan" --data tokens.bin --cuda-graph $graph
  done
done
measure "gpt2-tiny, bf16" 100 0 gpt2-tiny-bf16.plan --data tokens.bin
measure "gpt2 124M, bf16, B 32, T 1024" 30 797.8e6 gpt2-124m.plan --data random:1
measure "gpt2 124M, the same, attention by cudnn" 30 797.8e6 gpt2-124m-cudnn.plan --data random:1
measure "gpt2 124M, the same, algorithms measured" 30 797.8e6 gpt2-124m.plan --data random:1 --algorithms "$logs/gpt2-124m.algorithms"
measure "gpt2 1.5B, bf16, B 8, T 1024" 20 9.802e9 gpt2-1.5b.plan --data random:1
measure "llama 1B, bf16, B 4, T 4096" 20 8.219e9 llama-1b.plan --data random:1
measure "llama 7B, bf16, B 2, T 4096, block recompute" 15 42.86e9 llama-7b.plan --data random:1
measure "llama 7B, the same, attention by cudnn" 15 42.86e9 llama-7b-cudnn.plan --data random:1
if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2> /dev/null; then
  python3 "$here/compare.py" || code=1
else
  echo "skipped: comparison: no python3 with PyTorch and a GPU on this machine"
fi
exit "$code"
