// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4" -spmd-partition -spmd-insert-data-reshards -spmd-group-reshards --verify-roundtrip -o %t.once
// RUN: FileCheck %s < %t.once
// RUN: sluice-opt %t.once -spmd-group-reshards | diff %t.once -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4 sharding.units=root sharding.replicated=['layer.0.w']" -spmd-partition -spmd-insert-data-reshards -spmd-group-reshards | FileCheck %s --check-prefix=ROOT
// RUN: sluice-opt %S/Inputs/two-layers.mlir -spmd-assign-units="mesh.shard=4" -spmd-partition -spmd-insert-data-reshards -spmd-localize-update | not sluice-opt -spmd-lower-reshards 2>&1 | FileCheck %s --check-prefix=EACH
// Tests that a unit's reshards are one in each of its scopes, and that each scope ends with a release.

// CHECK: %[[E:.*]] = spmd.reshard %arg0 {{.*}} unit "root" {model.phase = #model.phase<forward>}
// CHECK-NEXT: model.matmul %{{.*}}, %[[E]]
// CHECK-NEXT: %[[W:.*]] = spmd.reshard %arg2 {{.*}} unit "layer.0" {model.phase = #model.phase<forward>}
// CHECK-NEXT: model.matmul %{{.*}}, %[[W]]
// CHECK-NEXT: spmd.release %[[W]] unit "layer.0" {model.phase = #model.phase<forward>}
// CHECK: spmd.release %[[E]] unit "root" {model.phase = #model.phase<forward>}
// The backward has separate reshards, and its gradients are reduced after the release.
// CHECK: spmd.reshard %arg0 {{.*}} unit "root" {model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[B:.*]] = spmd.reshard %arg4 {{.*}} unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK-NEXT: model.matmul %{{.*}}, %[[B]]
// CHECK-NEXT: %[[D:.*]] = model.matmul {{.*}}transpose_lhs
// CHECK-NEXT: spmd.release %[[B]] unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK-NEXT: %[[M:.*]] = spmd.reshard %[[D]] {{.*}}partial mean{{.*}} unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK: spmd.yield {{.*}}%[[M]]
// CHECK-NOT: spmd.parameter = @{{.*}}} :

// One reshard of the sharded parameters of a unit and one of the replicated ones; gradients likewise.
// ROOT: %[[S:.*]]:2 = spmd.reshard %arg0, %arg4 from {{.*}} unit "root" {model.phase = #model.phase<forward>}
// ROOT-NEXT: %[[R:.*]] = spmd.reshard %arg2 from [#spmd.sharding<[{}, {}]>] to [#spmd.sharding<[{}, {}]>] unit "root" {model.phase = #model.phase<forward>}
// ROOT: spmd.release %[[S]]#0, %[[S]]#1, %[[R]] unit "root" {model.phase = #model.phase<forward>}
// ROOT: spmd.release {{.*}} unit "root" {model.phase = #model.phase<backward>}
// ROOT-NEXT: spmd.reshard %{{.*}}, %{{.*}} from {{.*}} to [#spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>] unit "root"
// ROOT-NEXT: spmd.reshard %{{.*}} from {{.*}} to [#spmd.sharding<[{}, {}]>] unit "root"
// ROOT-NEXT: spmd.yield

// EACH: 'spmd.reshard' op is of one parameter and not of a unit
// EACH: note: spmd-group-reshards merges the reshards of a unit
