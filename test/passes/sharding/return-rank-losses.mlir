// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 gradient.microbatches=4" -spmd-partition="gradient.microbatches=4" -spmd-insert-data-reshards -spmd-group-reshards -spmd-elide-reshards -spmd-accumulate-gradients -spmd-return-rank-losses="loss.per_rank=true" --verify-roundtrip -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-return-rank-losses="loss.per_rank=true" | diff %t.once -
// RUN: sluice-opt %t.once -spmd-return-rank-losses -o %t.off
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4" -spmd-partition -spmd-insert-data-reshards -spmd-return-rank-losses | FileCheck %s --check-prefix=OFF
// Tests that the mean of a rank over its micro-batches is returned next to the loss.

// CHECK: func.func @train_step
// CHECK-SAME: spmd.output = "loss"
// CHECK-SAME: tensor<f32> {spmd.output = "rank_loss"}
// CHECK: %[[U:.*]]:[[N:[0-9]+]] = spmd.section "update"
// CHECK-NEXT: %[[LOCAL:.*]] = model.scale %{{.*}} {factor = 2.500000e-01 : f64
// CHECK-NEXT: %[[MEAN:.*]] = spmd.reshard %[[LOCAL]] from [#spmd.sharding<[] partial mean over ["replicate", "shard"]>]
// CHECK: spmd.yield {{.*}}%[[LOCAL]] :

// OFF-NOT: rank_loss
