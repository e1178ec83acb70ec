#!/usr/bin/env bash
# Packs everything for a GPU node that has only a driver and CUDA's libraries: the runtime's tools, the GPU tests
# and benchmarks, and compiled plans.
#
#   tools/bundle.sh [-o sluice-bundle.tar.zst] [-b BUILD] [-n] [-t FILTER]
#
# On the node: tar --zstd -xf sluice-bundle.tar.zst, then sluice-bundle/first-gpu.sh (ten minutes), run-tests.sh and
# run-benchmarks.sh.
#
# The tools are configured in BUILD (build/bundle) with device code for sm_80, sm_90 and sm_100, which takes some
# minutes, and linked statically as far as licences allow; shared libraries are included. -n packs what BUILD has
# and builds nothing; -t adds numeric tests (a GoogleTest filter). Plans are compiled by
# build/bin/sluice-compile, which is built first if it is not there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=sluice-bundle.tar.zst
build=$root/build/bundle
builds=1
# Numeric tests that also run on the GPU: reference cases, ops, families, the zoo, and the settings that do not change bits.
tests='*ReferenceCases.*:*ConvCases.*:*OpReference.*:*Families.*:*Zoo.*:*Settings.*'
while getopts "o:b:nt:" option; do
  case $option in
  o) out=$OPTARG ;;
  b) build=$OPTARG ;;
  n) builds= ;;
  t) tests=$OPTARG ;;
  *) echo "usage: tools/bundle.sh [-o FILE] [-b BUILD] [-n] [-t FILTER]" >&2; exit 2 ;;
  esac
done
command -v zstd > /dev/null || { echo "error: zstd is missing, expected it to pack the bundle" >&2; exit 1; }
tools=${SLUICE_BUILD:-$root/build}
[[ -x $tools/bin/sluice-compile && -x $tools/bin/sluice-import ]] || "$root/tools/setup.sh" bin/sluice-compile bin/sluice-import
programs=(sluice-train sluice-plan conformance unit-cuda unit-cuda-kernels cuda-plans numeric bench-cuda)

if [[ $builds ]]; then
  echo "bundle: configuring and building $build (some minutes the first time)"
  mkdir -p "$build"
  cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSLUICE_COMPILER=OFF -DSLUICE_TOKENIZERS=OFF -DSLUICE_CUDA=ON \
    "-DSLUICE_CUDA_ARCHITECTURES=80;90;100" "-DCMAKE_EXE_LINKER_FLAGS=-static-libgcc -static-libstdc++" > "$build/configure.log" 2>&1 \
    || { cat "$build/configure.log" >&2; exit 1; }
  ninja -C "$build" "${programs[@]/#/bin/}" sluice_device_code > "$build/build.log" 2>&1 || { tail -40 "$build/build.log" >&2; exit 1; }
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/sluice-bundle
mkdir -p "$stage/bin" "$stage/lib" "$stage/plans"
for program in "${programs[@]}"; do
  [[ -x $build/bin/$program ]] || { echo "error: $build/bin/$program is missing, expected it to be built (leave out -n)" >&2; exit 1; }
  cp "$build/bin/$program" "$stage/bin/"
  strip "$stage/bin/$program"
