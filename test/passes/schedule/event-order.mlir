// DEFINE: %{events} = sed -nE 's/^.*spmd\.(all_gather_start|release|reduce_scatter_start|all_reduce_start) .* unit ("[a-z0-9.]+") .*model.phase = #model.phase<([a-z]+)>.*$/\1 \2 \3/p'
// RUN: sluice-opt %S/../sharding/Inputs/three-layers.mlir -sluice-partition="set=mesh.shard=4" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=DEF
// RUN: sluice-opt %S/../sharding/Inputs/three-layers.mlir -sluice-partition="set=mesh.shard=4,sharding.reshard_after_forward=true" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=ALL
// RUN: sluice-opt %S/../sharding/Inputs/three-layers.mlir -sluice-partition="set=mesh.shard=4,sharding.reshard_after_forward=false" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=NONE
// RUN: sluice-opt %S/../sharding/Inputs/four-layers.mlir -sluice-partition="set=mesh.shard=4,sharding.reshard_after_forward=true" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=F1
// RUN: sluice-opt %S/../sharding/Inputs/four-layers.mlir -sluice-partition="set=mesh.shard=4,sharding.reshard_after_forward=true,schedule.forward_prefetch=2" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=F2
// RUN: sluice-opt %S/../sharding/Inputs/four-layers.mlir -sluice-partition="set=mesh.shard=4,sharding.reshard_after_forward=true,schedule.forward_prefetch=0" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=F0
// RUN: sluice-opt %S/../sharding/Inputs/four-layers.mlir -sluice-partition="set=mesh.shard=4,sharding.reshard_after_forward=true,schedule.forward_prefetch=0,schedule.backward_prefetch=2" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=B2
// RUN: sluice-opt %S/../sharding/Inputs/four-layers.mlir -sluice-partition="set=mesh.shard=4,sharding.reshard_after_forward=true,schedule.backward_prefetch=0" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=B0
// RUN: sluice-opt %S/../sharding/Inputs/three-layers.mlir -sluice-partition="set=mesh.shard=4,sharding.strategy=no_shard" -sluice-prefetch | %{events} | FileCheck %s --check-prefix=WHOLE
// Tests the full order of issue: gathers, releases and reductions of a train step, and nothing between them.
// A gradient is reduced after the release of its unit, so that the gathered memory is free by then.

// Default: blocks are released after the forward, the root is not; a prefetch distance of one unit in forward and backward.
// DEF: {{^}}all_gather_start "root" forward{{$}}
// DEF-NEXT: {{^}}all_gather_start "layer.0" forward{{$}}
// DEF-NEXT: {{^}}all_gather_start "layer.1" forward{{$}}
// DEF-NEXT: {{^}}release "layer.0" forward{{$}}
// DEF-NEXT: {{^}}all_gather_start "layer.2" forward{{$}}
// DEF-NEXT: {{^}}release "layer.1" forward{{$}}
// DEF-NEXT: {{^}}release "layer.2" forward{{$}}
// DEF-NEXT: {{^}}all_gather_start "layer.2" backward{{$}}
// DEF-NEXT: {{^}}all_gather_start "layer.1" backward{{$}}
// DEF-NEXT: {{^}}release "layer.2" backward{{$}}
// DEF-NEXT: {{^}}reduce_scatter_start "layer.2" backward{{$}}
// DEF-NEXT: {{^}}all_gather_start "layer.0" backward{{$}}
// DEF-NEXT: {{^}}release "layer.1" backward{{$}}
// DEF-NEXT: {{^}}reduce_scatter_start "layer.1" backward{{$}}
// DEF-NEXT: {{^}}release "layer.0" backward{{$}}
// DEF-NEXT: {{^}}reduce_scatter_start "layer.0" backward{{$}}
// DEF-NEXT: {{^}}release "root" backward{{$}}
// DEF-NEXT: {{^}}reduce_scatter_start "root" backward{{$}}
// DEF-NOT: unit

