#!/usr/bin/env bash
# Formats all C++ and CUDA files by the repository's .clang-format. --check: changes nothing and fails if a file differs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(-i)
if [ "${1:-}" = --check ]; then
  mode=(--dry-run --Werror)
fi
find dialect passes runtime tools test -path '*/build' -prune -o \
  \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print0 | xargs -0 -n 40 clang-format-22 "${mode[@]}"