done
cp "$build/bin/libsluice-device-code.so" "$stage/bin/"
# Debian's shared libraries that a minimal node lacks. The C library and the driver's libraries are those of the node.
for program in "$stage"/bin/*; do
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
done | sort -u | grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|ld-linux[^/]*|libcuda)\.so' | while read -r library; do
  cp -L "$library" "$stage/lib/"
done

# Plans for one GPU, for virtual ranks on it, and for as many GPUs; and the same plans for the CPU.
tiny=$root/test/reference/gpt2-tiny
recipe=$work/recipe.toml
: > "$recipe"
compile() { "$tools/bin/sluice-compile" "$1" --recipe "$recipe" -o "$stage/plans/$2.plan" "${@:3}"; }
"$tools/bin/sluice-import" hf "$tiny/config.json" --batch 4 --sequence 64 -o "$work/tiny.mlir"
for ranks in 1 2 4; do
  compile "$work/tiny.mlir" "gpt2-tiny-$ranks" --set target.device=cuda --set "mesh.shard=$ranks"
  compile "$work/tiny.mlir" "gpt2-tiny-$ranks-cpu" --set target.isa=avx2 --set "mesh.shard=$ranks"
done
compile "$work/tiny.mlir" gpt2-tiny-2-unregistered --set target.device=cuda --set mesh.shard=2 --set collective.register=false
compile "$work/tiny.mlir" gpt2-tiny-bf16 --set target.device=cuda --set precision.compute=bf16
"$tools/bin/sluice-import" zoo conv --set stem=4 --set hidden=8 --set height=24 --set width=20 -o "$work/conv.mlir"
compile "$work/conv.mlir" conv --set target.device=cuda --set 'optimizer.name="sgd"'
compile "$work/conv.mlir" conv-cpu --set target.isa=avx2 --set 'optimizer.name="sgd"'
# The models of the benchmarks (test/bench/models): name, rows, tokens of a row, further settings. One GPU has all
# parameters, so reshard_after_forward would only free their bf16 values and cast them again in the backward.
# With attention by Sluice, for every GPU, and where cuDNN has it, for sm_90.
model() {
  "$tools/bin/sluice-import" hf "$root/test/bench/models/$1.json" --train-only --batch "$2" --sequence "$3" -o "$work/$1.mlir"
  local settings=(--set target.device=cuda --set precision.compute=bf16 --set gradient.clip_norm=1.0 --set sharding.reshard_after_forward=false "${@:4}")
  compile "$work/$1.mlir" "$1" "${settings[@]}"
  compile "$work/$1.mlir" "$1-cudnn" "${settings[@]}" --set target.arch=sm_90
}
model gpt2-124m 32 1024
model gpt2-1.5b 8 1024
model llama-1b 4 4096 --set loss.chunk_rows=2048
model llama-7b 2 4096 --set recompute.policy=block
# Head sizes that tensor cores support, one or two query heads per key head, sequences that do not fill a tile.
cat > "$work/heads-64.json" <<'CONFIG'
{"model_type": "gpt2", "vocab_size": 512, "n_positions": 256, "n_embd": 128, "n_layer": 2, "n_head": 2, "activation_function": "gelu_new"}
CONFIG
cat > "$work/heads-128.json" <<'CONFIG'
{"model_type": "llama", "vocab_size": 512, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": true}
CONFIG
for size in 64 128; do
  "$tools/bin/sluice-import" hf "$work/heads-$size.json" --batch 2 --sequence 200 -o "$work/heads-$size.mlir"
  compile "$work/heads-$size.mlir" "heads-$size-bf16" --set target.device=cuda --set precision.compute=bf16
  compile "$work/heads-$size.mlir" "heads-$size-f16" --set target.device=cuda --set precision.compute=f16 --set precision.loss_scale=1024
  compile "$work/heads-$size.mlir" "heads-$size-cpu" --set target.isa=avx2
done
# The numeric tests run here on the CPU with a compiler that keeps each of their plans, for the CPU and for CUDA; the node uses
# these plans instead of a compiler.
echo "bundle: running the numeric tests that travel along (some minutes)"
mkdir -p "$work/tools" "$stage/kept"
cp "$root"/tools/bundle/keep/* "$work/tools/"
for tool in sluice-opt sluice-train sluice-plan; do ln -s "$tools/bin/$tool" "$work/tools/$tool"; done
SLUICE_TOOLS=$work/tools SLUICE_KEPT=$stage/kept SLUICE_REAL=$tools/bin "$build/bin/numeric" --gtest_brief=1 --gtest_filter="$tests" \
  > "$work/numeric.log" 2>&1 || { tail -40 "$work/numeric.log" >&2; exit 1; }
echo "$tests" > "$stage/kept/filter"
cp -a "$root/tools/bundle/kept" "$stage/kept/tools"
cp -r "$root/test/reference" "$stage/reference"
cp "$tiny/init.safetensors" "$root/test/reference/tokens.bin" "$stage/plans/"
cp "$root"/tools/bundle/*.{sh,py} "$root/test/cuda/nccl_log.py" "$stage/"

# Programs share much code: a compression window over all of them stores it once.
tar -C "$work" -cf - sluice-bundle | zstd -18 --long=27 -T2 -q -f -o "$out"
bytes=$(stat -c %s "$out")
# ICU's data, which only a build with tokenizers (-b) contains, do not count.
icu=$(find "$stage/lib" -name 'libicudata.so.*' -exec zstd -12 -q -c {} \; | wc -c)
bytes=$((bytes - icu))
echo "bundle: $out, $((bytes / 1024)) KiB"
((bytes < 60 * 1024 * 1024)) || { echo "error: size of the bundle, expected less than 60 MiB but got $bytes bytes" >&2; exit 1; }
