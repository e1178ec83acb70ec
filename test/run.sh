#!/usr/bin/env bash
# Installs missing packages, builds, runs every test, and ends with the line "N passed, N failed, N skipped".
# SLUICE_BUILD names another build folder, SLUICE_REFERENCE another folder of reference numbers. SLUICE_FUZZ=1 adds the fuzz targets.
# SLUICE_TEST_LIMIT is the time in seconds for the GoogleTest programs, and again for lit (1800): a test that has not finished by then fails.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/test/runners.sh"
export SLUICE_BUILD=${SLUICE_BUILD:-$root/build}
bash "$root/tools/setup.sh"
results=$SLUICE_BUILD/results
rm -rf "$results"
mkdir -p "$results"
limit=${SLUICE_TEST_LIMIT:-1800}
# Tests of several ranks wait for each other's processes and files: one job more than cores keeps the cores busy.
jobs=$(($(nproc) + 1))
echo "tests: about 14 minutes on 2 cores; logs are in $results"
# Failures are read from the result files: one that is missing, because its runner died, is a failure too.
begin=$SECONDS
run_ctest "$results/ctest" "$limit" "$jobs" "$SLUICE_BUILD"
echo "tests: GoogleTest programs $((SECONDS - begin)) s"
begin=$SECONDS
run_lit "$results/lit" "$limit" "$jobs" "$root/test"
echo "tests: lit $((SECONDS - begin)) s"
outcomes=("$results/ctest.xml" "$results/lit.xml")
if [[ ${SLUICE_FUZZ:-} == 1 ]]; then
  begin=$SECONDS
  run_lit "$results/fuzz-lit" "$limit" "$(nproc)" "$root/test/fuzz"
  echo "tests: fuzz targets $((SECONDS - begin)) s"
  outcomes+=("$results/fuzz-lit.xml")
else
  echo "tests: fuzz targets are left out, SLUICE_FUZZ=1 builds them with another compiler and runs each for a minute"
fi
exec python3 "$root/test/summary.py" --limit "$limit" "${outcomes[@]}"
