// RUN: sluice-opt %s -spmd-print-shardings -o /dev/null | FileCheck %s --match-full-lines --strict-whitespace
// RUN: sluice-opt %s '-pass-pipeline=builtin.module(spmd-propagate-shardings{axis=tensor},spmd-print-shardings)' -o /dev/null 2>/dev/null | FileCheck %s --check-prefix=AFTER

// Tests that the pass prints the sharding of each parameter, argument, result and reshard, and the shardings that ops require of operands.

#row = #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "row"}}} {
  //      CHECK:@w #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
  // CHECK-NEXT:@f
  // CHECK-NEXT:  argument %arg0 #spmd.sharding<[{"expert", chunk = 1, total = 2}p1, {}]>
  // AFTER: model.read: result %0 #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
  // AFTER-NEXT: model.matmul: operand %arg0 #spmd.sharding<[{}, {"tensor", chunk = 4, total = 8}]>
  // AFTER-NEXT: model.matmul: operand %0 #spmd.sharding<[{"tensor", chunk = 4, total = 8}, {}]>
  // AFTER-NEXT: model.matmul: result %1 #spmd.sharding<[{}, {}] partial sum over ["tensor"]>
  // AFTER-NEXT: spmd.reshard: result %2 #spmd.sharding<[{}, {}]>
  model.parameter @w : tensor<8x4xf32> zeros {spmd.sharding = #row}
  func.func @f(%x: tensor<2x8xf32> {spmd.sharding = #spmd.sharding<[{"expert", chunk = 1, total = 2}p1, {}]>}) -> tensor<2x4xf32> attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w : tensor<8x4xf32>
    %0 = model.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}
