// RUN: sluice-opt %s -model-apply-precision="precision.compute={'*'='bf16',norm='f32'}" | FileCheck %s
// RUN: sluice-opt %s -model-apply-precision="precision.compute={'*'='bf16',norm='f32'} precision.output={a='f32',root='bf16'}" | FileCheck %s --check-prefix=OUT
// RUN: sluice-opt %s -model-apply-precision="precision.compute={'*'='bf16'}" > %t.table
// RUN: sluice-opt %s -model-apply-precision="precision.compute=bf16" | diff %t.table -
// RUN: sluice-opt %s -model-apply-precision="precision.compute={tail='f64'} sharding.units={tail=['tail.w'],norm=['norm']}" | FileCheck %s --check-prefix=TAIL
// RUN: not sluice-opt %s -model-apply-precision="precision.output={b='bf16'}" 2>&1 | FileCheck %s --check-prefix=NAME
// Tests the types of units: parameters and ops have those of their unit, a unit casts the values of other units that it
// reads, once for all its ops, and a unit with an output type casts the values that it gives. A table with one type for
// all units is that type.

// NAME: error: recipe: 'b' in 'precision.output' matches no unit
module {
  model.parameter @a.w : tensor<4x4xf32> ones
  model.parameter @norm.w : tensor<4xf32> ones
  model.parameter @tail.w : tensor<4x4xf32> ones
  // CHECK-LABEL: func.func @f
  // CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>
  // CHECK-NEXT: %[[IN:.*]] = model.cast %[[X]] {model.block = ""} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  // CHECK-NEXT: %[[W:.*]] = model.read @a.w {{.*}}: tensor<4x4xbf16>
  // CHECK-NEXT: %[[A:.*]] = model.matmul %[[IN]], %[[W]] {{.*}}-> tensor<2x4xbf16>
  // CHECK-NEXT: %[[B:.*]] = model.relu %[[A]] {{.*}}: tensor<2x4xbf16>
  // CHECK-NEXT: %[[N:.*]] = model.read @norm.w {{.*}}: tensor<4xf32>
  // CHECK-NEXT: %[[C:.*]] = model.cast %[[B]] {model.block = "norm"} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
  // CHECK-NEXT: %[[M:.*]] = model.multiply %[[C]], %[[N]] {{.*}}-> tensor<2x4xf32>
  // CHECK-NEXT: %[[S:.*]] = model.add %[[M]], %[[C]] {{.*}}-> tensor<2x4xf32>
  // CHECK-NEXT: %[[T:.*]] = model.read @tail.w {{.*}}: tensor<4x4xbf16>
  // CHECK-NEXT: %[[D:.*]] = model.cast %[[S]] {model.block = ""} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  // CHECK-NEXT: %[[Y:.*]] = model.matmul %[[D]], %[[T]] {{.*}}-> tensor<2x4xbf16>
  // CHECK-NEXT: %[[R:.*]] = model.cast %[[Y]] {{.*}}-> tensor<2x4xf32>
  // CHECK-NEXT: return %[[R]]

  // Two ops read the output of the unit `a`: it is cast once, and not again where its readers have that type.
  // OUT: %[[B:.*]] = model.relu {{.*}}: tensor<2x4xbf16>
  // OUT-NEXT: %[[C:.*]] = model.cast %[[B]] {model.block = "a"} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
  // OUT-NEXT: model.read @norm.w
  // OUT-NEXT: %[[M:.*]] = model.multiply %[[C]], %{{.*}} -> tensor<2x4xf32>
  // OUT-NEXT: model.add %[[M]], %[[C]] {{.*}}-> tensor<2x4xf32>
  // OUT: %[[Y:.*]] = model.matmul {{.*}}-> tensor<2x4xbf16>
  // OUT-NEXT: return %[[Y]] : tensor<2x4xbf16>

  // An op in no block is in the unit of its parameter.
  // TAIL: model.add {{.*}}-> tensor<2x4xf32>
  // TAIL-NEXT: model.read @tail.w {{.*}}: tensor<4x4xf64>
  // TAIL-NEXT: model.cast %{{.*}} : (tensor<2x4xf32>) -> tensor<2x4xf64>
  // TAIL-NEXT: model.matmul {{.*}}-> tensor<2x4xf64>
  func.func @f(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<2x4xf32> {model.output = "y"})
      attributes {model.entry = #model.entry<forward>} {
    %w = model.read @a.w {model.block = "a"} : tensor<4x4xf32>
    %a = model.matmul %x, %w {model.block = "a"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %b = model.relu %a {model.block = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %n = model.read @norm.w {model.block = "norm"} : tensor<4xf32>
    %m = model.multiply %b, %n {model.block = "norm"} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %s = model.add %m, %b {model.block = "norm"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %t = model.read @tail.w {model.block = ""} : tensor<4x4xf32>
    %y = model.matmul %s, %t {model.block = ""} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
}
