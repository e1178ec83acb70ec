// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid collectives. Labels are those of docs/spec/spmd.md.

// all_gather_start_c1: nothing to gather
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_gather_start' op failed to verify that there is at least one operand}}
    %t = "spmd.all_gather_start"() {axes = ["shard"]} : () -> !spmd.token
  }
  return
}

// -----

// all_gather_start_c2: an axis twice
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_gather_start' op axis "shard" occurs twice}}
    %t = spmd.all_gather_start %s over ["shard", "shard"] : !shard
  }
  return
}

// -----

// all_gather_start_c2: an axis that the mesh does not have
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
// expected-note @below {{the mesh is here}}
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard) {
  // expected-error @below {{'spmd.all_gather_start' op axis "tensor" is not an axis of the mesh}}
  %t = spmd.all_gather_start %s over ["tensor"] : !shard
  return
}

// -----

// all_gather_start_c3: an unsharded tensor
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_gather_start' op operand, expected a shard along ["shard"] but got 'tensor<6x4xf32>'}}
    %t = spmd.all_gather_start %x over ["shard"] : tensor<6x4xf32>
  }
  return
}

// -----

// all_gather_start_c3: a shard along a different axis
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_gather_start' op operand, expected a shard along ["replicate"] but got}}
    %t = spmd.all_gather_start %s over ["replicate"] : !shard
  }
  return
}

// -----

// all_to_all_start_c1: nothing to exchange
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f() {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_to_all_start' op failed to verify that there is at least one operand}}
    %t = "spmd.all_to_all_start"() {axes = ["shard"]} : () -> !spmd.token
  }
  return
}

// -----

// all_to_all_start_c2: an axis of no mesh
// expected-note @below {{the mesh is here}}
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_to_all_start' op axis "rows" is not an axis of the mesh}}
    %t = spmd.all_to_all_start %x over ["rows"] : tensor<6x4xf32>
  }
  return
}

// -----

// all_to_all_start_c3: no chunk for each rank
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%x: tensor<4x6xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_to_all_start' op operand, expected chunks of 3 ranks along dim 0 but got 'tensor<4x6xf32>'}}
    %t = spmd.all_to_all_start %x over ["shard"] : tensor<4x6xf32>
  }
  return
}

// -----

// reduce_scatter_start_c1: nothing to reduce
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.reduce_scatter_start' op failed to verify that there is at least one operand}}
    %t = "spmd.reduce_scatter_start"() {axes = ["shard"], op = #spmd.reduction<mean>, shards = []} : () -> !spmd.token
  }
  return
}

// -----

// reduce_scatter_start_c2: an axis twice
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.reduce_scatter_start' op axis "shard" occurs twice}}
    %t = spmd.reduce_scatter_start %x over ["shard", "shard"] <mean> : tensor<6x4xf32> to [!shard]
  }
  return
}

// -----

// reduce_scatter_start_c3: an unknown reduction
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.reduce_scatter_start' op attribute 'op' failed to satisfy constraint: a reduction that is sum, mean or premul_sum}}
    %t = spmd.reduce_scatter_start %x over ["shard"] <max> : tensor<6x4xf32> to [!shard]
  }
  return
}

// -----

// reduce_scatter_start_c3: a scale without premul_sum
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.reduce_scatter_start' op 'scale' requires the reduction premul_sum but got mean}}
    %t = spmd.reduce_scatter_start %x over ["shard"] <mean> {scale = 0.5 : f64} : tensor<6x4xf32> to [!shard]
  }
  return
}

// -----

// reduce_scatter_start_c4: more shards than operands
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.reduce_scatter_start' op shards, expected 1 but got 2}}
    %t = spmd.reduce_scatter_start %x over ["shard"] <mean> : tensor<6x4xf32> to [!shard, !shard]
  }
  return
}

// -----

// reduce_scatter_start_c5: a chunk that is too large
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.reduce_scatter_start' op shard, expected a chunk of 'tensor<6x4xf32>' along ["shard"] but got}}
    %t = spmd.reduce_scatter_start %x over ["shard"] <mean> : tensor<6x4xf32> to [tensor<3x4xf32, #spmd.sharding<[{"shard", chunk = 3, total = 6}, {}]>>]
  }
  return
}

// -----

// reduce_scatter_start_c5: a different total
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.reduce_scatter_start' op shard, expected a chunk of 'tensor<6x4xf32>' along ["shard"] but got}}
    %t = spmd.reduce_scatter_start %x over ["shard"] <mean> : tensor<6x4xf32> to [tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 5}, {}]>>]
  }
  return
}

// -----

// reduce_scatter_start_c5: a different element type
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.reduce_scatter_start' op shard, expected a chunk of 'tensor<6x4xf32>' along ["shard"] but got}}
    %t = spmd.reduce_scatter_start %x over ["shard"] <mean> : tensor<6x4xf32> to [tensor<2x4xbf16, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>]
  }
  return
}

// -----

// all_reduce_start_c1: nothing to reduce
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_reduce_start' op failed to verify that there is at least one operand}}
    %t = "spmd.all_reduce_start"() {axes = ["shard"], op = #spmd.reduction<mean>} : () -> !spmd.token
  }
  return
}

// -----

// all_reduce_start_c2: an axis twice
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_reduce_start' op axis "shard" occurs twice}}
    %t = spmd.all_reduce_start %x over ["shard", "shard"] <mean> : tensor<6x4xf32>
  }
  return
}

