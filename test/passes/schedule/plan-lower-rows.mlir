// RUN: sluice-opt %s -plan-lower=target.device=cuda | FileCheck %s
// RUN: sluice-opt %s -plan-lower | FileCheck %s --check-prefix=CPU

// For a GPU the rows of a value in half precision that a product writes, or reads through a view, begin at multiples of
// 16 bytes; those of an output, of f32 and of a value that no product reads follow one another.

// CPU-NOT: strides

// CHECK-DAG: plan.buffer @root.tmp.0 : tensor<2x3x16xbf16> {buffer_class = #plan.class<temporary>, bytes = 192 : i64
// CHECK-DAG: plan.buffer @root.tmp.5 : tensor<2x3x640xbf16> {buffer_class = #plan.class<temporary>, bytes = 7680 : i64
// CHECK: plan.launch "matmul" ins [#plan.view<@input.x : 2x3x8xbf16>, #plan.view<@input.w : 9x8xbf16>] outs [#plan.view<@root.tmp.0 : 2x3x9xbf16 strides [48, 16, 1]>]
// CHECK: plan.launch "exp" ins [#plan.view<@root.tmp.0 : 2x3x9xbf16 strides [48, 16, 1]>] outs [#plan.view<@root.tmp.1 : 2x3x9xbf16 strides [48, 16, 1]>]
// CHECK: plan.launch "matmul" ins [#plan.view<@root.tmp.1 : 6x9xbf16 strides [16, 1]>, #plan.view<@input.w : 9x8xbf16>] outs [#plan.view<@root.tmp.2 : 6x8xbf16>]
// CHECK: plan.launch "matmul" ins [#plan.view<@input.x : 2x3x8xbf16>, #plan.view<@input.w : 9x8xbf16>] outs [#plan.view<@root.tmp.3 : 2x3x9xbf16>]
// CHECK: plan.launch "matmul" ins [#plan.view<@root.tmp.1 : 6x9xbf16 strides [16, 1]>, #plan.view<@input.x : 6x8xbf16>] outs [#plan.view<@root.tmp.4 : 9x8xf32>]
// CHECK: plan.launch "matmul" ins [#plan.view<@input.x : 2x3x8xbf16>, #plan.view<@input.v : 601x8xbf16>] outs [#plan.view<@root.tmp.5 : 2x3x601xbf16 strides [1920, 640, 1]>]
// CHECK: plan.launch "pad" ins [#plan.view<@root.tmp.5 : 2x3x601xbf16 strides [1920, 640, 1]>] outs [#plan.view<@root.tmp.6 : 2x3x603xbf16>]

module attributes {model.name = "rows"} {
spmd.mesh @mesh <replicate = 1, shard = 1, tensor = 1>

func.func @step(%x: tensor<2x3x8xbf16> {spmd.input = "x"}, %w: tensor<9x8xbf16> {spmd.input = "w"}, %v: tensor<601x8xbf16> {spmd.input = "v"})
    -> (tensor<6x8xbf16> {spmd.output = "a"}, tensor<2x3x9xbf16> {spmd.output = "b"}, tensor<9x8xf32> {spmd.output = "c"}, tensor<2x3x603xbf16> {spmd.output = "d"}) attributes {model.entry = #model.entry<forward>} {
  %a, %b, %c, %d = spmd.section "main" repeat 1 -> tensor<6x8xbf16>, tensor<2x3x9xbf16>, tensor<9x8xf32>, tensor<2x3x603xbf16> {
    %0 = model.matmul %x, %w {transpose_rhs} : (tensor<2x3x8xbf16>, tensor<9x8xbf16>) -> tensor<2x3x9xbf16>
    %1 = model.exp %0 : tensor<2x3x9xbf16>
    %2 = model.reshape %1 : (tensor<2x3x9xbf16>) -> tensor<6x9xbf16>
    %3 = model.matmul %2, %w : (tensor<6x9xbf16>, tensor<9x8xbf16>) -> tensor<6x8xbf16>
    %4 = model.matmul %x, %w {transpose_rhs} : (tensor<2x3x8xbf16>, tensor<9x8xbf16>) -> tensor<2x3x9xbf16>
    %5 = model.reshape %x : (tensor<2x3x8xbf16>) -> tensor<6x8xbf16>
    %6 = model.matmul %2, %5 {output = f32, transpose_lhs} : (tensor<6x9xbf16>, tensor<6x8xbf16>) -> tensor<9x8xf32>
    %7 = model.matmul %x, %v {transpose_rhs} : (tensor<2x3x8xbf16>, tensor<601x8xbf16>) -> tensor<2x3x601xbf16>
    %8 = model.pad %7 {high = array<i64: 0, 0, 2>, low = array<i64: 0, 0, 0>, step = array<i64: 1, 1, 1>, value = 0.0 : f64} : (tensor<2x3x601xbf16>) -> tensor<2x3x603xbf16>
    spmd.yield %3, %4, %6, %8 : tensor<6x8xbf16>, tensor<2x3x9xbf16>, tensor<9x8xf32>, tensor<2x3x603xbf16>
  }
  return %a, %b, %c, %d : tensor<6x8xbf16>, tensor<2x3x9xbf16>, tensor<9x8xf32>, tensor<2x3x603xbf16>
}
}
