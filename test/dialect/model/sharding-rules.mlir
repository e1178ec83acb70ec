// RUN: sluice-opt %s -model-show-sharding-rules | FileCheck %s
// Tests the sharding rule of every op.

module attributes {model.name = "all"} {
  model.parameter @wte.weight : tensor<8x4xf32> normal(0.0, 0.02)
  model.parameter @ln.weight : tensor<4xf32> ones aliases ["ln.gamma"]
  model.parameter @ln.bias : tensor<4xf32> zeros frozen {unit = "root"}
  model.parameter @scale : tensor<f32> constant(0.5)
  model.parameter @w : tensor<4x4xf32> uniform(-1.0, 1.0)

  func.func @structure(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %wte = model.read @wte.weight : tensor<8x4xbf16>
    %state = model.read @wte.weight state "exp_avg" : tensor<8x4xf32>
    %outer = model.block "h.0" -> tensor<2x4xf32> {
      %inner = model.block "attn" -> tensor<2x4xf32> attributes {note = "inner"} {
        model.yield %x : tensor<2x4xf32>
      }
      %again = model.checkpoint -> tensor<2x4xf32> {
        model.yield %inner : tensor<2x4xf32>
      }
      model.yield %again : tensor<2x4xf32>
    }
    model.block "empty" {
    }
    %recomputed = model.recompute "h.0" -> tensor<2x4xf32> {
      model.yield %outer : tensor<2x4xf32>
    }
    %g = model.gradient @wte.weight, %state : tensor<8x4xf32>
    model.write @wte.weight, %g : tensor<8x4xf32>
    model.write @wte.weight state "exp_avg", %g : tensor<8x4xf32>
    // CHECK: model.constant {{.*}}model.sharding_rule = "() -> ([]) {}"
    %one = model.constant 1.0 : tensor<f32>
    %mean = model.step_mean %one : tensor<f32>
    return %recomputed : tensor<2x4xf32>
  }

