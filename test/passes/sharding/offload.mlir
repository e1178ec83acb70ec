// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload=['parameters','optimizer']" -o %t.both
// RUN: FileCheck %s < %t.both
// RUN: sluice-opt %t.both -spmd-offload | diff %t.both -
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload=['parameters']" | FileCheck %s --check-prefix=PARAMETERS
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload=['optimizer']" | FileCheck %s --check-prefix=STATES
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,gradient.microbatches=3,gradient.sync=every,memory.offload=['parameters','optimizer']" | FileCheck %s --check-prefix=EVERY
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,gradient.microbatches=3,memory.offload=['parameters','optimizer']" | FileCheck %s --check-prefix=LAST
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=memory.offload=['parameters','optimizer']" | FileCheck %s --check-prefix=ONE-RANK
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload=['parameters','optimizer']" -sluice-prefetch | FileCheck %s --check-prefix=PREFETCH
// RUN: sluice-opt %S/Inputs/two-layers.mlir -sluice-partition="set=mesh.shard=4,memory.offload={'layer.0'=['optimizer']}" -o %t.units
// RUN: FileCheck %s --check-prefix=UNITS < %t.units
// RUN: sluice-opt %t.units -spmd-offload="memory.offload={'layer.0'=['optimizer']}" | diff %t.units -
// Tests the copies between host and device memory, and the ops that run on the host.

// The arguments of parameters and states, and the inputs that only the update reads, are in host memory.
// CHECK: func.func @train_step(%arg0: {{.*}} {spmd.parameter = @embed, spmd.space = #spmd.space<host>}, %arg1: {{.*}} {spmd.parameter = @embed, spmd.space = #spmd.space<host>, spmd.state = "momentum_buffer"}
// CHECK-SAME: {spmd.input = "lr", spmd.space = #spmd.space<host>}
// Shards are copied to the device before their gather: only the stream of gathers waits.
// CHECK: %[[C0:.*]] = spmd.copy_start %arg0 to <device> unit "root" {model.phase = #model.phase<forward>}
// CHECK-NEXT: %[[S0:.*]] = spmd.wait %[[C0]] {chained, model.phase = #model.phase<forward>}
// CHECK-NEXT: spmd.all_gather_start %[[S0]] over ["shard"] unit "root" {model.phase = #model.phase<forward>}
// A reduced gradient is copied to the host.
// CHECK: %[[R:.*]] = spmd.reduce_scatter_start {{.*}} unit "layer.1"
// CHECK-NEXT: %[[G:.*]] = spmd.wait %[[R]]
// CHECK-NEXT: %[[C1:.*]] = spmd.copy_start %[[G]] to <host> unit "layer.1" {model.phase = #model.phase<backward>}
// CHECK-NEXT: spmd.wait %[[C1]] {model.phase = #model.phase<backward>}
// The update runs on the host except for its collectives, whose operands are in device memory.
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
// Initial weights are computed in host memory, from a seed there.
// CHECK: func.func @init
// CHECK-SAME: {spmd.input = "seed", spmd.space = #spmd.space<host>}
// CHECK: model.random_normal {{.*}}spmd.stream = #spmd.stream<host>
// CHECK-NOT: copy_start

// With the states on the device it updates copies of the parameters, which are copied back.
// PARAMETERS: spmd.section "update"
// PARAMETERS: %[[C:.*]] = spmd.copy_start %arg0 to <device>
// PARAMETERS-NEXT: %[[P:.*]] = spmd.wait %[[C]]
// PARAMETERS-NEXT: %[[N:.*]]:2 = model.sgd %[[P]],
// PARAMETERS-NOT: spmd.stream
// PARAMETERS-NEXT: spmd.copy_start %[[N]]#0 to <host>

// With the states on the host it updates copies of the parameters, which are copied back.
// STATES: spmd.all_gather_start %arg0
// STATES: spmd.section "update"
// STATES: %[[C:.*]] = spmd.copy_start %arg0 to <host>
// STATES-NEXT: %[[P:.*]] = spmd.wait %[[C]]
// STATES-NEXT: %[[N:.*]]:2 = model.sgd %[[P]], {{.*}}spmd.stream = #spmd.stream<host>
// STATES-NEXT: spmd.copy_start %[[N]]#0 to <device>

// The host accumulates gradients that every micro-batch reduces.
// EVERY: %[[G:.*]] = spmd.wait {{.*}}
// EVERY: %[[C:.*]] = spmd.copy_start %{{.*}} to <host> unit "layer.1" {model.phase = #model.phase<backward>}
// EVERY-NEXT: %[[H:.*]] = spmd.wait %[[C]]
// EVERY-NEXT: spmd.accumulate %[[H]] {model.phase = #model.phase<backward>, spmd.stream = #spmd.stream<host>}

