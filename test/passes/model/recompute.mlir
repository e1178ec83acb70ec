// RUN: sluice-opt %s -split-input-file -model-recompute | FileCheck %s
// RUN: sluice-opt %s -split-input-file -model-recompute > %t.once
// RUN: sluice-opt %t.once -split-input-file -model-recompute | sluice-opt -split-input-file | diff %t.once -
// Tests the regions: their clones, their captured values, and ops that do not change.

module attributes {model.recipe = {recompute.policy = "block"}} {
  model.parameter @w : tensor<4xf32> ones
  // CHECK-LABEL: func.func @step
  // CHECK-SAME: %[[X:.*]]: tensor<4xf32> {model.input = "x"}, %[[G:.*]]: tensor<4xf32>
  // CHECK: %[[W:.*]] = model.read @w
  // CHECK: %[[A:.*]] = model.exp %[[X]] {model.block = "h.0", model.phase = #model.phase<forward>}
  // CHECK: %[[B:.*]] = model.tanh %[[A]]
  // CHECK: %[[OUT:.*]] = model.multiply %[[B]], %[[W]] {model.block = "h.0/mlp"
  // CHECK: %[[NEXT:.*]] = model.exp %[[OUT]] {model.block = "h.1"
  // The backward of another block reads its input, the saved value.
  // CHECK: %[[R1:.*]] = model.recompute "h.1" -> tensor<4xf32>
  // CHECK-NEXT: %[[N1:.*]] = model.exp %[[OUT]] {model.block = "h.1", model.phase = #model.phase<backward>}
  // CHECK-NEXT: model.yield %[[N1]]
  // CHECK: %[[D1:.*]] = model.multiply %[[G]], %[[R1]] {model.block = "h.1"
  // CHECK: %[[D1B:.*]] = model.multiply %[[D1]], %[[OUT]] {model.block = "h.1"
  // The block's last op is not recomputed; the parameter is captured.
  // CHECK: %[[R0:.*]]:2 = model.recompute "h.0" -> tensor<4xf32>, tensor<4xf32> attributes {model.block = "h.0", model.phase = #model.phase<backward>}
  // CHECK-NEXT: %[[A0:.*]] = model.exp %[[X]] {model.block = "h.0", model.phase = #model.phase<backward>}
  // CHECK-NEXT: %[[B0:.*]] = model.tanh %[[A0]] {model.block = "h.0", model.phase = #model.phase<backward>}
  // CHECK-NEXT: model.yield %[[A0]], %[[B0]]
  // CHECK: model.multiply %[[D1B]], %[[W]] {model.block = "h.0/mlp"
  // CHECK: model.multiply %{{.*}}, %[[R0]]#1
  // CHECK: model.multiply %{{.*}}, %[[R0]]#0
  // CHECK: model.multiply %{{.*}}, %[[X]] {model.block = ""
  func.func @step(%x: tensor<4xf32> {model.input = "x"}, %g: tensor<4xf32> {model.input = "g"})
      -> (tensor<4xf32> {model.output = "d"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w {model.block = "h.0", model.phase = #model.phase<forward>} : tensor<4xf32>
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %b = model.tanh %a {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %out = model.multiply %b, %w {model.block = "h.0/mlp", model.phase = #model.phase<forward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = model.exp %out {model.block = "h.1", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %d1 = model.multiply %g, %next {model.block = "h.1", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d1b = model.multiply %d1, %out {model.block = "h.1", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d2 = model.multiply %d1b, %w {model.block = "h.0/mlp", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d3 = model.multiply %d2, %b {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d4 = model.multiply %d3, %a {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d5 = model.multiply %d4, %x {model.block = "", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %d5 : tensor<4xf32>
  }
}

// -----

module attributes {model.recipe = {recompute.policy = "marked"}} {
  // CHECK-LABEL: func.func @step
  // CHECK: model.exp %{{.*}} {model.block = "h.0", model.phase = #model.phase<forward>}
  // CHECK: model.recompute "h.0/mlp" -> tensor<4xf32> attributes {model.block = "h.0/mlp", model.phase = #model.phase<backward>} {
  // CHECK-NEXT: model.tanh
  // CHECK-NEXT: model.yield
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "d"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %b = model.tanh %a {model.block = "h.0/mlp", model.checkpoint = "0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %d = model.multiply %x, %b {model.block = "h.0/mlp", model.checkpoint = "0", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %e = model.multiply %d, %a {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %e : tensor<4xf32>
  }
}

// -----

// By default nothing is recomputed.
module {
  // CHECK-LABEL: func.func @step
  // CHECK-NOT: model.recompute
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "d"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %d = model.multiply %x, %a {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}

// -----

// `selective` keeps the results of the named ops; a clone reads the kept value.
module attributes {model.recipe = {recompute.policy = "selective", recompute.save = ["t*"]}} {
  // CHECK-LABEL: func.func @step
  // CHECK: %[[A:.*]] = model.exp
  // CHECK: %[[B:.*]] = model.tanh %[[A]]
  // CHECK: %[[R:.*]]:2 = model.recompute "h.0" -> tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT: %[[A0:.*]] = model.exp
  // CHECK-NEXT: %[[C0:.*]] = model.exp %[[B]]
  // CHECK-NEXT: model.yield %[[A0]], %[[C0]]
  // CHECK: model.multiply %{{.*}}, %[[R]]#1
  // CHECK: model.multiply %{{.*}}, %[[B]]
  // CHECK: model.multiply %{{.*}}, %[[R]]#0
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "d"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %b = model.tanh %a {model.block = "h.0/mlp", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %c = model.exp %b {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %d = model.multiply %x, %c {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %e = model.multiply %d, %b {model.block = "h.0/mlp", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %f = model.multiply %e, %a {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %f : tensor<4xf32>
  }
}

// -----

// In a table the entry of the innermost block decides: `h.0` is one region that keeps its block `mlp`, of `h.1` only the
// block `mlp` is a region, and `h.2` has no entry.
module attributes {model.recipe = {recompute.policy = {h.0 = "block", "h.0/mlp" = "none", "h.1/mlp" = "block"}}} {
  // CHECK-LABEL: func.func @step
  // CHECK: %[[P:.*]] = model.exp %{{.*}} {model.block = "h.1"
  // CHECK: model.recompute "h.1/mlp" -> tensor<4xf32>
  // CHECK-NEXT: model.tanh %[[P]]
  // CHECK-NEXT: model.yield
  // CHECK: model.recompute "h.0" -> tensor<4xf32>
  // CHECK-NEXT: model.exp
  // CHECK-NEXT: model.yield
  // CHECK-NOT: model.recompute
  func.func @step(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "d"}) attributes {model.entry = #model.entry<train>} {
    %a = model.exp %x {model.block = "h.0", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %b = model.tanh %a {model.block = "h.0/mlp", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %p = model.exp %b {model.block = "h.1", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %q = model.tanh %p {model.block = "h.1/mlp", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %s = model.exp %q {model.block = "h.2", model.phase = #model.phase<forward>} : (tensor<4xf32>) -> tensor<4xf32>
    %t = model.multiply %x, %s {model.block = "h.2", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d = model.multiply %t, %q {model.block = "h.1/mlp", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %e = model.multiply %d, %p {model.block = "h.1", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %f = model.multiply %e, %b {model.block = "h.0/mlp", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %g = model.multiply %f, %a {model.block = "h.0", model.phase = #model.phase<backward>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %g : tensor<4xf32>
  }
}
