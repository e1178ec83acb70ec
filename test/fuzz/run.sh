#!/usr/bin/env bash
# Builds a fuzz target in build-fuzz and runs it on its corpus:
#
#   test/fuzz/run.sh NAME LIMIT FOLDER [CORPUS...]
#
# LIMIT: a number of executions, or a time: 60s. FOLDER receives inputs that reach new code, and an input that fails as FOLDER/failed-*.
# SLUICE_BUILD names the build folder to which -fuzz is added.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${SLUICE_BUILD:-$root/build}-fuzz
name=$1 limit=-runs=$2 folder=$3
[[ $2 == *s ]] && limit=-max_total_time=${2%s}
shift 3
# Longer inputs are cut off.
length=4096
[[ $name == *plan ]] && length=131072
[[ $name == export ]] && length=16384
mkdir -p "$build" "$folder"
kept=$root/test/fuzz/corpus/$name
[[ -d $kept ]] && set -- "$kept" "$@"
(
  # Several tests build in one folder.
  flock 9
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  cd "$root"
  {
    [[ -f $build/build.ninja ]] || cmake --preset fuzz -B "$build"
    ninja -C "$build" "fuzz-$name"
  } > "$build/fuzz-$name.log" 2>&1 || { tail -n 30 "$build/fuzz-$name.log" >&2; exit 1; }
) 9> "$build/lock"
# Short stacks of allocations, and little memory that is kept from use after it is freed: both take time. A report has the full stack of the failure.
export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=4:quarantine_size_mb=16}
# The seed of the mutations is fixed, so that a run of a number of executions repeats. Leaks are looked for at the end.
exec "$build/bin/fuzz-$name" -seed=1 "$limit" -timeout=20 -rss_limit_mb=2048 -max_len="$length" -print_final_stats=1 \
  -verbosity=0 -artifact_prefix="$folder/failed-" "$folder" "$@"
