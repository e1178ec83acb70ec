// RUN: sluice-opt %s -spmd-partition -spmd-localize-update -split-input-file -verify-diagnostics
// Tests updates that have no local types.

// An update that mixes rows.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  spmd.unit @root [@w]
  model.parameter @w : tensor<4x4xf32> zeros {dim = 0 : i64, unit = "root"}
  func.func @f() attributes {model.entry = #model.entry<train>} {
    %0 = model.read @w {model.phase = #model.phase<update>} : tensor<4x4xf32>
    // expected-error @below {{'model.split' op operand 0, expected a tensor whole along dim 0 but got 'tensor<2x4xf32, #spmd.sharding<[{"shard", chunk = 2, total = 4}, {}]>>'}}
    %1:2 = model.split %0 {dim = 0 : i64, model.phase = #model.phase<update>} : (tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    return
  }
}

// -----

// An update of a shard by a whole tensor.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2, tensor = 1>
  spmd.unit @root [@w]
  model.parameter @w : tensor<4xf32> zeros {dim = 0 : i64, unit = "root"}
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) attributes {model.entry = #model.entry<train>} {
    %0 = model.read @w {model.phase = #model.phase<update>} : tensor<4xf32>
    // expected-error @below {{'model.add' op operand 1, expected a shard like the others but got 'tensor<4xf32>'}}
    %1 = model.add %0, %x {model.phase = #model.phase<update>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