  func.func @pointwise(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %i: tensor<3xi64>) {
    // CHECK: model.add {{.*}}model.sharding_rule = "([i, j], [j]) -> ([i, j]) {i=2, j=3}"
    %0 = model.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.subtract {{.*}}model.sharding_rule = "([i, j], [j]) -> ([i, j]) {i=2, j=3}"
    %1 = model.subtract %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.multiply {{.*}}model.sharding_rule = "([i, j], [j]) -> ([i, j]) {i=2, j=3}"
    %2 = model.multiply %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.divide {{.*}}model.sharding_rule = "([i, j], [j]) -> ([i, j]) {i=2, j=3}"
    %3 = model.divide %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.maximum {{.*}}model.sharding_rule = "([i, j], [j]) -> ([i, j]) {i=2, j=3}"
    %4 = model.maximum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.negate {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %5 = model.negate %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.exp {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %6 = model.exp %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.log {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %7 = model.log %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.tanh {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %8 = model.tanh %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.erf {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %9 = model.erf %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.sqrt {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %10 = model.sqrt %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.rsqrt {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %11 = model.rsqrt %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.relu {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %12 = model.relu %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.scale {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %13 = model.scale %b {factor = 0.25 : f64} : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.compare {{.*}}model.sharding_rule = "([i, j], [j]) -> ([i, j]) {i=2, j=3}"
    %14 = model.compare %a, %b {predicate = #model.predicate<lt>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xui8>
    // CHECK: model.select {{.*}}model.sharding_rule = "([i, j], [i, j], [j]) -> ([i, j]) {i=2, j=3}"
    %15 = model.select %14, %a, %b : (tensor<2x3xui8>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.cast {{.*}}model.sharding_rule = "([i]) -> ([i]) {i=3}"
    %16 = model.cast %i : (tensor<3xi64>) -> tensor<3xf64>
    return
  }

  func.func @creation(%seed: tensor<i64>) {
    // CHECK: model.constant {{.*}}model.sharding_rule = "() -> ([i]) {i=2}"
    %0 = model.constant 1.5 : tensor<2xbf16>
    // CHECK: model.iota {{.*}}model.sharding_rule = "() -> ([i, j]) {i=2, j=3 replicated}"
    %1 = model.iota 1 : tensor<2x3xi64>
    // CHECK: model.random_normal {{.*}}model.sharding_rule = "([]) -> ([i]) {i=4 positioned}"
    %2 = model.random_normal %seed {key = 3 : i64, mean = 0.0 : f64, stddev = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
    // CHECK: model.random_uniform {{.*}}model.sharding_rule = "([]) -> ([i]) {i=4 positioned}"
    %3 = model.random_uniform %seed {key = 3 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
    // CHECK: model.random_uniform {{.*}}model.sharding_rule = "([], [], []) -> ([i]) {i=4 positioned}"
    model.random_uniform %seed, %seed, %seed {key = 3 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
    return
  }

  func.func @movement(%x: tensor<2x6xf32>, %row: tensor<6xf32>, %i: tensor<3xi32>) {
    // CHECK: model.broadcast {{.*}}model.sharding_rule = "([j]) -> ([i, j]) {i=2, j=6}"
    %0 = model.broadcast %row : (tensor<6xf32>) -> tensor<2x6xf32>
    // CHECK: model.reshape {{.*}}model.sharding_rule = "([i, jk]) -> ([ij, k]) {i=2, j=2, k=3}"
    %1 = model.reshape %x : (tensor<2x6xf32>) -> tensor<4x3xf32>
    // CHECK: model.transpose {{.*}}model.sharding_rule = "([i, j]) -> ([j, i]) {i=2, j=6}"
    %2 = model.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
    // CHECK: model.slice {{.*}}model.sharding_rule = "([i, j]) -> ([k, l]) {i=2 replicated, j=6 replicated, k=1 replicated, l=3 replicated}"
    %3 = model.slice %x {start = array<i64: 0, 1>, limit = array<i64: 1, 6>, step = array<i64: 1, 2>} : (tensor<2x6xf32>) -> tensor<1x3xf32>
    // CHECK: model.split {{.*}}model.sharding_rule = "([i, j]) -> ([i, k], [i, l]) {i=2, j=6 replicated, k=2 replicated, l=4 replicated}"
    %4:2 = model.split %x {dim = 1 : i64} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
    // CHECK: model.concat {{.*}}model.sharding_rule = "([i, j], [i, k]) -> ([i, l]) {i=2, j=2 replicated, k=4 replicated, l=6 replicated}"
    %5 = model.concat %4#0, %4#1 {dim = 1 : i64} : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x6xf32>
    // CHECK: model.pad {{.*}}model.sharding_rule = "([i]) -> ([j]) {i=6 replicated, j=14 replicated}"
    %6 = model.pad %row {low = array<i64: 1>, high = array<i64: 2>, step = array<i64: 2>, value = 0.0 : f64} : (tensor<6xf32>) -> tensor<14xf32>
    // CHECK: model.gather {{.*}}model.sharding_rule = "([i, j], [k]) -> ([k, j]) {i=2 replicated, j=6, k=3}"
    %7 = model.gather %x, %i : (tensor<2x6xf32>, tensor<3xi32>) -> tensor<3x6xf32>
    // CHECK: model.scatter_add {{.*}}model.sharding_rule = "([i, k], [i]) -> ([j, k]) {i=3, j=2 replicated, k=6} reduce=sum"
    %8 = model.scatter_add %7, %i : (tensor<3x6xf32>, tensor<3xi32>) -> tensor<2x6xf32>
    return
  }

  func.func @reduction(%x: tensor<2x3x4xf32>) {
    // CHECK: model.reduce_sum {{.*}}model.sharding_rule = "([i, j, k]) -> ([j]) {i=2, j=3, k=4} reduce=sum"
    %0 = model.reduce_sum %x {dims = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
    // CHECK: model.reduce_mean {{.*}}model.sharding_rule = "([i, j, k]) -> ([i, j, 1]) {i=2, j=3, k=4 replicated}"
    %1 = model.reduce_mean %x {dims = array<i64: 2>, keep} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
    // CHECK: model.reduce_max {{.*}}model.sharding_rule = "([i, j, k]) -> ([]) {i=2, j=3, k=4} reduce=max"
    %2 = model.reduce_max %x {dims = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<f32>
    return
  }

  func.func @gated(%x: tensor<2x3x4xf32>, %u: tensor<2x3x4xf32>, %g: tensor<4xf32>, %q: tensor<2x3x4x8xf32>, %kv: tensor<2x5x2x8xf32>) {
    // CHECK: model.silu {{.*}}model.sharding_rule = "([i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4}"
    %0 = model.silu %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.silu_grad {{.*}}model.sharding_rule = "([i, j, k], [i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4}"
    %1 = model.silu_grad %x, %x : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.swiglu {{.*}}model.sharding_rule = "([i, j, k], [i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4}"
    %2 = model.swiglu %x, %u : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.swiglu_grad {{.*}}model.sharding_rule = "([i, j, k], [i, j, k], [i, j, k]) -> ([i, j, k], [i, j, k]) {i=2, j=3, k=4}"
    %3:2 = model.swiglu_grad %x, %x, %u : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
    // CHECK: model.rms_norm {{.*}}model.sharding_rule = "([i, j, k], [k]) -> ([i, j, k], [i, j]) {i=2, j=3, k=4 replicated}"
    %4:2 = model.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
    // CHECK: model.rms_norm_grad {{.*}}model.sharding_rule = "([i, j, k], [i, j, k], [k], [i, j]) -> ([i, j, k], [k]) {i=2, j=3, k=4 replicated} reduce=sum"
    %5:2 = model.rms_norm_grad %x, %x, %g, %4#1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
    // CHECK: model.rope {{.*}}model.sharding_rule = "([i, j, k, l]) -> ([i, j, k, l]) {i=2, j=3 replicated, k=4, l=8 replicated}"
    %6 = model.rope %q {theta = 1.0e4 : f64} : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    // CHECK: model.rope {{.*}}model.sharding_rule = "([i, j, k, l]) -> ([i, j, k, l]) {i=2, j=3 replicated, k=4, l=8 replicated}"
    %7 = model.rope %q {factor = 8.0 : f64, high = 4.0 : f64, inverse, low = 1.0 : f64, original = 32.0 : f64, position = 5 : i64, scaling = #model.scaling<llama3>, theta = 1.0e4 : f64} : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    // CHECK: model.attention {{.*}}model.sharding_rule = "([i, m, kn, l], [i, j, k, l], [i, j, k, l]) -> ([i, m, kn, l], [i, kn, m]) {i=2, j=5 replicated, k=2, l=8 replicated, m=3 replicated, n=2}"
    %8:2 = model.attention %q, %kv, %kv {causal, scale = 0.5 : f64, window = 2 : i64} : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
    // CHECK: model.sin {{.*}}model.sharding_rule = "([i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4}"
    %9 = model.sin %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.cos {{.*}}model.sharding_rule = "([i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4}"
    %10 = model.cos %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    return
  }

  func.func @composites(%x: tensor<2x3x4xf32>, %w: tensor<4x8xf32>, %bias: tensor<8xf32>, %residual: tensor<2x3x8xf32>, %g: tensor<4xf32>,
                        %q: tensor<2x3x4x8xf32>, %kv: tensor<2x5x2x8xf32>, %table: tensor<9x4xf32>, %tokens: tensor<2x3xi32>) {
    // CHECK: model.matmul {{.*}}model.sharding_rule = "([i, j, l], [l, k]) -> ([i, j, k]) {i=2, j=3, k=8, l=4} reduce=sum"
    %0 = model.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
    // CHECK: model.matmul {{.*}}model.sharding_rule = "([i, j, l], [l, k], [k], [i, j, k]) -> ([i, j, k]) {i=2, j=3, k=8, l=4 replicated} reduce=sum"
    %1 = model.matmul %x, %w bias(%bias) residual(%residual) : (tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    // CHECK: model.matmul {{.*}}model.sharding_rule = "([i, j, l], [k, l]) -> ([i, j, k]) {i=2, j=3, k=9, l=4} reduce=sum"
    %2 = model.matmul %x, %table {transpose_rhs, output = f64} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> tensor<2x3x9xf64>
    // CHECK: model.matmul_gelu {{.*}}model.sharding_rule = "([i, j, l], [l, k], [k]) -> ([i, j, k], [i, j, k]) {i=2, j=3, k=8, l=4 replicated}"
    %20:2 = model.matmul_gelu %x, %w bias(%bias) : (tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>)
    %22:2 = model.matmul_gelu %x, %table {transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> (tensor<2x3x9xf32>, tensor<2x3x9xf32>)
    // CHECK: model.matmul_gelu_grad {{.*}}model.sharding_rule = "([i, j, l], [k, l], [i, j, k]) -> ([i, j, k]) {i=2, j=3, k=9, l=4 replicated}"
    %21 = model.matmul_gelu_grad %x, %table, %22#0 {transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
    // CHECK: model.layer_norm {{.*}}model.sharding_rule = "([i, j, k], [k], [k]) -> ([i, j, k], [i, j], [i, j]) {i=2, j=3, k=4 replicated}"
    %3:3 = model.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    // CHECK: model.layer_norm_grad {{.*}}model.sharding_rule = "([i, j, k], [i, j, k], [k], [i, j], [i, j]) -> ([i, j, k], [k], [k]) {i=2, j=3, k=4 replicated} reduce=sum"
    %4:3 = model.layer_norm_grad %x, %x, %g, %3#1, %3#2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.softmax {{.*}}model.sharding_rule = "([i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4 replicated}"
    %5 = model.softmax %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.softmax_grad {{.*}}model.sharding_rule = "([i, j, k], [i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4 replicated}"
    %6 = model.softmax_grad %x, %5 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.gelu {{.*}}model.sharding_rule = "([i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4}"
    %7 = model.gelu %x {approximate = #model.approximation<tanh>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.gelu_grad {{.*}}model.sharding_rule = "([i, j, k], [i, j, k]) -> ([i, j, k]) {i=2, j=3, k=4}"
    %8 = model.gelu_grad %x, %x {approximate = #model.approximation<none>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.attention {{.*}}model.sharding_rule = "([i, m, kn, l], [i, j, k, l], [i, j, k, l]) -> ([i, m, kn, l], [i, kn, m]) {i=2, j=5 replicated, k=2, l=8 replicated, m=3 replicated, n=2}"
    %9:2 = model.attention %q, %kv, %kv {causal, scale = 0.3535 : f64} : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
    // CHECK: model.attention_grad {{.*}}model.sharding_rule = "([i, m, kn, l], [i, m, kn, l], [i, j, k, l], [i, j, k, l], [i, m, kn, l], [i, kn, m]) -> ([i, m, kn, l], [i, j, k, l], [i, j, k, l]) {i=2, j=5 replicated, k=2, l=8 replicated, m=3 replicated, n=2} reduce=sum"
    %10:3 = model.attention_grad %q, %q, %kv, %kv, %9#0, %9#1 {causal, scale = 0.3535 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>)
    // CHECK: model.embedding {{.*}}model.sharding_rule = "([i, j], [k, l]) -> ([k, l, j]) {i=9 positioned, j=4, k=2, l=3} reduce=sum"
    %11 = model.embedding %table, %tokens : (tensor<9x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
    // CHECK: model.embedding_grad {{.*}}model.sharding_rule = "([i, j, l], [i, j]) -> ([k, l]) {i=2, j=3, k=9 positioned, l=4} reduce=sum"
    %12 = model.embedding_grad %x, %tokens : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<9x4xf32>
    // CHECK: model.cross_entropy {{.*}}model.sharding_rule = "([i, j, k], [i, j]) -> ([], [i, j]) {i=2 replicated, j=3 replicated, k=4 replicated} reduce=sum"
    %13:2 = model.cross_entropy %x, %tokens {reduction = #model.reduction<mean>} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    // CHECK: model.cross_entropy_grad {{.*}}model.sharding_rule = "([], [i, j, k], [i, j], [i, j]) -> ([i, j, k]) {i=2, j=3, k=4 positioned}"
    %14 = model.cross_entropy_grad %13#0, %x, %tokens, %13#1 {reduction = #model.reduction<sum>, ignore_index = 0 : i64} : (tensor<f32>, tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x4xf32>
    return
  }

  func.func @update(%p: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
    // CHECK: model.power_sum {{.*}}model.sharding_rule = "([i], [j]) -> ([]) {i=4, j=4} reduce=sum"
    %sum = model.power_sum %p, %p {p = 2.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    // CHECK: model.norm_root {{.*}}model.sharding_rule = "([]) -> ([]) {}"
    %norm = model.norm_root %sum {p = 2.0 : f64} : (tensor<f32>) -> tensor<f32>
    // CHECK: model.clip_coefficient {{.*}}model.sharding_rule = "([]) -> ([]) {}"
    %clip = model.clip_coefficient %norm {max_norm = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    // CHECK: model.all_finite {{.*}}model.sharding_rule = "([], []) -> ([]) {}"
    %guard = model.all_finite %norm, %lr : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    // CHECK: model.sgd {{.*}}model.sharding_rule = "([i], [i], [], [], [], []) -> ([i]) {i=4}"
    %0 = model.sgd %p, %p, %lr, %step, %clip, %guard {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
    // CHECK: model.sgd {{.*}}model.sharding_rule = "([i], [i], [i], [], [], [], []) -> ([i], [i]) {i=4}"
    %1:2 = model.sgd %p, %p, %p, %lr, %step, %clip, %guard {momentum = 0.9 : f64, weight_decay = 0.1 : f64, nesterov = true} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.adam {{.*}}model.sharding_rule = "([i], [i], [i], [i], [], [], [], []) -> ([i], [i], [i]) {i=4}"
    %2:3 = model.adam %p, %p, %p, %p, %lr, %step, %clip, %guard {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.adamw {{.*}}model.sharding_rule = "([i], [i], [i], [i], [], [], [], []) -> ([i], [i], [i]) {i=4}"
    %3:3 = model.adamw %p, %p, %p, %p, %lr, %step, %clip, %guard {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.sgd {{.*}}model.sharding_rule = "([i], [i], [j, k], [j, k], [], [], [], []) -> ([i], [j, k]) {i=4, j=2, k=3}"
    %q = model.constant 1.0 : tensor<2x3xf32>
    %4:2 = model.sgd %p, %p, %q, %q, %lr, %step, %clip, %guard {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<2x3xf32>)
    return
  }

  // Tests that a reshape divides dims into common factors, and that dims without a common factor are not sharded.
  // CHECK-LABEL: func.func @reshapes
  func.func @reshapes(%x: tensor<2x8x12xf32>, %y: tensor<4x6xf32>, %z: tensor<2x1x3xf32>, %e: tensor<0x3xf32>) {
    // CHECK: model.reshape {{.*}}model.sharding_rule = "([i, j, kl]) -> ([i, j, k, l]) {i=2, j=8, k=4, l=3}"
    %0 = model.reshape %x : (tensor<2x8x12xf32>) -> tensor<2x8x4x3xf32>
    // CHECK: model.reshape {{.*}}model.sharding_rule = "([i, j, k]) -> ([ij, k]) {i=2, j=8, k=12}"
    %1 = model.reshape %x : (tensor<2x8x12xf32>) -> tensor<16x12xf32>
    // CHECK: model.reshape {{.*}}model.sharding_rule = "([i, l]) -> ([j, k]) {i=4 replicated, j=3 replicated, k=8 replicated, l=6 replicated}"
    %2 = model.reshape %y : (tensor<4x6xf32>) -> tensor<3x8xf32>
    // CHECK: model.reshape {{.*}}model.sharding_rule = "([i, 1, j]) -> ([i, j]) {i=2, j=3}"
    %3 = model.reshape %z : (tensor<2x1x3xf32>) -> tensor<2x3xf32>
    // CHECK: model.reshape {{.*}}model.sharding_rule = "([i, j]) -> ([k]) {i=0 replicated, j=3 replicated, k=0 replicated}"
    %4 = model.reshape %e : (tensor<0x3xf32>) -> tensor<0xf32>
    return
  }

  // Tests the batch of a product, and a product of a transposed operand.
  // CHECK-LABEL: func.func @products
  func.func @products(%a: tensor<2x1x3x4xf32>, %b: tensor<5x6x4xf32>, %c: tensor<4x3xf32>, %d: tensor<4x6xf32>) {
    // CHECK: model.matmul {{.*}}model.sharding_rule = "([i, 1, k, m], [j, l, m]) -> ([i, j, k, l]) {i=2, j=5, k=3, l=6, m=4} reduce=sum"
    %0 = model.matmul %a, %b {transpose_rhs} : (tensor<2x1x3x4xf32>, tensor<5x6x4xf32>) -> tensor<2x5x3x6xf32>
    // CHECK: model.matmul {{.*}}model.sharding_rule = "([k, i], [k, j]) -> ([i, j]) {i=3, j=6, k=4} reduce=sum"
    %1 = model.matmul %c, %d {transpose_lhs} : (tensor<4x3xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>
    return
  }

  // Tests that a mask may be computed in parts.
  // CHECK-LABEL: func.func @random
  func.func @random(%x: tensor<4x5xf32>, %s: tensor<i64>) {
    // CHECK: model.dropout {{.*}}model.sharding_rule = "([i, j], [], [], []) -> ([i, j]) {i=4 positioned, j=5 positioned}"
    %0 = model.dropout %x, %s, %s, %s {key = 0 : i64, rate = 0.5 : f64} : (tensor<4x5xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x5xf32>
    // CHECK: model.all_reduce {{.*}}model.sharding_rule = "([i, j]) -> ([i, j]) {i=4, j=5}"
    %1 = model.all_reduce %x {reduction = #model.reduction<mean>} : (tensor<4x5xf32>) -> tensor<4x5xf32>
    // CHECK: model.all_gather {{.*}}model.sharding_rule = "([i, j]) -> ([k, l]) {i=4 replicated, j=5 replicated, k=8 replicated, l=5 replicated}"
    %2 = model.all_gather %x : (tensor<4x5xf32>) -> tensor<8x5xf32>
    // CHECK: model.reduce_scatter {{.*}}model.sharding_rule = "([i, j]) -> ([k, l]) {i=8 replicated, j=5 replicated, k=4 replicated, l=5 replicated}"
    %3 = model.reduce_scatter %2 : (tensor<8x5xf32>) -> tensor<4x5xf32>
    return
  }

  // Tests that a sum over rows may be split, where a mean may not, and that a maximum combines by maximum.
  // CHECK-LABEL: func.func @partial
  func.func @partial(%l: tensor<6x5xf32>, %t: tensor<6xi32>, %g: tensor<4xf32>) {
    // CHECK: model.cross_entropy {{.*}}model.sharding_rule = "([i, j], [i]) -> ([], [i]) {i=6, j=5 replicated} reduce=sum"
    %0:2 = model.cross_entropy %l, %t {reduction = #model.reduction<sum>} : (tensor<6x5xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    // CHECK: model.cross_entropy {{.*}}model.sharding_rule = "([i, j], [i]) -> ([], [i]) {i=6 replicated, j=5 replicated} reduce=sum"
    %1:2 = model.cross_entropy %l, %t {reduction = #model.reduction<mean>} : (tensor<6x5xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    // CHECK: model.power_sum {{.*}}model.sharding_rule = "([i]) -> ([]) {i=4} reduce=max"
    %2 = model.power_sum %g {p = 0x7FF0000000000000 : f64} : (tensor<4xf32>) -> tensor<f32>
    return
  }
  func.func @images(%x: tensor<2x7x9x4xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>, %s: tensor<4xf32>, %n: tensor<i64>) {
    // CHECK: model.conv2d {{.*}}model.sharding_rule = "([i, m, n, j], [k, l, o, p], [k]) -> ([i, q, r, k]) {i=2, j=4 replicated, k=6 replicated, l=2 replicated, m=7 replicated, n=9 replicated, o=3 replicated, p=3 replicated, q=4 replicated, r=9 replicated} reduce=sum"
    %0 = model.conv2d %x, %w, %b {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x7x9x4xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x4x9x6xf32>
    // CHECK: model.conv2d_input_grad {{.*}}model.sharding_rule = "([i, q, r, k], [k, l, o, p]) -> ([i, m, n, j]) {i=2, j=4 replicated, k=6 replicated, l=2 replicated, m=7 replicated, n=9 replicated, o=3 replicated, p=3 replicated, q=4 replicated, r=9 replicated} reduce=sum"
    %1 = model.conv2d_input_grad %0, %w {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<6x2x3x3xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.conv2d_weight_grad {{.*}}model.sharding_rule = "([i, q, r, k], [i, m, n, j]) -> ([k, l, o, p]) {i=2, j=4 replicated, k=6 replicated, l=2 replicated, m=7 replicated, n=9 replicated, o=3 replicated, p=3 replicated, q=4 replicated, r=9 replicated} reduce=sum"
    %2 = model.conv2d_weight_grad %0, %x {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<2x7x9x4xf32>) -> tensor<6x2x3x3xf32>
    // CHECK: model.max_pool2d {{.*}}model.sharding_rule = "([i, j, k, l]) -> ([i, m, n, l]) {i=2, j=7 replicated, k=9 replicated, l=4, m=4 replicated, n=5 replicated}"
    %3 = model.max_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
    // CHECK: model.max_pool2d_grad {{.*}}model.sharding_rule = "([i, j, k, l], [i, m, n, l]) -> ([i, m, n, l]) {i=2, j=4 replicated, k=5 replicated, l=4, m=7 replicated, n=9 replicated}"
    %4 = model.max_pool2d_grad %3, %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x5x4xf32>, tensor<2x7x9x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.avg_pool2d {{.*}}model.sharding_rule = "([i, j, k, l]) -> ([i, m, n, l]) {i=2, j=7 replicated, k=9 replicated, l=4, m=4 replicated, n=5 replicated}"
    %5 = model.avg_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, without_padding} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
    // CHECK: model.avg_pool2d_grad {{.*}}model.sharding_rule = "([i, j, k, l]) -> ([i, m, n, l]) {i=2, j=4 replicated, k=5 replicated, l=4, m=7 replicated, n=9 replicated}"
    %6 = model.avg_pool2d_grad %5 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x5x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.adaptive_avg_pool2d {{.*}}model.sharding_rule = "([i, j, k, l]) -> ([i, m, n, l]) {i=2, j=7 replicated, k=9 replicated, l=4, m=2 replicated, n=3 replicated}"
    %7 = model.adaptive_avg_pool2d %x {output = array<i64: 2, 3>} : (tensor<2x7x9x4xf32>) -> tensor<2x2x3x4xf32>
    // CHECK: model.adaptive_avg_pool2d_grad {{.*}}model.sharding_rule = "([i, j, k, l]) -> ([i, m, n, l]) {i=2, j=2 replicated, k=3 replicated, l=4, m=7 replicated, n=9 replicated}"
    %8 = model.adaptive_avg_pool2d_grad %7 : (tensor<2x2x3x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.batch_norm {{.*}}model.sharding_rule = "([i, j, k, l], [l], [l]) -> ([i, j, k, l], [l], [l]) {i=2 replicated, j=7 replicated, k=9 replicated, l=4}"
    %9:3 = model.batch_norm %x, %s, %s {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.batch_norm_grad {{.*}}model.sharding_rule = "([i, j, k, l], [i, j, k, l], [l], [l], [l]) -> ([i, j, k, l], [l], [l]) {i=2 replicated, j=7 replicated, k=9 replicated, l=4}"
    %10:3 = model.batch_norm_grad %9#0, %x, %s, %9#1, %9#2 {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.running_average {{.*}}model.sharding_rule = "([i], [i]) -> ([i]) {i=4}"
    %11 = model.running_average %s, %9#1 {momentum = 0.1 : f64, factor = 1.1 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: model.count_up {{.*}}model.sharding_rule = "([]) -> ([]) {}"
    %12 = model.count_up %n : (tensor<i64>) -> tensor<i64>
    return
  }
  func.func @more(%x: tensor<3x5xf32>, %i: tensor<3x2xi64>) {
    // CHECK: model.sigmoid {{.*}}model.sharding_rule = "([i, j]) -> ([i, j]) {i=3, j=5}"
    %0 = model.sigmoid %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.stop_gradient {{.*}}model.sharding_rule = "([i, j]) -> ([i, j]) {i=3, j=5}"
    %stopped = model.stop_gradient %x : tensor<3x5xf32>
    // CHECK: model.softplus {{.*}}model.sharding_rule = "([i, j]) -> ([i, j]) {i=3, j=5}"
    %1 = model.softplus %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.power {{.*}}model.sharding_rule = "([i, j]) -> ([i, j]) {i=3, j=5}"
    %2 = model.power %x {exponent = 3.0 : f64} : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.relu_grad {{.*}}model.sharding_rule = "([i, j], [i, j]) -> ([i, j]) {i=3, j=5}"
    %3 = model.relu_grad %x, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.logsumexp {{.*}}model.sharding_rule = "([i, j]) -> ([i]) {i=3, j=5} reduce=logsumexp"
    %4 = model.logsumexp %x : (tensor<3x5xf32>) -> tensor<3xf32>
    // CHECK: model.argmax {{.*}}model.sharding_rule = "([i, j]) -> ([i]) {i=3, j=5 replicated}"
    %5 = model.argmax %x {dim = 1 : i64} : (tensor<3x5xf32>) -> tensor<3xi64>
    // CHECK: model.take_along {{.*}}model.sharding_rule = "([i, j], [i, k]) -> ([i, k]) {i=3, j=5 positioned, k=2 replicated} reduce=sum"
    %6 = model.take_along %x, %i {dim = 1 : i64} : (tensor<3x5xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
    // CHECK: model.add_along {{.*}}model.sharding_rule = "([i, k], [i, k]) -> ([i, j]) {i=3, j=5 replicated, k=2 replicated}"
    %7 = model.add_along %6, %i {dim = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xi64>) -> tensor<3x5xf32>
    return
  }

  func.func @linear_loss(%x: tensor<2x3x4xf32>, %w: tensor<9x4xf32>, %t: tensor<2x3xi32>) {
    // CHECK: model.linear_cross_entropy {{.*}}model.sharding_rule = "([i, j, k], [l, k], [i, j]) -> ([], [i, j]) {i=2, j=3, k=4 replicated, l=9 replicated} reduce=sum"
    %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    // CHECK: model.linear_cross_entropy_grad {{.*}}model.sharding_rule = "([], [i, j, k], [l, k], [i, j], [i, j]) -> ([i, j, k], [l, k]) {i=2, j=3, k=4 replicated, l=9 replicated} reduce=sum"
    %1:2 = model.linear_cross_entropy_grad %0#0, %x, %w, %t, %0#1 {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<f32>, tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<9x4xf32>)
    return
  }
}