// Everything is released after the forward.
// ALL: {{^}}all_gather_start "root" forward{{$}}
// ALL-NEXT: {{^}}all_gather_start "layer.0" forward{{$}}
// ALL-NEXT: {{^}}all_gather_start "layer.1" forward{{$}}
// ALL-NEXT: {{^}}release "layer.0" forward{{$}}
// ALL-NEXT: {{^}}all_gather_start "layer.2" forward{{$}}
// ALL-NEXT: {{^}}release "layer.1" forward{{$}}
// ALL-NEXT: {{^}}release "layer.2" forward{{$}}
// ALL-NEXT: {{^}}release "root" forward{{$}}
// ALL-NEXT: {{^}}all_gather_start "root" backward{{$}}
// ALL-NEXT: {{^}}all_gather_start "layer.2" backward{{$}}
// ALL-NEXT: {{^}}all_gather_start "layer.1" backward{{$}}
// ALL-NEXT: {{^}}release "layer.2" backward{{$}}
// ALL-NEXT: {{^}}reduce_scatter_start "layer.2" backward{{$}}
// ALL-NEXT: {{^}}all_gather_start "layer.0" backward{{$}}
// ALL-NEXT: {{^}}release "layer.1" backward{{$}}
// ALL-NEXT: {{^}}reduce_scatter_start "layer.1" backward{{$}}
// ALL-NEXT: {{^}}release "layer.0" backward{{$}}
// ALL-NEXT: {{^}}reduce_scatter_start "layer.0" backward{{$}}
// ALL-NEXT: {{^}}release "root" backward{{$}}
// ALL-NEXT: {{^}}reduce_scatter_start "root" backward{{$}}
// ALL-NOT: unit

// Nothing is released after the forward.
// NONE: {{^}}all_gather_start "root" forward{{$}}
// NONE-NEXT: {{^}}all_gather_start "layer.0" forward{{$}}
// NONE-NEXT: {{^}}all_gather_start "layer.1" forward{{$}}
// NONE-NEXT: {{^}}all_gather_start "layer.2" forward{{$}}
// NONE-NEXT: {{^}}release "layer.2" backward{{$}}
// NONE-NEXT: {{^}}reduce_scatter_start "layer.2" backward{{$}}
// NONE-NEXT: {{^}}release "layer.1" backward{{$}}
// NONE-NEXT: {{^}}reduce_scatter_start "layer.1" backward{{$}}
// NONE-NEXT: {{^}}release "layer.0" backward{{$}}
// NONE-NEXT: {{^}}reduce_scatter_start "layer.0" backward{{$}}
// NONE-NEXT: {{^}}release "root" backward{{$}}
// NONE-NEXT: {{^}}reduce_scatter_start "root" backward{{$}}
// NONE-NOT: unit

// Forward prefetch distance of one unit.
// F1: {{^}}all_gather_start "root" forward{{$}}
// F1-NEXT: {{^}}all_gather_start "layer.0" forward{{$}}
// F1-NEXT: {{^}}all_gather_start "layer.1" forward{{$}}
// F1-NEXT: {{^}}release "layer.0" forward{{$}}
// F1-NEXT: {{^}}all_gather_start "layer.2" forward{{$}}
// F1-NEXT: {{^}}release "layer.1" forward{{$}}
// F1-NEXT: {{^}}all_gather_start "layer.3" forward{{$}}
// F1-NEXT: {{^}}release "layer.2" forward{{$}}
// F1-NEXT: {{^}}release "layer.3" forward{{$}}
// F1-NEXT: {{^}}release "root" forward{{$}}
// F1-NEXT: {{^}}all_gather_start "root" backward{{$}}
// F1-NEXT: {{^}}all_gather_start "layer.3" backward{{$}}
// F1-NEXT: {{^}}all_gather_start "layer.2" backward{{$}}
// F1-NEXT: {{^}}release "layer.3" backward{{$}}
// F1-NEXT: {{^}}reduce_scatter_start "layer.3" backward{{$}}
// F1-NEXT: {{^}}all_gather_start "layer.1" backward{{$}}
// F1-NEXT: {{^}}release "layer.2" backward{{$}}
// F1-NEXT: {{^}}reduce_scatter_start "layer.2" backward{{$}}
// F1-NEXT: {{^}}all_gather_start "layer.0" backward{{$}}
// F1-NEXT: {{^}}release "layer.1" backward{{$}}
// F1-NEXT: {{^}}reduce_scatter_start "layer.1" backward{{$}}
// F1-NEXT: {{^}}release "layer.0" backward{{$}}
// F1-NEXT: {{^}}reduce_scatter_start "layer.0" backward{{$}}
// F1-NEXT: {{^}}release "root" backward{{$}}
// F1-NEXT: {{^}}reduce_scatter_start "root" backward{{$}}
// F1-NOT: unit

