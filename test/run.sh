#!/usr/bin/env bash
# Installs missing packages, builds, runs every test, and ends with the line "N passed, N failed, N skipped".
# SLUICE_BUILD names another build folder, SLUICE_REFERENCE another folder of reference numbers. SLUICE_FUZZ=1 adds the fuzz targets.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export SLUICE_BUILD=${SLUICE_BUILD:-$root/build}
bash "$root/tools/setup.sh"
echo "tests: about 30 minutes on 2 cores of a Xeon with AVX-512; logs are in ${SLUICE_RESULTS:-$SLUICE_BUILD/results}"
parts=(all)
if [[ ${SLUICE_FUZZ:-} == 1 ]]; then
  parts+=(fuzz)
else
  echo "tests: fuzz targets are left out, SLUICE_FUZZ=1 builds them with another compiler and runs each for a minute"
fi
exec bash "$root/test/check.sh" "${parts[@]}"
