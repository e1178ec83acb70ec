// RUN: sluice-opt %s -spmd-partition -spmd-localize-update -split-input-file -verify-diagnostics
// Tests updates that have no local types.

// An update that separates rows.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  spmd.unit @root [@w]
  model.parameter @w : tensor<4x4xf32> zeros {dim = 0 : i64, unit = "root"}
  func.func @f() attributes {model.entry = #model.entry<train>} {
    %0 = model.read @w {model.phase = #model.phase<update>} : tensor<4x4xf32>
    // expected-error @below {{'model.split' op operand 0 cannot be sharded along dim 0}}
    // expected-note @below {{its sharding rule is}}
    %1:2 = model.split %0 {dim = 0 : i64, model.phase = #model.phase<update>} : (tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    return
  }
}

// -----

// An update of a shard by a replicated tensor.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  spmd.unit @root [@w]
  model.parameter @w : tensor<4xf32> zeros {dim = 0 : i64, unit = "root"}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) attributes {model.entry = #model.entry<train>} {
    %0 = model.read @w {model.phase = #model.phase<update>} : tensor<4xf32>
    // expected-error @below {{'model.add' op operand 1 must be sharded as the other operands are}}
    // expected-note @below {{its sharding rule is}}
    %1 = model.add %0, %x {model.phase = #model.phase<update>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// An update that sums over one dim of a parameter that is sharded by elements.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  spmd.unit @root [@w]
  model.parameter @w : tensor<4x4xf32> zeros {dim = 2 : i64, unit = "root"}
  func.func @f() attributes {model.entry = #model.entry<train>} {
    %0 = model.read @w {model.phase = #model.phase<update>} : tensor<4x4xf32>
    // expected-error @below {{'model.reduce_sum' op operand 0 cannot be sharded by elements}}
    // expected-note @below {{its sharding rule is}}
    %1 = model.reduce_sum %0 {dims = array<i64: 0>, model.phase = #model.phase<update>} : (tensor<4x4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

// An op without a sharding rule.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  spmd.unit @root [@w]
  model.parameter @w : tensor<4xf32> zeros {dim = 0 : i64, unit = "root"}
  func.func @f() attributes {model.entry = #model.entry<train>} {
    %0 = model.read @w {model.phase = #model.phase<update>} : tensor<4xf32>
    // expected-error @below {{'builtin.unrealized_conversion_cast' op reads a shard but has no sharding rule}}
    %1 = builtin.unrealized_conversion_cast %0 : tensor<4xf32> to tensor<4xi32> {model.phase = #model.phase<update>}
    return
  }
}
