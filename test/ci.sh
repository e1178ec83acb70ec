#!/usr/bin/env bash
# Parts with a time budget in minutes, 85 in all; It prints the time of each part, and ends with the line "N passed,
# N failed, N skipped" of all parts. A part that does not end within the 85 minutes, and a sum above them, are failures.
#
#   test/ci.sh [PART...]
#
#   tests   test/run.sh: packages, the build, every test (30 minutes)
#   fuzz    the fuzz targets, built with another compiler, for a minute each
#   load    the tests of check-quick once more while a busy loop occupies each core: no test may depend on the speed of the machine
#   extend  an op, a recipe key and a pass are added to a copy of the sources as the pages docs/add-*.md describe (test/extend)
#   tidy    clang-tidy on the files that changed (test/tidy.sh)
#   tsan    programs of many threads, built and run under ThreadSanitizer (docs/sanitizers.md)
#   asan    host code of CUDA on the emulated device, built and run under AddressSanitizer and UndefinedBehaviorSanitizer
#           fuzz, load, extend, tidy, tsan and asan: 50 minutes; each is skipped if less than its time is left
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export SLUICE_BUILD=${SLUICE_BUILD:-$root/build} SLUICE_WERROR=1
limit=$((${SLUICE_CI_MINUTES:-85} * 60))
output=$(mktemp)

# Runs in a subshell, whose end ends the loops.
run_under_load() {
  local loops=()
  for _ in $(seq "$(nproc)"); do
    while :; do :; done &
    loops+=($!)
  done
  trap "kill ${loops[*]}" EXIT
  SLUICE_RESULTS=$SLUICE_BUILD/results-load timeout "$1" bash "$root/test/check.sh" quick
}

run_part() {
  local part=$1 left=$2
  case $part in
    tests) timeout "$left" bash "$root/test/run.sh" ;;
    fuzz) SLUICE_RESULTS=$SLUICE_BUILD/results-fuzz timeout "$left" bash "$root/test/check.sh" fuzz ;;
    load) run_under_load "$left" ;;
    extend) timeout "$left" python3 "$root/test/extend/extend.py" "$root" "$SLUICE_BUILD/extend" ;;
    # Before its time ends, so that files that are left are named.
    tidy) SLUICE_TIDY_LIMIT=$((left > 720 ? 600 : left - 120)) timeout "$left" bash "$root/test/tidy.sh" ;;
    tsan | asan) SLUICE_RESULTS=$SLUICE_BUILD/results-$part timeout "$left" bash "$root/test/check.sh" "$part" ;;
    *) echo "error: no such part: $part" ;;
  esac
}

passed=0 failed=0 skipped=0 times=()
declare -A least=([tests]=0 [fuzz]=20 [load]=12 [extend]=15 [tidy]=8 [tsan]=8 [asan]=10)
(($#)) || set -- tests fuzz load extend tidy tsan asan
for part in "$@"; do
  begin=$SECONDS
  left=$((limit - SECONDS))
  echo "ci: $part"
  if ((left < 60 * ${least[$part]:-0})); then
    skipped=$((skipped + 1))
    echo "skipped: ci $part: $((left / 60)) of $((limit / 60)) minutes left, expected at least ${least[$part]}"
    continue
  fi
  if ((left > 0)); then
    run_part "$part" "$left" 2>&1 | tee "$output"
  else
    : > "$output"
  fi
  if [[ $(tail -n 1 "$output") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + BASH_REMATCH[3]))
  else
    failed=$((failed + 1))
    echo "failed: ci $part: not finished within $((limit / 60)) minutes for all parts, or ended without counts"
  fi
  times+=("$part $((SECONDS - begin)) s")
done
rm -f "$output"
printf 'ci: %s\n' "${times[@]}" "all parts $SECONDS s, at most $limit s"
if ((SECONDS > limit)); then
  failed=$((failed + 1))
  echo "failed: ci: all parts took $SECONDS s, expected at most $limit s"
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && passed > 0))
