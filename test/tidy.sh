#!/usr/bin/env bash
# Runs clang-tidy on C++ files of the product; a warning is a failure. Ends with the line "N passed, N failed, N skipped".
#
#   test/tidy.sh [FILE...]
#
# Without files: those that changed since the branch point from origin's main branch, or, on that branch itself, in its last 20 commits, so that
# two runs on a commit check the same files. For a changed header its .cpp file of the same name is checked. A file that is not checked within the
# time limit (SLUICE_TIDY_LIMIT, 600 s for all) is a skip: clang-tidy takes about 10 s for a file that includes MLIR, and each file is also checked by the
# compiler. The build folder, $SLUICE_BUILD-tidy, has the generated headers only.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${SLUICE_BUILD:-$root/build}-tidy
limit=${SLUICE_TIDY_LIMIT:-600}
cd "$root"
if (($#)); then
  files=("$@")
else
  base=$(git merge-base origin/HEAD HEAD 2> /dev/null || git merge-base origin/main HEAD 2> /dev/null || git rev-parse HEAD)
  if [[ $base == $(git rev-parse HEAD) ]]; then
    base=$(git rev-list --first-parent --max-count=21 HEAD | tail -n 1)
  fi
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" HEAD -- dialect passes runtime tools | sed -n 's/\.h$/.cpp/; /\.cpp$/p' | sort -u |
    while read -r file; do [[ ! -f $file ]] || echo "$file"; done)
fi
if ((${#files[@]} == 0)); then
  echo "0 passed, 0 failed, 0 skipped"
  exit
fi
mkdir -p "$build"
# Files are compiled one by one, without precompiled headers, so that each has its own command.
cmake -G Ninja -S "$root" -B "$build" -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 -DSLUICE_UNITY=OFF \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON > "$build/configure.log" 2>&1 ||
  { cat "$build/configure.log" >&2; exit 1; }
ninja -C "$build" -t targets all | sed -nE 's/^([^:]*(\.inc|_generated\.h)): CUSTOM_COMMAND$/\1/p' | xargs ninja -C "$build" > "$build/build.log" ||
  { tail "$build/build.log" >&2; exit 1; }
rm -rf "$build/tidy"
mkdir -p "$build/tidy"
export build
timeout "$limit" xargs -P "$(nproc)" -I{} bash -c '
  name=$build/tidy/$(tr / . <<< "$1")
  clang-tidy-22 --quiet --warnings-as-errors="*" -p "$build" "$1" > "$name.log" 2> "$name.errors" && touch "$name.passed" || touch "$name.failed"' _ {} \
  < <(printf '%s\n' "${files[@]}") || true
passed=0 failed=0 skipped=0
for file in "${files[@]}"; do
  name=$build/tidy/$(tr / . <<< "$file")
  if [[ -f $name.passed ]]; then
    passed=$((passed + 1))
  elif [[ -f $name.failed ]]; then
    failed=$((failed + 1))
    printf 'failed: clang-tidy %s\n' "$file"
    cat "$name.log"
    [[ -s $name.log ]] || tail "$name.errors"
  else
    skipped=$((skipped + 1))
    printf 'skipped: clang-tidy %s: not finished within %s s\n' "$file" "$limit"
  fi
done
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