// -----

// all_reduce_start_c3: an unknown reduction
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.all_reduce_start' op attribute 'op' failed to satisfy constraint: a reduction that is sum, mean, premul_sum or max}}
    %t = spmd.all_reduce_start %x over ["shard"] <none> : tensor<6x4xf32>
  }
  return
}

// -----

// wait_c1: a token from outside the section
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%x: tensor<6x4xf32>) {
  %t = spmd.all_reduce_start %x over ["shard"] <mean> : tensor<6x4xf32>
  spmd.section "s" repeat 1 {
    // expected-error @below {{'spmd.wait' op token is not that of a start in the same block}}
    %0 = spmd.wait %t : tensor<6x4xf32>
  }
  return
}

// -----

// wait_c2: a second wait
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    %t = spmd.all_reduce_start %x over ["shard"] <mean> : tensor<6x4xf32>
    // expected-note @below {{the first is here}}
    %0 = spmd.wait %t : tensor<6x4xf32>
    // expected-error @below {{'spmd.wait' op is the second wait for its token}}
    %1 = spmd.wait %t : tensor<6x4xf32>
  }
  return
}

// -----

// wait_c3: a shard that is not gathered
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    %t = spmd.all_gather_start %s over ["shard"] : !shard
    // expected-error @below {{'spmd.wait' op values, expected types ('tensor<6x4xf32>') but got}}
    %0 = spmd.wait %t : !shard
  }
  return
}

// -----

// wait_c4: compute reads a chained value
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    %t = spmd.all_reduce_start %x over ["shard"] <mean> : tensor<6x4xf32>
    // expected-error @below {{'spmd.wait' op values of a chained wait are read by an op that is not a collective or copy}}
    %0 = spmd.wait %t {chained} : tensor<6x4xf32>
    // expected-note @below {{the reader is here}}
    %1 = spmd.accumulate %0 : tensor<6x4xf32> -> tensor<6x4xf32>
  }
  return
}

// -----

// wait_c5: a wait in repetitions without its start
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-note @below {{the start is here}}
    %t = spmd.all_reduce_start %x over ["shard"] <mean> {spmd.when = #spmd.when<last>} : tensor<6x4xf32>
    // expected-error @below {{'spmd.wait' op 'spmd.when' differs from that of the start}}
    %0 = spmd.wait %t : tensor<6x4xf32>
  }
  return
}

// -----

// copy_start_c1: nothing to copy
func.func @f(%x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.copy_start' op failed to verify that there is at least one operand}}
    %t = "spmd.copy_start"() {to = #spmd.space<host>} : () -> !spmd.token
  }
  return
}

// -----

// copy_start_c2: to no memory
func.func @f(%x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{expected one of [device, host] for a memory space, got: disk}}
    // expected-error @below {{failed to parse Spmd_MemorySpaceAttr parameter 'value' which is to be a `::sluice::MemorySpace`}}
    %t = spmd.copy_start %x to <disk> : tensor<6x4xf32>
    %0 = spmd.wait %t : tensor<6x4xf32>
  }
  return
}

// -----

// copy_start_c3: to the same memory space
func.func @f(%x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.copy_start' op operand is in the memory of the device already}}
    %t = spmd.copy_start %x to <device> : tensor<6x4xf32>
    %0 = spmd.wait %t : tensor<6x4xf32>
  }
  return
}

// -----

// release_c1: nothing to release
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.release' op failed to verify that there is at least one operand}}
    "spmd.release"() : () -> ()
  }
  return
}

// -----

// release_c2: a value that is not gathered
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.release' op value is not gathered}}
    spmd.release %x unit "h.0" : tensor<6x4xf32>
  }
  return
}

// -----

// release_c2: a different unit
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    %t = spmd.all_gather_start %s over ["shard"] unit "h.0" : !shard
    %0 = spmd.wait %t : tensor<6x4xf32>
    // expected-error @below {{'spmd.release' op unit, expected that of the gather but got "h.1"}}
    spmd.release %0 unit "h.1" : tensor<6x4xf32>
  }
  return
}

// -----

// release_c3: a reader after the release
!shard = tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 6}, {}]>>
spmd.mesh @mesh <replicate = 2, shard = 3>
func.func @f(%s: !shard, %x: tensor<6x4xf32>) {
  spmd.section "s" repeat 2 {
    %t = spmd.all_gather_start %s over ["shard"] unit "h.0" : !shard
    %0 = spmd.wait %t : tensor<6x4xf32>
    // expected-error @below {{'spmd.release' op value is read after its release}}
    spmd.release %0 unit "h.0" : tensor<6x4xf32>
    // expected-note @below {{the reader is here}}
    %1 = spmd.accumulate %0 : tensor<6x4xf32> -> tensor<6x4xf32>
  }
  return
}

// -----

// all_slice_c1
spmd.mesh @mesh <shard.0 = 2, shard.1 = 2>
func.func @f(%x: tensor<6x4xf32>) {
  // expected-error @below {{'spmd.all_slice' op result, expected a chunk of 'tensor<6x4xf32>' but got}}
  %0 = spmd.all_slice %x : tensor<6x4xf32> -> tensor<2x4xf32, #spmd.sharding<[{"shard.1", chunk = 2, total = 6}, {}]>>
  return
}
