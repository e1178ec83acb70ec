#!/usr/bin/env bash
# Packs what a GPU node needs that has a driver and CUDA's libraries and nothing else: the runtime's tools, the GPU tests
# and benchmarks, and compiled plans.
#
#   tools/bundle.sh [-o sluice-bundle.tar.zst] [-b BUILD]
#
# On the node: tar --zstd -xf sluice-bundle.tar.zst && sluice-bundle/run-tests.sh; sluice-bundle/run-benchmarks.sh
#
# The tools are configured anew in BUILD (build/bundle) with device code for sm_80, sm_90 and sm_100, which takes some
# minutes, and linked statically as far as licences allow; libraries that stay shared travel along. Plans are compiled by
# build/bin/sluice-compile, which is built first if it is not there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=sluice-bundle.tar.zst
build=$root/build/bundle
while getopts "o:b:" option; do
  case $option in
  o) out=$OPTARG ;;
  b) build=$OPTARG ;;
  *) echo "usage: tools/bundle.sh [-o FILE] [-b BUILD]" >&2; exit 2 ;;
  esac
done
command -v zstd > /dev/null || { echo "error: zstd is missing, expected it to pack the bundle" >&2; exit 1; }
tools=${SLUICE_BUILD:-$root/build}
[[ -x $tools/bin/sluice-compile && -x $tools/bin/sluice-import ]] || "$root/tools/setup.sh" bin/sluice-compile bin/sluice-import

echo "bundle: configuring and building $build (some minutes the first time)"
mkdir -p "$build"
cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSLUICE_COMPILER=OFF -DSLUICE_CUDA=ON \
  "-DSLUICE_CUDA_ARCHITECTURES=80;90;100" "-DCMAKE_EXE_LINKER_FLAGS=-static-libgcc -static-libstdc++" > "$build/configure.log" 2>&1 \
  || { cat "$build/configure.log" >&2; exit 1; }
ninja -C "$build" sluice-train sluice-plan conformance unit-cuda unit-cuda-kernels cuda-plans bench-kernels > "$build/build.log" 2>&1 \
  || { tail -40 "$build/build.log" >&2; exit 1; }

stage=$build/sluice-bundle
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/lib" "$stage/plans"
for program in sluice-train sluice-plan conformance unit-cuda unit-cuda-kernels cuda-plans bench-kernels; do
  cp "$build/bin/$program" "$stage/bin/"
  strip "$stage/bin/$program"
done
# Debian's shared libraries that a bare node lacks. The C library and the driver's are the node's own.
for program in "$stage"/bin/*; do
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
done | sort -u | grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|ld-linux[^/]*|libcuda)\.so' | while read -r library; do
  cp -L "$library" "$stage/lib/"
done

# Plans for one GPU, for virtual ranks on it, and for as many GPUs.
tiny=$root/test/reference/gpt2-tiny
: > "$stage/plans/empty.toml"
"$tools/bin/sluice-import" hf "$tiny/config.json" --batch 4 --sequence 64 -o "$stage/plans/gpt2-tiny.mlir"
for ranks in 1 2 4; do
  "$tools/bin/sluice-compile" "$stage/plans/gpt2-tiny.mlir" --recipe "$stage/plans/empty.toml" --set target.device=cuda \
    --set "mesh.shard=$ranks" -o "$stage/plans/gpt2-tiny-$ranks.plan"
  "$tools/bin/sluice-compile" "$stage/plans/gpt2-tiny.mlir" --recipe "$stage/plans/empty.toml" \
    --set "mesh.shard=$ranks" -o "$stage/plans/gpt2-tiny-$ranks-cpu.plan"
done
cp "$tiny/init.safetensors" "$stage/plans/"
cp "$root/test/reference/tokens.bin" "$stage/plans/"
rm "$stage/plans/empty.toml" "$stage/plans/gpt2-tiny.mlir"

cat > "$stage/run-tests.sh" <<'RUN'
#!/usr/bin/env bash
# Runs the GPU tests of this bundle; closes with "N passed, N failed".
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
passed=0 failed=0
try() {
  local name=$1
  shift
  if "$@" > "$here/$name.log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $name ($here/$name.log)"; fi
}
cd "$here/plans"
try conformance "$here/bin/conformance"
try emulated-kernels "$here/bin/unit-cuda-kernels"
try emulated-communicators "$here/bin/unit-cuda"
losses() { sed -n 's/.*loss \([0-9.]*\).*/\1/p' "$1"; }
for ranks in 1 2 4; do
  try "cpu-$ranks" "$here/bin/sluice-train" "gpt2-tiny-$ranks-cpu.plan" --data tokens.bin --init init.safetensors --steps 10
  for graph in off auto; do
    try "cuda-$ranks-$graph" "$here/bin/sluice-train" "gpt2-tiny-$ranks.plan" --data tokens.bin --init init.safetensors --steps 10 --cuda-graph $graph
  done
  # With and without a graph: the same digits. Against the CPU: within 1e-3.
  try "graph-$ranks" cmp <(losses "$here/cuda-$ranks-off.log") <(losses "$here/cuda-$ranks-auto.log")
  try "close-$ranks" awk 'NR == FNR { a[FNR] = $1; n = FNR; next } { d = a[FNR] - $1; if (d < 0) d = -d; if (d > 0.001) exit 1; m = FNR } END { exit !(n == 10 && m == 10) }' \
    <(losses "$here/cpu-$ranks.log") <(losses "$here/cuda-$ranks-off.log")
done
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck initcheck; do
    try "$tool" compute-sanitizer --tool $tool --error-exitcode 1 "$here/bin/sluice-train" gpt2-tiny-1.plan --data tokens.bin --init init.safetensors --steps 2
  done
fi
echo "$passed passed, $failed failed"
exit $((failed != 0))
RUN
cat > "$stage/run-benchmarks.sh" <<'RUN'
#!/usr/bin/env bash
# Steps a second of the bundle's plans, with and without a graph.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
cd "$here/plans"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true
for ranks in 1 2 4; do
  for graph in off auto; do
    echo "gpt2-tiny, $ranks ranks on one GPU, graph $graph:"
    "$here/bin/sluice-train" "gpt2-tiny-$ranks.plan" --data tokens.bin --init init.safetensors --steps 50 --cuda-graph $graph | tail -2
  done
done
RUN
chmod +x "$stage/run-tests.sh" "$stage/run-benchmarks.sh"
tar -C "$build" -cf - sluice-bundle | zstd -19 -q -f -o "$out"
bytes=$(stat -c %s "$out")
echo "bundle: $out, $((bytes / 1024)) KiB"
((bytes < 60 * 1024 * 1024)) || { echo "error: size of the bundle, expected less than 60 MiB but got $bytes bytes" >&2; exit 1; }
