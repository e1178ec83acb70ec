// RUN: sluice-opt %s -spmd-assign-units -split-input-file -verify-diagnostics | FileCheck %s
// RUN: sluice-opt %s -spmd-assign-units -split-input-file -verify-diagnostics | sluice-opt -spmd-assign-units -split-input-file | FileCheck %s

// Tests that a parameter belongs to the outermost block of its readers, a shared or outer one to the root, an unused one
// to the block that its name begins with, and that units are in the order of their blocks.

// CHECK: spmd.mesh @mesh <replicate = 2, shard = 4, tensor = 1>
// CHECK-NEXT: spmd.unit @root [@tied, @shared, @scale]
// CHECK-NEXT: spmd.unit @h.0 [@h.0.w, @h.0.unused] {reshard_after_forward}
// CHECK-NEXT: spmd.unit @h.1 [@h.1.w] {reshard_after_forward}
// CHECK-NEXT: model.parameter @h.1.w : tensor<3x2xf32> zeros {dim = 0 : i64, unit = "h.1"}
// CHECK-NEXT: model.parameter @h.0.w : tensor<3x2xf32> zeros {dim = 0 : i64, unit = "h.0"}
// CHECK-NEXT: model.parameter @h.0.unused : tensor<1xf32> zeros {dim = 0 : i64, unit = "h.0"}
// CHECK-NEXT: model.parameter @tied : tensor<3x2xf32> zeros {dim = 0 : i64, unit = "root"}
// CHECK-NEXT: model.parameter @shared : tensor<3x2xf32> zeros {dim = 0 : i64, unit = "root"}
// A scalar has no dim to shard.
// CHECK-NEXT: model.parameter @scale : tensor<f32> ones {unit = "root"}
module attributes {model.recipe = {mesh.replicate = 2 : i64, mesh.shard = 4 : i64}} {
  model.parameter @h.1.w : tensor<3x2xf32> zeros
  model.parameter @h.0.w : tensor<3x2xf32> zeros
  model.parameter @h.0.unused : tensor<1xf32> zeros
  model.parameter @tied : tensor<3x2xf32> zeros
  model.parameter @shared : tensor<3x2xf32> zeros
  model.parameter @scale : tensor<f32> ones
  // CHECK: func.func @f
  func.func @f() -> tensor<3x2xf32> attributes {model.entry = #model.entry<forward>} {
    // The position of a read does not matter.
    %w1 = model.read @h.1.w {model.block = ""} : tensor<3x2xf32>
    %w0 = model.read @h.0.w {model.block = "h.0/attn"} : tensor<3x2xf32>
    %tied = model.read @tied {model.block = ""} : tensor<3x2xf32>
    %shared = model.read @shared {model.block = "h.0"} : tensor<3x2xf32>
    %scale = model.read @scale {model.block = ""} : tensor<f32>
    %0 = model.add %tied, %scale {model.block = ""} : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
    %1 = model.add %0, %w0 {model.block = "h.0/attn"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %2 = model.add %1, %shared {model.block = "h.0"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %3 = model.add %2, %shared {model.block = "h.1"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %4 = model.add %3, %w1 {model.block = "h.1"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %5 = model.add %4, %tied {model.block = ""} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    return %5 : tensor<3x2xf32>
  }
}

// -----

// Tests one unit for all parameters, and the remark that it has no effect on one rank.
// expected-remark@unknown {{recipe: 'sharding.units' has no effect on one rank}}
// CHECK: spmd.unit @root [@w]
// CHECK-NEXT: model.parameter @w {{.*}} {dim = 0 : i64, unit = "root"}
module attributes {model.recipe = {sharding.units = "root"}} {
  model.parameter @w : tensor<3xf32> zeros
  func.func @f() -> tensor<3xf32> attributes {model.entry = #model.entry<forward>} {
    %0 = model.read @w {model.block = ""} : tensor<3xf32>
    %1 = model.relu %0 {model.block = "h.0"} : (tensor<3xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}

// -----

// Tests that no parameter has a sharded dim without sharding.
// CHECK: spmd.unit @root [@w]
// CHECK-NEXT: model.parameter @w : tensor<3xf32> zeros {unit = "root"}
module attributes {model.recipe = {mesh.shard = 2 : i64, sharding.strategy = "no_shard"}} {
  model.parameter @w : tensor<3xf32> zeros
}

// -----

// Tests that a strategy sets the default of reshard_after_forward.
// CHECK: spmd.unit @root [@w]
// CHECK-NEXT: spmd.unit @h [@h.w]{{$}}
module attributes {model.recipe = {mesh.shard = 2 : i64, sharding.strategy = "shard_grad_op"}} {
  model.parameter @w : tensor<3xf32> zeros
  model.parameter @h.w : tensor<3xf32> zeros
  func.func @f() attributes {model.entry = #model.entry<forward>} {
    %0 = model.read @h.w {model.block = "h"} : tensor<3xf32>
    %1 = model.relu %0 {model.block = "h"} : (tensor<3xf32>) -> tensor<3xf32>
    return
  }
}

// -----

// Tests that an explicit value wins over the strategy's, for the root too.
// CHECK: spmd.unit @root [@w] {reshard_after_forward}
module attributes {model.recipe = {mesh.shard = 2 : i64, sharding.strategy = "shard_grad_op", sharding.reshard_after_forward = true}} {
  model.parameter @w : tensor<3xf32> zeros
}

// -----

// A recipe that this version does not support.
// expected-error @below {{mesh.context}}
module attributes {model.recipe = {mesh.context = 2 : i64}} {
}

// -----

// A value that the key does not have.
// expected-error @below {{model.recipe: value of 'sharding.units', expected "block", "root", "bytes:N", "auto" or a table from unit names to a list of strings or a string but got "blocks"}}
module attributes {model.recipe = {sharding.units = "blocks"}} {
}

// -----

// expected-error @below {{model.recipe: value of 'sharding.dim', expected "first", "largest", "flat", }}
module attributes {model.recipe = {sharding.dim = "last"}} {
}

// -----

// Parameters of one unit with two element types; a parameter without readers does not count.
// expected-error @unknown {{recipe: unit 'root' has parameters of two element types, f32 of 'w' and f64 of 'wide'; separate units may have them}}
module attributes {model.recipe = {mesh.replicate = 2 : i64}} {
  model.parameter @unused : tensor<3xf64> zeros
  model.parameter @w : tensor<3xf32> zeros
  model.parameter @wide : tensor<3xf64> zeros
  func.func @f() attributes {model.entry = #model.entry<forward>} {
    %0 = model.read @w {model.block = ""} : tensor<3xf32>
    %1 = model.relu %0 {model.block = ""} : (tensor<3xf32>) -> tensor<3xf32>
    %2 = model.read @wide {model.block = ""} : tensor<3xf64>
    %3 = model.relu %2 {model.block = ""} : (tensor<3xf64>) -> tensor<3xf64>
    return
  }
}

// -----

// A shard over a number of ranks that does not divide them.
// expected-error @unknown {{recipe: value of 'sharding.reshard_after_forward' for unit 'root', expected a divisor of 'mesh.shard' (1, 2, 4) but got 3}}
module attributes {model.recipe = {mesh.shard = 4 : i64, sharding.reshard_after_forward = 3 : i64}} {
}

// -----

// A setting without effect.
// expected-remark @unknown {{recipe: 'gradient.sync' has no effect with one micro-batch}}
module attributes {model.recipe = {mesh.shard = 4 : i64, gradient.sync = "every"}} {
}

// -----

// A block with the name of the unit of the parameters in no block.
// expected-error @below {{unit 'root' has the name of another unit}}
module {
  model.parameter @w : tensor<3xf32> zeros
  func.func @f() attributes {model.entry = #model.entry<forward>} {
    %0 = model.read @w {model.block = "root"} : tensor<3xf32>
    %1 = model.relu %0 {model.block = "root"} : tensor<3xf32>
    return
  }
}

// -----

// A sharded parameter with a global type.
module attributes {model.recipe = {mesh.tensor = 2 : i64}} {
  // expected-error @below {{'model.parameter' op is sharded along 'tensor' but has a global type}}
  // expected-note @below {{spmd-localize makes types along an axis local}}
  model.parameter @w : tensor<4xf32> zeros {spmd.sharding = #spmd.sharding<[{"tensor", chunk = 2, total = 4}]>}
}
