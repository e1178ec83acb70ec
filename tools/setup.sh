#!/usr/bin/env bash
# Prepares a Debian 12 machine and builds: installs the missing packages of tools/packages.txt, configures build/,
# builds the named targets (default: all). Needs the network only for Debian's packages; a second run takes seconds.
#
#   tools/setup.sh [TARGET...]
#
# SLUICE_BUILD names another build folder. The output of the build is in its build.log. With SLUICE_WERROR=1 a new build
# folder has warnings as errors.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${SLUICE_BUILD:-$root/build}

missing=()
while read -r package; do
  [[ -z $package || $package == \#* ]] && continue
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
done < "$root/tools/packages.txt"
if ((${#missing[@]})); then
  echo "setup: installing ${#missing[@]} packages (a few minutes): ${missing[*]}"
  as_root=()
  if ((EUID != 0)); then
    command -v sudo > /dev/null || { echo "error: packages are missing, expected root or sudo to install: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# The cache is shared by clones in different folders.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
mkdir -p "$build"
if [[ ! -f $build/build.ninja ]]; then
  echo "setup: building $build; on 2 cores of a server all targets take about 20 minutes the first time, those of the demo 8, later seconds"
  cmake -G Ninja -S "$root" -B "$build" ${SLUICE_WERROR:+-DCMAKE_COMPILE_WARNING_AS_ERROR=ON} > "$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
fi

# Prints one line for every twentieth of the work, and all other output: warnings and errors.
progress() {
  local begin=$SECONDS shown=0 line twentieths
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
      twentieths=$((20 * BASH_REMATCH[1] / BASH_REMATCH[2]))
      if ((BASH_REMATCH[2] >= 20 && twentieths > shown)); then
        shown=$twentieths
        printf 'setup: %3d %%  %d of %d  %d s\n' $((5 * shown)) "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" $((SECONDS - begin))
      fi
    elif [[ ! $line =~ ^ninja:\ (no\ work\ to\ do|Entering) ]]; then
      printf '%s\n' "$line"
    fi
  done
}
begin=$SECONDS
NINJA_STATUS='[%f/%t] ' ninja -C "$build" "$@" 2>&1 | tee "$build/build.log" | progress
echo "setup: built in $((SECONDS - begin)) s"
