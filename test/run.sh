#!/usr/bin/env bash
# Installs what is missing, builds, runs every test, and closes with the line "N passed, N failed, N skipped".
# SLUICE_BUILD names another build folder, SLUICE_REFERENCE another folder of reference numbers. Where nothing has changed
# since a run without a failure, that run's count is given again; SLUICE_TEST_AGAIN=1 runs the tests in any case.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export SLUICE_BUILD=${SLUICE_BUILD:-$root/build}
bash "$root/tools/setup.sh"
echo "tests: about 8 minutes on 2 cores"
exec python3 "$root/test/run_tests.py" "$root" "$SLUICE_BUILD"