// Forward prefetch distance of two units.
// F2: {{^}}all_gather_start "root" forward{{$}}
// F2-NEXT: {{^}}all_gather_start "layer.0" forward{{$}}
// F2-NEXT: {{^}}all_gather_start "layer.1" forward{{$}}
// F2-NEXT: {{^}}all_gather_start "layer.2" forward{{$}}
// F2-NEXT: {{^}}release "layer.0" forward{{$}}
// F2-NEXT: {{^}}all_gather_start "layer.3" forward{{$}}
// F2-NEXT: {{^}}release "layer.1" forward{{$}}
// F2-NEXT: {{^}}release "layer.2" forward{{$}}
// F2-NEXT: {{^}}release "layer.3" forward{{$}}
// F2-NEXT: {{^}}release "root" forward{{$}}
// F2-NEXT: {{^}}all_gather_start "root" backward{{$}}
// F2-NEXT: {{^}}all_gather_start "layer.3" backward{{$}}
// F2-NEXT: {{^}}all_gather_start "layer.2" backward{{$}}
// F2-NEXT: {{^}}release "layer.3" backward{{$}}
// F2-NEXT: {{^}}reduce_scatter_start "layer.3" backward{{$}}
// F2-NEXT: {{^}}all_gather_start "layer.1" backward{{$}}
// F2-NEXT: {{^}}release "layer.2" backward{{$}}
// F2-NEXT: {{^}}reduce_scatter_start "layer.2" backward{{$}}
// F2-NEXT: {{^}}all_gather_start "layer.0" backward{{$}}
// F2-NEXT: {{^}}release "layer.1" backward{{$}}
// F2-NEXT: {{^}}reduce_scatter_start "layer.1" backward{{$}}
// F2-NEXT: {{^}}release "layer.0" backward{{$}}
// F2-NEXT: {{^}}reduce_scatter_start "layer.0" backward{{$}}
// F2-NEXT: {{^}}release "root" backward{{$}}
// F2-NEXT: {{^}}reduce_scatter_start "root" backward{{$}}
// F2-NOT: unit

// Forward at use.
// F0: {{^}}all_gather_start "root" forward{{$}}
// F0-NEXT: {{^}}all_gather_start "layer.0" forward{{$}}
// F0-NEXT: {{^}}release "layer.0" forward{{$}}
// F0-NEXT: {{^}}all_gather_start "layer.1" forward{{$}}
// F0-NEXT: {{^}}release "layer.1" forward{{$}}
// F0-NEXT: {{^}}all_gather_start "layer.2" forward{{$}}
// F0-NEXT: {{^}}release "layer.2" forward{{$}}
// F0-NEXT: {{^}}all_gather_start "layer.3" forward{{$}}
// F0-NEXT: {{^}}release "layer.3" forward{{$}}
// F0-NEXT: {{^}}release "root" forward{{$}}
// F0-NEXT: {{^}}all_gather_start "root" backward{{$}}
// F0-NEXT: {{^}}all_gather_start "layer.3" backward{{$}}
// F0-NEXT: {{^}}all_gather_start "layer.2" backward{{$}}
// F0-NEXT: {{^}}release "layer.3" backward{{$}}
// F0-NEXT: {{^}}reduce_scatter_start "layer.3" backward{{$}}
// F0-NEXT: {{^}}all_gather_start "layer.1" backward{{$}}
// F0-NEXT: {{^}}release "layer.2" backward{{$}}
// F0-NEXT: {{^}}reduce_scatter_start "layer.2" backward{{$}}
// F0-NEXT: {{^}}all_gather_start "layer.0" backward{{$}}
// F0-NEXT: {{^}}release "layer.1" backward{{$}}
// F0-NEXT: {{^}}reduce_scatter_start "layer.1" backward{{$}}
// F0-NEXT: {{^}}release "layer.0" backward{{$}}
// F0-NEXT: {{^}}reduce_scatter_start "layer.0" backward{{$}}
// F0-NEXT: {{^}}release "root" backward{{$}}
// F0-NEXT: {{^}}reduce_scatter_start "root" backward{{$}}
// F0-NOT: unit

