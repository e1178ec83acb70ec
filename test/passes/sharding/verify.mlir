// RUN: sluice-opt %s -spmd-verify -split-input-file -verify-diagnostics
// Tests the invariants at the end of the sharding phase. All errors are reported, not only the first.

// No mesh.
// expected-error @below {{module has no spmd.mesh}}
module {
}

// -----

// Ops on global parameters and gradients.
spmd.mesh @mesh <shard = 2>
model.parameter @w : tensor<4xf32> zeros {dim = 0 : i64}
func.func @f(%x: tensor<f32>) attributes {model.entry = #model.entry<train>} {
  spmd.section "s" repeat 1 {
    // expected-error @below {{model.read remains after the sharding phase}}
    %0 = model.read @w : tensor<4xf32>
    // expected-error @below {{model.gradient remains after the sharding phase}}
    %1 = model.gradient @w, %0 : tensor<4xf32>
    // expected-error @below {{model.write remains after the sharding phase}}
    model.write @w, %1 : tensor<4xf32>
    // expected-error @below {{model.step_mean remains after the sharding phase}}
    %2 = model.step_mean %x : tensor<f32>
    // expected-error @below {{model.recompute remains after the sharding phase}}
    model.recompute "h" {
    }
    // expected-error @below {{builtin.unrealized_conversion_cast remains after the sharding phase}}
    %3 = builtin.unrealized_conversion_cast %x : tensor<f32> to tensor<1xf32>
  }
  // expected-error @below {{model.relu is outside of the sections of entry point @f}}
  %4 = model.relu %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// A shard that does not cover its parameter, and a shard of a missing parameter.
spmd.mesh @mesh <shard = 2>
model.parameter @w : tensor<4xf32> zeros {dim = 0 : i64}
// expected-error @below {{shard of @w, expected 'tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>' but got 'tensor<1xf32, #spmd.sharding<[{"shard", chunk = 1, total = 4}]>>'}}
// expected-error @below {{argument 1 is a shard of @v, which is no parameter of the module}}
func.func @f(%w: tensor<1xf32, #spmd.sharding<[{"shard", chunk = 1, total = 4}]>> {spmd.parameter = @w},
             %v: tensor<4xf32> {spmd.parameter = @v}) attributes {model.entry = #model.entry<forward>} {
  return
}

// -----

// Two results that donate one argument, a result of another type than its argument, and a missing argument.
spmd.mesh @mesh <shard = 1>
// expected-error @below {{result 1 donates argument 0, as another result does}}
// expected-error @below {{result 2, expected the donated argument's type 'tensor<3xf32>' but got 'tensor<2xf32>'}}
// expected-error @below {{result 3 donates argument 2 of 2}}
func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>)
    -> (tensor<2xf32> {spmd.donates = 0 : i64}, tensor<2xf32> {spmd.donates = 0 : i64}, tensor<2xf32> {spmd.donates = 1 : i64}, tensor<2xf32> {spmd.donates = 2 : i64})
    attributes {model.entry = #model.entry<forward>} {
  return %a, %a, %a, %a : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// A collective without wait, one along an axis of one rank, and a gathered value without release.
!shard = tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
spmd.mesh @mesh <replicate = 1, shard = 2>
func.func @f(%w: !shard, %x: tensor<f32>) attributes {model.entry = #model.entry<forward>} {
  spmd.section "s" repeat 1 {
    // expected-error @below {{expected 1 wait for a collective but got 0}}
    %t = spmd.all_reduce_start %x over ["shard"] <mean> : tensor<f32>
    // expected-error @below {{collective along axis "replicate", which has one rank}}
    %u = spmd.all_reduce_start %x over ["replicate"] <mean> : tensor<f32>
    %0 = spmd.wait %u : tensor<f32>
    %v = spmd.all_gather_start %w over ["shard"] unit "root" : !shard
    // expected-error @below {{gathered value has no release in the section}}
    %1 = spmd.wait %v : tensor<4xf32>
  }
  return
}

// -----

// The device reads host memory, and the host device memory.
spmd.mesh @mesh <shard = 1>
model.parameter @w : tensor<4xf32> zeros
func.func @f(%w: tensor<4xf32> {spmd.parameter = @w, spmd.space = #spmd.space<host>}, %x: tensor<4xf32>) attributes {model.entry = #model.entry<forward>} {
  spmd.section "s" repeat 1 {
    // expected-error @below {{runs on the device but reads 'tensor<4xf32>' in host memory}}
    %0 = model.relu %w : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{runs on the host but reads 'tensor<4xf32>' in device memory}}
    %1 = model.relu %x {spmd.stream = #spmd.stream<host>} : (tensor<4xf32>) -> tensor<4xf32>
    %t = spmd.copy_start %x to <host> : tensor<4xf32>
    %2 = spmd.wait %t : tensor<4xf32>
    %3 = model.relu %2 {spmd.stream = #spmd.stream<host>} : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

// A view of a gathered value that is read after the release.
!shard = tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
spmd.mesh @mesh <shard = 2>
func.func @f(%w: !shard) attributes {model.entry = #model.entry<forward>} {
  spmd.section "s" repeat 1 {
    %t = spmd.all_gather_start %w over ["shard"] unit "root" : !shard
    %0 = spmd.wait %t : tensor<4xf32>
    %1 = model.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32>
    // expected-note @below {{released here}}
    spmd.release %0 unit "root" : tensor<4xf32>
    // expected-error @below {{reads 'tensor<2x2xf32>' after its release}}
    %2 = model.relu %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  }
  return
}

// -----

// A result of a repeated section that the update reads is accumulated, before or after its reduction.
spmd.mesh @mesh <shard = 2>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {model.entry = #model.entry<train>} {
  // expected-error @below {{result 2 of repeated section 'microbatch' is read by another section but not accumulated over the repetitions}}
  %0:4 = spmd.section "microbatch" repeat 2 -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
    %1 = spmd.accumulate %x : tensor<4xf32> -> tensor<4xf32>
    %2 = spmd.all_reduce_start %1 over ["shard"] <sum> : tensor<4xf32>
    %3 = spmd.wait %2 : tensor<4xf32>
    %4 = spmd.all_reduce_start %x over ["shard"] <sum> : tensor<4xf32>
    // expected-note @below {{computed here; spmd-accumulate-gradients accumulates it}}
    %5 = spmd.wait %4 : tensor<4xf32>
    %6 = spmd.accumulate %5 : tensor<4xf32> -> tensor<4xf32>
    %7 = model.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    spmd.yield %3, %6, %5, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %8 = spmd.section "update" repeat 1 -> tensor<4xf32> {
    %9 = model.add %0#0, %0#1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %10 = model.add %9, %0#2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    spmd.yield %10 : tensor<4xf32>
  }
  return %0#3 : tensor<4xf32>
}
