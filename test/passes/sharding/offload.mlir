// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload=['parameters','optimizer']" -o %t.both
// RUN: FileCheck %s < %t.both
// RUN: sluice-opt %t.both -spmd-offload | diff %t.both -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload=['parameters']" | FileCheck %s --check-prefix=PARAMETERS
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload=['optimizer']" | FileCheck %s --check-prefix=STATES
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,gradient.microbatches=3,gradient.sync=every,memory.offload=['parameters','optimizer']" | FileCheck %s --check-prefix=EVERY
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,gradient.microbatches=3,memory.offload=['parameters','optimizer']" | FileCheck %s --check-prefix=LAST
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=memory.offload=['parameters','optimizer']" | FileCheck %s --check-prefix=ALONE
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload=['parameters','optimizer']" -sluice-prefetch | FileCheck %s --check-prefix=AHEAD
// Tests where values are copied between host and device memory, and what the host runs.

// The arguments of parameters and states, and the inputs that the update alone reads, lie in host memory.
// CHECK: func.func @train_step(%arg0: {{.*}} {spmd.parameter = @embed, spmd.space = #spmd.space<host>}, %arg1: {{.*}} {spmd.parameter = @embed, spmd.space = #spmd.space<host>, spmd.state = "momentum_buffer"}
// CHECK-SAME: {spmd.input = "lr", spmd.space = #spmd.space<host>}
// Shards are copied to the device before their gather: the stream of gathers alone waits.
// CHECK: %[[C0:.*]] = spmd.copy_start %arg0 to <device> unit "root" {model.phase = #model.phase<forward>}
// CHECK-NEXT: %[[S0:.*]] = spmd.wait %[[C0]] {chained, model.phase = #model.phase<forward>}
// CHECK-NEXT: spmd.all_gather_start %[[S0]] over ["shard"] unit "root" {model.phase = #model.phase<forward>}
// A reduced gradient is copied to the host.
// CHECK: %[[R:.*]] = spmd.reduce_scatter_start {{.*}} unit "layer.1"
// CHECK-NEXT: %[[G:.*]] = spmd.wait %[[R]]
// CHECK-NEXT: %[[C1:.*]] = spmd.copy_start %[[G]] to <host> unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK-NEXT: spmd.wait %[[C1]] {model.phase = #model.phase<backward>}
// The update is the host's but for its collectives: their operands are the device's.
// CHECK: spmd.section "update"
// CHECK: %[[P:.*]] = model.power_sum {{.*}}spmd.stream = #spmd.stream<host>
// CHECK-NEXT: %[[C2:.*]] = spmd.copy_start %[[P]] to <device>
// CHECK-NEXT: %[[D:.*]] = spmd.wait %[[C2]]
// CHECK-NEXT: %[[A:.*]] = spmd.all_reduce_start %[[D]] over ["shard"] <sum>
// CHECK-NEXT: %[[N:.*]] = spmd.wait %[[A]]
// CHECK-NEXT: %[[C3:.*]] = spmd.copy_start %[[N]] to <host>
// CHECK-NEXT: %[[H:.*]] = spmd.wait %[[C3]]
// CHECK-NEXT: model.norm_root %[[H]] {{.*}}spmd.stream = #spmd.stream<host>
// CHECK: model.sgd {{.*}}spmd.stream = #spmd.stream<host>
// Initial weights are made in host memory, out of a seed there.
// CHECK: func.func @init
// CHECK-SAME: {spmd.input = "seed", spmd.space = #spmd.space<host>}
// CHECK: model.random_normal {{.*}}spmd.stream = #spmd.stream<host>
// CHECK-NOT: copy_start

// With the states on the device it updates, out of copies of the parameters and back.
// PARAMETERS: spmd.section "update"
// PARAMETERS: %[[C:.*]] = spmd.copy_start %arg0 to <device>
// PARAMETERS-NEXT: %[[P:.*]] = spmd.wait %[[C]]
// PARAMETERS-NEXT: %[[N:.*]]:2 = model.sgd %[[P]],
// PARAMETERS-NOT: spmd.stream
// PARAMETERS-NEXT: spmd.copy_start %[[N]]#0 to <host>

// With the states on the host it updates, out of copies of the parameters and back.
// STATES: spmd.all_gather_start %arg0
// STATES: spmd.section "update"
// STATES: %[[C:.*]] = spmd.copy_start %arg0 to <host>
// STATES-NEXT: %[[P:.*]] = spmd.wait %[[C]]
// STATES-NEXT: %[[N:.*]]:2 = model.sgd %[[P]], {{.*}}spmd.stream = #spmd.stream<host>
// STATES-NEXT: spmd.copy_start %[[N]]#0 to <device>

// What every micro-batch reduces is added up by the host.
// EVERY: %[[G:.*]] = spmd.wait {{.*}}
// EVERY: %[[C:.*]] = spmd.copy_start %{{.*}} to <host> unit "layer.1" {model.phase = #model.phase<backward>}
// EVERY-NEXT: %[[H:.*]] = spmd.wait %[[C]]
// EVERY-NEXT: spmd.accumulate %[[H]] {model.phase = #model.phase<backward>, spmd.stream = #spmd.stream<host>}

// What is deferred is added up on the device, and copied when it is reduced.
// LAST-NOT: spmd.accumulate {{.*}}spmd.stream = #spmd.stream<host>
// LAST: spmd.copy_start %{{.*}} to <host> unit "layer.1" {model.phase = #model.phase<backward>, spmd.when = #spmd.when<last>}

// Alone, compute itself waits for the copies.
// ALONE: %[[C:.*]] = spmd.copy_start %arg0 to <device> unit "root" {model.phase = #model.phase<forward>}
// ALONE-NEXT: %[[W:.*]] = spmd.wait %[[C]] {model.phase = #model.phase<forward>}
// ALONE-NEXT: model.matmul %{{.*}}, %[[W]]
// ALONE: %[[D:.*]] = model.matmul {{.*}}transpose_lhs
// ALONE-NEXT: spmd.copy_start %[[D]] to <host> unit "layer.1"

// A copy is issued with its gather, ahead of use; a copy to the host stands behind its reduction, which the copies' stream
// waits for, and is waited for where the next unit's reduction begins.
// AHEAD: spmd.all_gather_start {{.*}} unit "root"
// AHEAD-NEXT: spmd.wait
// AHEAD-NEXT: spmd.copy_start %arg2 to <device> unit "layer.0"
// AHEAD-NEXT: spmd.wait %{{.*}} {chained
// AHEAD-NEXT: spmd.all_gather_start {{.*}} unit "layer.0"
// AHEAD-NEXT: model.matmul
// AHEAD: %[[C:.*]] = spmd.copy_start %{{.*}} to <host> unit "layer.1"
// AHEAD: spmd.wait %[[C]]
// AHEAD-NEXT: spmd.reduce_scatter_start {{.*}} unit "layer.0"
// AHEAD-NEXT: %[[R:.*]] = spmd.wait %{{.*}} {chained
// AHEAD-NEXT: %[[D:.*]] = spmd.copy_start %[[R]] to <host> unit "layer.0"
// AHEAD: spmd.wait %[[D]]
// AHEAD-NEXT: spmd.reduce_scatter_start {{.*}} unit "root"
// AHEAD-NEXT: spmd.wait %{{.*}} {chained
// AHEAD-NEXT: %[[E:.*]] = spmd.copy_start %{{.*}} to <host> unit "root"
// AHEAD-NEXT: spmd.wait %[[E]]
// AHEAD-NEXT: spmd.yield