// The device accumulates gradients that the last micro-batch reduces, and they are copied after that.
// LAST-NOT: spmd.accumulate {{.*}}spmd.stream = #spmd.stream<host>
// LAST: spmd.copy_start %{{.*}} to <host> unit "layer.1" {model.phase = #model.phase<backward>, spmd.when = #spmd.when<last>}

// On one rank compute waits for the copies.
// ONE-RANK: %[[C:.*]] = spmd.copy_start %arg0 to <device> unit "root" {model.phase = #model.phase<forward>}
// ONE-RANK-NEXT: %[[W:.*]] = spmd.wait %[[C]] {model.phase = #model.phase<forward>}
// ONE-RANK-NEXT: model.matmul %{{.*}}, %[[W]]
// ONE-RANK: %[[D:.*]] = model.matmul {{.*}}transpose_lhs
// ONE-RANK-NEXT: spmd.copy_start %[[D]] to <host> unit "layer.1"

// A copy is issued with its gather, before its use; a copy to the host is after its reduction, for which the stream of copies
// waits, and the wait for the copy is where the next unit's reduction begins.
// PREFETCH: spmd.all_gather_start {{.*}} unit "root"
// PREFETCH-NEXT: spmd.wait
// PREFETCH-NEXT: spmd.copy_start %arg2 to <device> unit "layer.0"
// PREFETCH-NEXT: spmd.wait %{{.*}} {chained
// PREFETCH-NEXT: spmd.all_gather_start {{.*}} unit "layer.0"
// PREFETCH-NEXT: model.matmul
// PREFETCH: %[[C:.*]] = spmd.copy_start %{{.*}} to <host> unit "layer.1"
// PREFETCH: spmd.wait %[[C]]
// PREFETCH-NEXT: spmd.reduce_scatter_start {{.*}} unit "layer.0"
// PREFETCH-NEXT: %[[R:.*]] = spmd.wait %{{.*}} {chained
// PREFETCH-NEXT: %[[D:.*]] = spmd.copy_start %[[R]] to <host> unit "layer.0"
// PREFETCH: spmd.wait %[[D]]
// PREFETCH-NEXT: spmd.reduce_scatter_start {{.*}} unit "root"
// PREFETCH-NEXT: spmd.wait %{{.*}} {chained
// PREFETCH-NEXT: %[[E:.*]] = spmd.copy_start %{{.*}} to <host> unit "root"
// PREFETCH-NEXT: spmd.wait %[[E]]
// PREFETCH-NEXT: spmd.yield

// Only the states of the unit are in host memory, and only its gradients leave the device. The norm of all gradients is computed
// on the host, from copies of the others, and the device updates the other units with its guard.
// UNITS: func.func @train_step(%arg0: {{.*}} {spmd.parameter = @embed}, %arg1: {{.*}} {spmd.parameter = @embed, spmd.state = "momentum_buffer"}
// UNITS-SAME: %arg2: {{.*}} {spmd.parameter = @layer.0.w}, %arg3: {{.*}} {spmd.parameter = @layer.0.w, spmd.space = #spmd.space<host>, spmd.state = "momentum_buffer"}
// UNITS-SAME: {spmd.input = "lr"}
// UNITS: spmd.reduce_scatter_start {{.*}} unit "layer.1"
// UNITS-NEXT: %[[G1:.*]] = spmd.wait %{{[0-9]+}} {model.
// UNITS-NEXT: %[[C1:.*]] = spmd.copy_start %[[G1]] to <host> unit "layer.1"
// UNITS-NEXT: %[[H1:.*]] = spmd.wait %[[C1]]
// UNITS: spmd.reduce_scatter_start {{.*}} unit "layer.0"
// UNITS-NEXT: %[[G0:.*]] = spmd.wait %{{[0-9]+}} {chained
// UNITS-NEXT: %[[C0:.*]] = spmd.copy_start %[[G0]] to <host> unit "layer.0"
// UNITS-NEXT: %[[H0:.*]] = spmd.wait %[[C0]]
// UNITS: spmd.yield {{.*}}%[[H0]], {{.*}}%[[H1]]
// UNITS: spmd.section "update"
// UNITS: model.power_sum {{.*}}spmd.stream = #spmd.stream<host>
// UNITS: %[[F:.*]] = model.all_finite {{.*}}spmd.stream = #spmd.stream<host>
// UNITS: %[[C:.*]] = spmd.copy_start %{{[0-9]+}}, %[[F]] to <device>
// UNITS-NEXT: %[[GUARD:.*]]:2 = spmd.wait %[[C]]
// UNITS-NEXT: model.sgd %arg0, {{.*}}%[[GUARD]]#1 {
// UNITS-NOT: spmd.stream
// UNITS: model.sgd {{.*}}spmd.stream = #spmd.stream<host>