// Backward prefetch distance of two units; the root prefetches one unit.
// B2: {{^}}all_gather_start "root" forward{{$}}
// B2-NEXT: {{^}}all_gather_start "layer.0" forward{{$}}
// B2-NEXT: {{^}}release "layer.0" forward{{$}}
// B2-NEXT: {{^}}all_gather_start "layer.1" forward{{$}}
// B2-NEXT: {{^}}release "layer.1" forward{{$}}
// B2-NEXT: {{^}}all_gather_start "layer.2" forward{{$}}
// B2-NEXT: {{^}}release "layer.2" forward{{$}}
// B2-NEXT: {{^}}all_gather_start "layer.3" forward{{$}}
// B2-NEXT: {{^}}release "layer.3" forward{{$}}
// B2-NEXT: {{^}}release "root" forward{{$}}
// B2-NEXT: {{^}}all_gather_start "root" backward{{$}}
// B2-NEXT: {{^}}all_gather_start "layer.3" backward{{$}}
// B2-NEXT: {{^}}all_gather_start "layer.2" backward{{$}}
// B2-NEXT: {{^}}all_gather_start "layer.1" backward{{$}}
// B2-NEXT: {{^}}release "layer.3" backward{{$}}
// B2-NEXT: {{^}}reduce_scatter_start "layer.3" backward{{$}}
// B2-NEXT: {{^}}all_gather_start "layer.0" backward{{$}}
// B2-NEXT: {{^}}release "layer.2" backward{{$}}
// B2-NEXT: {{^}}reduce_scatter_start "layer.2" backward{{$}}
// B2-NEXT: {{^}}release "layer.1" backward{{$}}
// B2-NEXT: {{^}}reduce_scatter_start "layer.1" backward{{$}}
// B2-NEXT: {{^}}release "layer.0" backward{{$}}
// B2-NEXT: {{^}}reduce_scatter_start "layer.0" backward{{$}}
// B2-NEXT: {{^}}release "root" backward{{$}}
// B2-NEXT: {{^}}reduce_scatter_start "root" backward{{$}}
// B2-NOT: unit

// Backward at use.
// B0: {{^}}all_gather_start "root" forward{{$}}
// B0-NEXT: {{^}}all_gather_start "layer.0" forward{{$}}
// B0-NEXT: {{^}}all_gather_start "layer.1" forward{{$}}
// B0-NEXT: {{^}}release "layer.0" forward{{$}}
// B0-NEXT: {{^}}all_gather_start "layer.2" forward{{$}}
// B0-NEXT: {{^}}release "layer.1" forward{{$}}
// B0-NEXT: {{^}}all_gather_start "layer.3" forward{{$}}
// B0-NEXT: {{^}}release "layer.2" forward{{$}}
// B0-NEXT: {{^}}release "layer.3" forward{{$}}
// B0-NEXT: {{^}}release "root" forward{{$}}
// B0-NEXT: {{^}}all_gather_start "root" backward{{$}}
// B0-NEXT: {{^}}all_gather_start "layer.3" backward{{$}}
// B0-NEXT: {{^}}release "layer.3" backward{{$}}
// B0-NEXT: {{^}}reduce_scatter_start "layer.3" backward{{$}}
// B0-NEXT: {{^}}all_gather_start "layer.2" backward{{$}}
// B0-NEXT: {{^}}release "layer.2" backward{{$}}
// B0-NEXT: {{^}}reduce_scatter_start "layer.2" backward{{$}}
// B0-NEXT: {{^}}all_gather_start "layer.1" backward{{$}}
// B0-NEXT: {{^}}release "layer.1" backward{{$}}
// B0-NEXT: {{^}}reduce_scatter_start "layer.1" backward{{$}}
// B0-NEXT: {{^}}all_gather_start "layer.0" backward{{$}}
// B0-NEXT: {{^}}release "layer.0" backward{{$}}
// B0-NEXT: {{^}}reduce_scatter_start "layer.0" backward{{$}}
// B0-NEXT: {{^}}release "root" backward{{$}}
// B0-NEXT: {{^}}reduce_scatter_start "root" backward{{$}}
// B0-NOT: unit

// Nothing is sharded.
// WHOLE: {{^}}all_reduce_start "layer.2" backward{{$}}
// WHOLE-NEXT: {{^}}all_reduce_start "layer.1" backward{{$}}
// WHOLE-NEXT: {{^}}all_reduce_start "layer.0" backward{{$}}
// WHOLE-NEXT: {{^}}all_reduce_start "root" backward{{$}}
// WHOLE-NOT: unit
