#!/usr/bin/env bash
# Installs missing packages, builds, runs every test, and ends with the line "N passed, N failed, N skipped".
# SLUICE_BUILD names another build folder, SLUICE_REFERENCE another folder of reference numbers. SLUICE_FUZZ=1 adds the fuzz targets.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export SLUICE_BUILD=${SLUICE_BUILD:-$root/build}
bash "$root/tools/setup.sh"
results=$SLUICE_BUILD/results
rm -rf "$results"
mkdir -p "$results"
# Tests of several ranks wait for each other's processes and files: one job more than cores keeps the cores busy.
jobs=$(($(nproc) + 1))
echo "tests: about 15 minutes on 2 cores of a Xeon with AVX-512; logs are in $results"
# Failures are read from the result files: one that is missing, because its runner died, is a failure too.
begin=$SECONDS
ctest --test-dir "$SLUICE_BUILD" --parallel "$jobs" --output-junit "$results/ctest.xml" > "$results/ctest.log" 2>&1 || true
echo "tests: GoogleTest programs $((SECONDS - begin)) s"
begin=$SECONDS
timeout 1800 /usr/lib/llvm-22/bin/lit -q -j "$jobs" --xunit-xml-output "$results/lit.xml" "$root/test" > "$results/lit.log" 2>&1 || true
echo "tests: lit $((SECONDS - begin)) s"
outcomes=("$results/ctest.xml" "$results/lit.xml")
if [[ ${SLUICE_FUZZ:-} == 1 ]]; then
  begin=$SECONDS
  timeout 2400 /usr/lib/llvm-22/bin/lit -q -j "$(nproc)" --xunit-xml-output "$results/fuzz-lit.xml" "$root/test/fuzz" > "$results/fuzz-lit.log" 2>&1 || true
  echo "tests: fuzz targets $((SECONDS - begin)) s"
  outcomes+=("$results/fuzz-lit.xml")
else
  echo "tests: fuzz targets are left out, SLUICE_FUZZ=1 builds them with another compiler and runs each for a minute"
fi
exec python3 "$root/test/summary.py" "${outcomes[@]}"
