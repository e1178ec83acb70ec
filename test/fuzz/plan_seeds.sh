#!/usr/bin/env bash
# Compiles small models to the plans from which fuzz-plan and fuzz-run-plan begin. Plans are not kept in the repository: a
# plan is valid for one version of the kernel catalogue.
#
#   test/fuzz/plan_seeds.sh FOLDER
set -euo pipefail
folder=$1
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# seed NAME RECIPE ARGUMENTS...: the plan of a model of the zoo.
seed() {
  local name=$1
  printf '%b' "$2" > "$scratch/recipe.toml"
  shift 2
  sluice-import zoo "$@" -o "$scratch/model.mlir"
  sluice-compile "$scratch/model.mlir" --recipe "$scratch/recipe.toml" -o "$folder/$name.plan"
}
# Small ones: the time of an execution grows with the plan.
sgd='optimizer.name = "sgd"\n'
seed one-rank "$sgd" double-linear --set dim=4
seed mlp "${sgd}mesh.shard = 2" mlp --set dim=4
seed microbatches "${sgd}mesh.shard = 2\ngradient.microbatches = 2" linear-mlps --set count=1 --set dim=4
seed hybrid "${sgd}mesh.shard = 2\nmesh.replicate = 2" shared-linear --set dim=4
seed clipped 'mesh.shard = 2\ngradient.clip_norm = 1.0' two-losses --set dim=4
seed tensor "${sgd}"'mesh.tensor = 2\nsharding.tensor = {"*in_proj*" = "column", "*out_proj.weight" = "row"}' mlp --set dim=4
seed attention "${sgd}"'mesh.shard = 2\nrecompute.policy = "block"' transformer --set layers=1 --set sequence=2 --set max_sequence=2 --set dim=4 --set heads=2 --set loss=cross-entropy
