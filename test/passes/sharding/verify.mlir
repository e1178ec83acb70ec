// RUN: sluice-opt %s -spmd-verify -split-input-file -verify-diagnostics
// Tests what the sharding phase must not leave behind. All errors are reported, not the first alone.

// No mesh.
// expected-error @below {{mesh, expected one but got none}}
module {
}

// -----

// What speaks of whole parameters and gradients.
spmd.mesh @mesh <shard = 2>
model.parameter @w : tensor<4xf32> zeros {dim = 0 : i64}
func.func @f(%x: tensor<f32>) attributes {model.entry = #model.entry<train>} {
  spmd.section "s" repeat 1 {
    // expected-error @below {{op behind the sharding phase, expected none of whole parameters and gradients but got model.read}}
    %0 = model.read @w : tensor<4xf32>
    // expected-error @below {{op behind the sharding phase, expected none of whole parameters and gradients but got model.gradient}}
    %1 = model.gradient @w, %0 : tensor<4xf32>
    // expected-error @below {{op behind the sharding phase, expected none of whole parameters and gradients but got model.write}}
    model.write @w, %1 : tensor<4xf32>
    // expected-error @below {{op behind the sharding phase, expected none of whole parameters and gradients but got model.step_mean}}
    %2 = model.step_mean %x : tensor<f32>
    // expected-error @below {{op behind the sharding phase, expected none of whole parameters and gradients but got model.recompute}}
    model.recompute "h" {
    }
    // expected-error @below {{op behind the sharding phase, expected none of whole parameters and gradients but got builtin.unrealized_conversion_cast}}
    %3 = builtin.unrealized_conversion_cast %x : tensor<f32> to tensor<1xf32>
  }
  // expected-error @below {{op of entry point @f, expected spmd.section but got model.relu}}
  %4 = model.relu %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// A shard that does not cover its parameter, and one of none.
spmd.mesh @mesh <shard = 2>
model.parameter @w : tensor<4xf32> zeros {dim = 0 : i64}
// expected-error @below {{shard of @w, expected 'tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>' but got 'tensor<1xf32, #spmd.sharding<[{"shard", chunk = 1, total = 4}]>>'}}
// expected-error @below {{argument 1, expected a shard of a parameter of the module but got one of @v}}
func.func @f(%w: tensor<1xf32, #spmd.sharding<[{"shard", chunk = 1, total = 4}]>> {spmd.parameter = @w},
             %v: tensor<4xf32> {spmd.parameter = @v}) attributes {model.entry = #model.entry<forward>} {
  return
}

// -----

// Two results in one place, and a result of another type than the place.
spmd.mesh @mesh <shard = 1>
// expected-error @below {{donated argument of result 1, expected one that no other result takes but got 0}}
// expected-error @below {{result 2, expected the donated argument's type 'tensor<3xf32>' but got 'tensor<2xf32>'}}
func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>)
    -> (tensor<2xf32> {spmd.donates = 0 : i64}, tensor<2xf32> {spmd.donates = 0 : i64}, tensor<2xf32> {spmd.donates = 1 : i64})
    attributes {model.entry = #model.entry<forward>} {
  return %a, %a, %a : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// A collective that nobody waits for, one along an axis of one rank, and a gathered value that is never released.
!shard = tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
spmd.mesh @mesh <replicate = 1, shard = 2>
func.func @f(%w: !shard, %x: tensor<f32>) attributes {model.entry = #model.entry<forward>} {
  spmd.section "s" repeat 1 {
    // expected-error @below {{waits for a collective, expected one but got 0}}
    %t = spmd.all_reduce_start %x over ["shard"] <mean> : tensor<f32>
    // expected-error @below {{axis of a collective, expected one of several ranks but got "replicate" of one rank}}
    %u = spmd.all_reduce_start %x over ["replicate"] <mean> : tensor<f32>
    %0 = spmd.wait %u : tensor<f32>
    %v = spmd.all_gather_start %w over ["shard"] unit "root" : !shard
    // expected-error @below {{gathered value, expected a release before the section ends but got none}}
    %1 = spmd.wait %v : tensor<4xf32>
  }
  return
}

// -----

// What the device computes from host memory, and the host from the device's.
spmd.mesh @mesh <shard = 1>
model.parameter @w : tensor<4xf32> zeros
func.func @f(%w: tensor<4xf32> {spmd.parameter = @w, spmd.space = #spmd.space<host>}, %x: tensor<4xf32>) attributes {model.entry = #model.entry<forward>} {
  spmd.section "s" repeat 1 {
    // expected-error @below {{operand, expected one in the memory of the device but got 'tensor<4xf32>' in the other}}
    %0 = model.relu %w : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{operand, expected one in the memory of the host but got 'tensor<4xf32>' in the other}}
    %1 = model.relu %x {spmd.stream = #spmd.stream<host>} : (tensor<4xf32>) -> tensor<4xf32>
    %t = spmd.copy_start %x to <host> : tensor<4xf32>
    %2 = spmd.wait %t : tensor<4xf32>
    %3 = model.relu %2 {spmd.stream = #spmd.stream<host>} : (tensor<4xf32>) -> tensor<4xf32>
  }
  return
}

// -----

// A view of a gathered value that is read behind the release.
!shard = tensor<2xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}]>>
spmd.mesh @mesh <shard = 2>
func.func @f(%w: !shard) attributes {model.entry = #model.entry<forward>} {
  spmd.section "s" repeat 1 {
    %t = spmd.all_gather_start %w over ["shard"] unit "root" : !shard
    %0 = spmd.wait %t : tensor<4xf32>
    %1 = model.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32>
    // expected-note @below {{released here}}
    spmd.release %0 unit "root" : tensor<4xf32>
    // expected-error @below {{operand, expected one that is not read behind its release but got 'tensor<2x2xf32>'}}
    %2 = model.relu %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  }
  return
}

// -----

// What the update reads of a repeated section is accumulated, before or after its reduction.
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
