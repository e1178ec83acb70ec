#!/usr/bin/env bash
# Runs tests of a build, and ends with the line "N passed, N failed, N skipped".
#
#   test/check.sh quick   lit tests of dialects, passes and lint, and the GoogleTest programs that need seconds
#   test/check.sh all     every test except the fuzz targets
#   test/check.sh fuzz    builds the fuzz targets with another compiler and runs each for a minute; `all fuzz` is also possible
#   test/check.sh tsan    builds the GoogleTest programs of threads under ThreadSanitizer and runs them
#   test/check.sh asan    builds unit-cuda under AddressSanitizer and UndefinedBehaviorSanitizer and runs it
#
# Otherwise it builds nothing: `ninja check-quick`, `ninja check` and test/run.sh do. SLUICE_BUILD names the build folder, SLUICE_RESULTS the
# folder of results and logs. SLUICE_TEST_LIMIT is the time in seconds for the GoogleTest programs, again for lit, and again for the fuzz targets
# (1800): a test that has not finished by then fails.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export SLUICE_BUILD=${SLUICE_BUILD:-$root/build}
results=${SLUICE_RESULTS:-$SLUICE_BUILD/results}
limit=${SLUICE_TEST_LIMIT:-1800}
# Tests of several ranks wait for each other's processes and files: one job more than cores keeps the cores busy.
jobs=$(($(nproc) + 1))
source "$root/test/runners.sh"

# Of the programs that docs/sanitizers.md lists, those whose threads share most, without the cases of one thread that take minutes.
threaded=(unit-collective unit-executor unit-checkpoint unit-train)
unthreaded='^(unit-checkpoint\.(Damage|Faults)|unit-train\.TextCache)\.'

# run_sanitized PRESET PROGRAMS [OPTION...]: builds the programs, separated by spaces, and runs them with these options of ctest.
# Without a build there are no results, which is a failure.
run_sanitized() {
  local preset=$1 programs=$2 build=$SLUICE_BUILD-$1 log=$results/$1-build.log begin=$SECONDS
  shift 2
  if ! (cd "$root" && cmake --preset "$preset" -B "$build" && ninja -C "$build" $programs) > "$log" 2>&1; then
    tail -n 30 "$log"
    return
  fi
  echo "tests: build for $preset $((SECONDS - begin)) s"
  begin=$SECONDS
  ASAN_OPTIONS=strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS="suppressions=$root/test/tsan.supp" \
    run_ctest "$results/$preset-ctest" "$limit" "$jobs" "$build" -R "^(${programs// /|})(\.|_NOT_BUILT)" "$@"
  echo "tests: GoogleTest programs under $preset $((SECONDS - begin)) s"
}

# A program that is not built is a failure, by the name NAME_NOT_BUILT.
quick='^unit-(passes|passes-collective|dialect-[a-z]+|plan|rules|solver)(\.|_NOT_BUILT)'
outcomes=()
rm -rf "$results"
mkdir -p "$results"
for part in "${@:-all}"; do
  case $part in
    quick) programs=(-R "$quick") tests=("$root"/test/{dialect,passes,lint}) ;;
    all) programs=() tests=("$root/test") ;;
    fuzz) programs=(none) tests=("$root/test/fuzz") jobs=$(nproc) ;;
    tsan | asan)
      if [[ $part == tsan ]]; then
        run_sanitized tsan "${threaded[*]}" -E "$unthreaded"
      else
        run_sanitized asan unit-cuda
      fi
      outcomes+=("$results/$part-ctest.xml")
      continue
      ;;
    *) echo "usage: check.sh quick | all | fuzz | tsan | asan" >&2; exit 2 ;;
  esac
  if [[ ${programs[*]} != none ]]; then
    begin=$SECONDS
    run_ctest "$results/$part-ctest" "$limit" "$jobs" "$SLUICE_BUILD" "${programs[@]}"
    echo "tests: GoogleTest programs $((SECONDS - begin)) s"
    outcomes+=("$results/$part-ctest.xml")
  fi
  begin=$SECONDS
  run_lit "$results/$part-lit" "$limit" "$jobs" "${tests[@]}"
  [[ $part == all ]] && name=lit || name="lit ($part)"
  echo "tests: $name $((SECONDS - begin)) s"
  outcomes+=("$results/$part-lit.xml")
done
# Failures are read from the result files: one that is missing, because its runner died, is a failure too.
exec python3 "$root/test/summary.py" --limit "$limit" "${outcomes[@]}"
