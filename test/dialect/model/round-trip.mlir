// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// Tests that every op of the dialect parses, prints, and parses again.

// CHECK: module attributes {model.name = "all"}
module attributes {model.name = "all"} {
  // CHECK: model.parameter @wte.weight : tensor<8x4xf32> normal(0.000000e+00, 2.000000e-02)
  model.parameter @wte.weight : tensor<8x4xf32> normal(0.0, 0.02)
  // CHECK: model.parameter @ln.weight : tensor<4xf32> ones aliases ["ln.gamma"]
  model.parameter @ln.weight : tensor<4xf32> ones aliases ["ln.gamma"]
  // CHECK: model.parameter @ln.bias : tensor<4xf32> zeros frozen {unit = "root"}
  model.parameter @ln.bias : tensor<4xf32> zeros frozen {unit = "root"}
  // CHECK: model.parameter @scale : tensor<f32> constant(5.000000e-01)
  model.parameter @scale : tensor<f32> constant(0.5)
  // CHECK: model.parameter @loaded : tensor<4xf32> undefined
  model.parameter @loaded : tensor<4xf32> undefined
  // CHECK: model.parameter @w : tensor<4x4xf32> uniform(-1.000000e+00, 1.000000e+00)
  model.parameter @w : tensor<4x4xf32> uniform(-1.0, 1.0)

  // CHECK-LABEL: func.func @structure
  func.func @structure(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
    // CHECK: %[[WTE:.*]] = model.read @wte.weight : tensor<8x4xbf16>
    %wte = model.read @wte.weight : tensor<8x4xbf16>
    // CHECK: model.read @wte.weight state "exp_avg" : tensor<8x4xf32>
    %state = model.read @wte.weight state "exp_avg" : tensor<8x4xf32>
    // CHECK: %[[OUTER:.*]] = model.block "h.0" -> tensor<2x4xf32> {
    %outer = model.block "h.0" -> tensor<2x4xf32> {
      // CHECK: model.block "attn" -> tensor<2x4xf32> attributes {note = "inner"} {
      %inner = model.block "attn" -> tensor<2x4xf32> attributes {note = "inner"} {
        // CHECK: model.yield %{{.*}} : tensor<2x4xf32>
        model.yield %x : tensor<2x4xf32>
      }
      // CHECK: model.checkpoint -> tensor<2x4xf32> {
      %again = model.checkpoint -> tensor<2x4xf32> {
        model.yield %inner : tensor<2x4xf32>
      }
      model.yield %again : tensor<2x4xf32>
    }
    // CHECK: model.block "empty" {
    // CHECK-NEXT: }
    model.block "empty" {
    }
    // CHECK: model.recompute "h.0" -> tensor<2x4xf32> {
    %recomputed = model.recompute "h.0" -> tensor<2x4xf32> {
      model.yield %outer : tensor<2x4xf32>
    }
    // CHECK: %[[G:.*]] = model.gradient @wte.weight, %{{.*}} : tensor<8x4xf32>
    %g = model.gradient @wte.weight, %state : tensor<8x4xf32>
    // CHECK: model.write @wte.weight, %[[G]] : tensor<8x4xf32>
    model.write @wte.weight, %g : tensor<8x4xf32>
    // CHECK: model.write @wte.weight state "exp_avg", %[[G]] : tensor<8x4xf32>
    model.write @wte.weight state "exp_avg", %g : tensor<8x4xf32>
    %one = model.constant 1.0 : tensor<f32>
    // CHECK: model.step_mean %{{.*}} : tensor<f32>
    %mean = model.step_mean %one : tensor<f32>
    return %recomputed : tensor<2x4xf32>
  }

  // CHECK-LABEL: func.func @pointwise
  func.func @pointwise(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %i: tensor<3xi64>) {
    // CHECK: model.add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %0 = model.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.subtract
    %1 = model.subtract %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.multiply
    %2 = model.multiply %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.divide
    %3 = model.divide %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.maximum
    %4 = model.maximum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.negate %{{.*}} : tensor<3xf32>
    %5 = model.negate %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.exp
    %6 = model.exp %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.log
    %7 = model.log %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.tanh
    %8 = model.tanh %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.erf
    %9 = model.erf %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.sqrt
    %10 = model.sqrt %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.rsqrt
    %11 = model.rsqrt %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.relu
    %12 = model.relu %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.scale %{{.*}} {factor = 2.500000e-01 : f64} : tensor<3xf32>
    %13 = model.scale %b {factor = 0.25 : f64} : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: %[[LESS:.*]] = model.compare %{{.*}}, %{{.*}} {predicate = #model.predicate<lt>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xui8>
    %14 = model.compare %a, %b {predicate = #model.predicate<lt>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xui8>
    // CHECK: model.select %[[LESS]], %{{.*}}, %{{.*}} : (tensor<2x3xui8>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %15 = model.select %14, %a, %b : (tensor<2x3xui8>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.cast %{{.*}} : (tensor<3xi64>) -> tensor<3xf64>
    %16 = model.cast %i : (tensor<3xi64>) -> tensor<3xf64>
    return
  }

  // CHECK-LABEL: func.func @creation
  func.func @creation(%seed: tensor<i64>) {
    // CHECK: model.constant 1.500000e+00 : tensor<2xbf16>
    %0 = model.constant 1.5 : tensor<2xbf16>
    // CHECK: model.iota 1 : tensor<2x3xi64>
    %1 = model.iota 1 : tensor<2x3xi64>
    // CHECK: model.random_normal %{{.*}} {key = 3 : i64, mean = 0.000000e+00 : f64, stddev = 1.000000e+00 : f64} : (tensor<i64>) -> tensor<4xf32>
    %2 = model.random_normal %seed {key = 3 : i64, mean = 0.0 : f64, stddev = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
    // CHECK: model.random_uniform %{{.*}} {high = 1.000000e+00 : f64, key = 3 : i64, low = 0.000000e+00 : f64} : (tensor<i64>) -> tensor<4xf32>
    %3 = model.random_uniform %seed {key = 3 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
    // CHECK: model.random_uniform %{{.*}}, %{{.*}}, %{{.*}} {high = 1.000000e+00 : f64, key = 4 : i64, low = 0.000000e+00 : f64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
    model.random_uniform %seed, %seed, %seed {key = 4 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
    return
  }

  // CHECK-LABEL: func.func @movement
  func.func @movement(%x: tensor<2x6xf32>, %row: tensor<6xf32>, %i: tensor<3xi32>) {
    // CHECK: model.broadcast %{{.*}} : (tensor<6xf32>) -> tensor<2x6xf32>
    %0 = model.broadcast %row : (tensor<6xf32>) -> tensor<2x6xf32>
    // CHECK: model.reshape %{{.*}} : (tensor<2x6xf32>) -> tensor<4x3xf32>
    %1 = model.reshape %x : (tensor<2x6xf32>) -> tensor<4x3xf32>
    // CHECK: model.transpose %{{.*}} {permutation = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
    %2 = model.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
    // CHECK: model.slice
    %3 = model.slice %x {start = array<i64: 0, 1>, limit = array<i64: 1, 6>, step = array<i64: 1, 2>} : (tensor<2x6xf32>) -> tensor<1x3xf32>
    // CHECK: %[[PIECES:.*]]:2 = model.split %{{.*}} {dim = 1 : i64} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
    %4:2 = model.split %x {dim = 1 : i64} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
    // CHECK: model.concat %[[PIECES]]#0, %[[PIECES]]#1 {dim = 1 : i64}
    %5 = model.concat %4#0, %4#1 {dim = 1 : i64} : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x6xf32>
    // CHECK: model.stop_gradient %{{.*}} : tensor<2x6xf32>
    %stopped = model.stop_gradient %x : tensor<2x6xf32>
    // CHECK: model.pad
    %6 = model.pad %row {low = array<i64: 1>, high = array<i64: 2>, step = array<i64: 2>, value = 0.0 : f64} : (tensor<6xf32>) -> tensor<14xf32>
    // CHECK: model.gather %{{.*}}, %{{.*}} : (tensor<2x6xf32>, tensor<3xi32>) -> tensor<3x6xf32>
    %7 = model.gather %x, %i : (tensor<2x6xf32>, tensor<3xi32>) -> tensor<3x6xf32>
    // CHECK: model.scatter_add %{{.*}}, %{{.*}} : (tensor<3x6xf32>, tensor<3xi32>) -> tensor<2x6xf32>
    %8 = model.scatter_add %7, %i : (tensor<3x6xf32>, tensor<3xi32>) -> tensor<2x6xf32>
    return
  }

  // CHECK-LABEL: func.func @reduction
  func.func @reduction(%x: tensor<2x3x4xf32>) {
    // CHECK: model.reduce_sum %{{.*}} {dims = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
    %0 = model.reduce_sum %x {dims = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
    // CHECK: model.reduce_mean %{{.*}} {dims = array<i64: 2>, keep} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
    %1 = model.reduce_mean %x {dims = array<i64: 2>, keep} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
    // CHECK: model.reduce_max
    %2 = model.reduce_max %x {dims = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<f32>
    return
  }

  // CHECK-LABEL: func.func @gated
  func.func @gated(%x: tensor<2x3x4xf32>, %u: tensor<2x3x4xf32>, %g: tensor<4xf32>, %q: tensor<2x3x4x8xf32>, %kv: tensor<2x5x2x8xf32>, %d: tensor<2x3xi32>) {
    // CHECK: model.silu %{{.*}} : tensor<2x3x4xf32>
    %0 = model.silu %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.silu_grad %{{.*}}, %{{.*}}
    %1 = model.silu_grad %x, %x : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.swiglu %{{.*}}, %{{.*}}
    %2 = model.swiglu %x, %u : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.swiglu_grad %{{.*}}, %{{.*}}, %{{.*}}
    %3:2 = model.swiglu_grad %x, %x, %u : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
    // CHECK: %{{.*}}, %[[RMS:.*]] = model.rms_norm %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
    %4:2 = model.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
    // CHECK: model.rms_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[RMS]]
    %5:2 = model.rms_norm_grad %x, %x, %g, %4#1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
    // CHECK: model.rope %{{.*}} {theta = 1.000000e+04 : f64}
    %6 = model.rope %q {theta = 1.0e4 : f64} : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    // CHECK: model.rope %{{.*}} {factor = 8.000000e+00 : f64, high = 4.000000e+00 : f64, inverse, original = 3.200000e+01 : f64, position = 5 : i64, scaling = #model.scaling<llama3>, theta = 1.000000e+04 : f64}
    %7 = model.rope %q {factor = 8.0 : f64, high = 4.0 : f64, inverse, low = 1.0 : f64, original = 32.0 : f64, position = 5 : i64, scaling = #model.scaling<llama3>, theta = 1.0e4 : f64} : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    // CHECK: model.attention %{{.*}} {causal, scale = 5.000000e-01 : f64, window = 2 : i64}
    %8:2 = model.attention %q, %kv, %kv {causal, scale = 0.5 : f64, window = 2 : i64} : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
    // CHECK: model.rope %{{.*}}, %{{.*}} {packed, theta = 1.000000e+04 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3xi32>)
    model.rope %q, %d {packed, theta = 1.0e4 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3xi32>) -> tensor<2x3x4x8xf32>
    // CHECK: model.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {causal, packed, scale = 5.000000e-01 : f64}
    model.attention %q, %q, %q, %d {causal, packed, scale = 0.5 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3xi32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
    // CHECK: model.sin
    %9 = model.sin %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.cos
    %10 = model.cos %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    return
  }

  // CHECK-LABEL: func.func @composites
  func.func @composites(%x: tensor<2x3x4xf32>, %w: tensor<4x8xf32>, %bias: tensor<8xf32>, %residual: tensor<2x3x8xf32>, %g: tensor<4xf32>,
                        %q: tensor<2x3x4x8xf32>, %kv: tensor<2x5x2x8xf32>, %table: tensor<9x4xf32>, %tokens: tensor<2x3xi32>) {
    // CHECK: model.matmul %{{.*}}, %{{.*}} : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
    %0 = model.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
    // CHECK: model.matmul %{{.*}}, %{{.*}} bias(%{{.*}}) residual(%{{.*}}) : (tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    %1 = model.matmul %x, %w bias(%bias) residual(%residual) : (tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    // CHECK: model.matmul %{{.*}}, %{{.*}} {output = f64, transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> tensor<2x3x9xf64>
    %2 = model.matmul %x, %table {transpose_rhs, output = f64} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> tensor<2x3x9xf64>
    // CHECK: model.matmul_gelu %{{.*}}, %{{.*}} bias(%{{.*}}) : (tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>)
    %20:2 = model.matmul_gelu %x, %w bias(%bias) : (tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>)
    // CHECK: %[[PRE:.*]], %{{.*}} = model.matmul_gelu %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> (tensor<2x3x9xf32>, tensor<2x3x9xf32>)
    %22:2 = model.matmul_gelu %x, %table {transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> (tensor<2x3x9xf32>, tensor<2x3x9xf32>)
    // CHECK: model.matmul_gelu_grad %{{.*}}, %{{.*}}, %[[PRE]] {transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
    %21 = model.matmul_gelu_grad %x, %table, %22#0 {transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
    // CHECK: %{{.*}}, %[[MEAN:.*]], %[[RSTD:.*]] = model.layer_norm %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    %3:3 = model.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    // CHECK: model.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[MEAN]], %[[RSTD]]
    %4:3 = model.layer_norm_grad %x, %x, %g, %3#1, %3#2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.softmax
    %5 = model.softmax %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.softmax_grad
    %6 = model.softmax_grad %x, %5 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.gelu %{{.*}} {approximate = #model.approximation<tanh>}
    %7 = model.gelu %x {approximate = #model.approximation<tanh>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.gelu_grad %{{.*}} {approximate = #model.approximation<none>}
    %8 = model.gelu_grad %x, %x {approximate = #model.approximation<none>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: %[[OUT:.*]], %[[LSE:.*]] = model.attention %{{.*}} {causal, scale = 3.535000e-01 : f64}
    %9:2 = model.attention %q, %kv, %kv {causal, scale = 0.3535 : f64} : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
    // CHECK: model.attention_grad %{{.*}}, %[[OUT]], %[[LSE]] {causal
    %10:3 = model.attention_grad %q, %q, %kv, %kv, %9#0, %9#1 {causal, scale = 0.3535 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>)
    // CHECK: model.embedding %{{.*}}, %{{.*}} : (tensor<9x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
    %11 = model.embedding %table, %tokens : (tensor<9x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
    // CHECK: model.embedding_grad %{{.*}}, %{{.*}} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<9x4xf32>
    %12 = model.embedding_grad %x, %tokens : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<9x4xf32>
    // CHECK: %[[LOSS:.*]], %[[CELSE:.*]] = model.cross_entropy %{{.*}} {reduction = #model.reduction<mean>}
    %13:2 = model.cross_entropy %x, %tokens {reduction = #model.reduction<mean>} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    // CHECK: model.cross_entropy_grad %[[LOSS]], %{{.*}}, %{{.*}}, %[[CELSE]] {ignore_index = 0 : i64, reduction = #model.reduction<sum>}
    %14 = model.cross_entropy_grad %13#0, %x, %tokens, %13#1 {reduction = #model.reduction<sum>, ignore_index = 0 : i64} : (tensor<f32>, tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x4xf32>
    return
  }

  // CHECK-LABEL: func.func @random
  func.func @random(%x: tensor<2x3xf32>, %seed: tensor<i64>, %l: tensor<2x3xf32>, %t: tensor<2xi32>) {
    // CHECK: model.dropout %{{.*}} {key = 7 : i64, rate = 1.000000e-01 : f64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
    %0 = model.dropout %x, %seed, %seed, %seed {key = 7 : i64, rate = 0.1 : f64} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
    // CHECK: model.cross_entropy %{{.*}} {label_smoothing = 1.000000e-01 : f64, reduction = #model.reduction<mean>}
    %1:2 = model.cross_entropy %l, %t {label_smoothing = 0.1 : f64, reduction = #model.reduction<mean>} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return
  }

  // CHECK-LABEL: func.func @ranks
  func.func @ranks(%x: tensor<2x3xf32>) {
    // CHECK: model.all_reduce %{{.*}} {reduction = #model.reduction<sum>, unshard = ["mlps.0"]} : tensor<2x3xf32>
    %0 = model.all_reduce %x {reduction = #model.reduction<sum>, unshard = ["mlps.0"]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK: model.all_gather %{{.*}} : (tensor<2x3xf32>) -> tensor<8x3xf32>
    %1 = model.all_gather %x : (tensor<2x3xf32>) -> tensor<8x3xf32>
    // CHECK: model.reduce_scatter %{{.*}} : (tensor<8x3xf32>) -> tensor<2x3xf32>
    %2 = model.reduce_scatter %1 : (tensor<8x3xf32>) -> tensor<2x3xf32>
    return
  }

  // CHECK-LABEL: func.func @images
  func.func @images(%x: tensor<2x7x9x4xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>, %s: tensor<4xf32>, %n: tensor<i64>) {
    // CHECK: model.conv2d %{{.*}}, %{{.*}}, %{{.*}} {dilation = array<i64: 1, 1>, groups = 2 : i64, padding = array<i64: 1, 1>, stride = array<i64: 2, 1>}
    %0 = model.conv2d %x, %w, %b {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x7x9x4xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x4x9x6xf32>
    // CHECK: model.conv2d_input_grad
    %1 = model.conv2d_input_grad %0, %w {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<6x2x3x3xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.conv2d_weight_grad
    %2 = model.conv2d_weight_grad %0, %x {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<2x7x9x4xf32>) -> tensor<6x2x3x3xf32>
    // CHECK: model.max_pool2d %{{.*}} {kernel = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>}
    %3 = model.max_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
    // CHECK: model.max_pool2d_grad
    %4 = model.max_pool2d_grad %3, %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x5x4xf32>, tensor<2x7x9x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.avg_pool2d %{{.*}} {kernel = array<i64: 3, 3>, padding = array<i64: 1, 1>, stride = array<i64: 2, 2>, without_padding}
    %5 = model.avg_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, without_padding} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
    // CHECK: model.avg_pool2d_grad
    %6 = model.avg_pool2d_grad %5 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x5x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.adaptive_avg_pool2d %{{.*}} {output = array<i64: 2, 3>}
    %7 = model.adaptive_avg_pool2d %x {output = array<i64: 2, 3>} : (tensor<2x7x9x4xf32>) -> tensor<2x2x3x4xf32>
    // CHECK: model.adaptive_avg_pool2d_grad
    %8 = model.adaptive_avg_pool2d_grad %7 : (tensor<2x2x3x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.batch_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64}
    %9:3 = model.batch_norm %x, %s, %s {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.batch_norm_grad
    %10:3 = model.batch_norm_grad %9#0, %x, %s, %9#1, %9#2 {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.running_average %{{.*}}, %{{.*}} {factor = 1.100000e+00 : f64, momentum = 1.000000e-01 : f64}
    %11 = model.running_average %s, %9#1 {momentum = 0.1 : f64, factor = 1.1 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: model.count_up
    %12 = model.count_up %n : (tensor<i64>) -> tensor<i64>
    return
  }

  // CHECK-LABEL: func.func @more
  func.func @more(%x: tensor<3x5xf32>, %i: tensor<3x2xi64>) {
    // CHECK: model.sigmoid
    %0 = model.sigmoid %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.softplus
    %1 = model.softplus %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.power %{{.*}} {exponent = 3.000000e+00 : f64}
    %2 = model.power %x {exponent = 3.0 : f64} : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.relu_grad
    %3 = model.relu_grad %x, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.logsumexp
    %4 = model.logsumexp %x : (tensor<3x5xf32>) -> tensor<3xf32>
    // CHECK: model.argmax %{{.*}} {dim = 1 : i64}
    %5 = model.argmax %x {dim = 1 : i64} : (tensor<3x5xf32>) -> tensor<3xi64>
    // CHECK: model.take_along %{{.*}}, %{{.*}} {dim = 1 : i64}
    %6 = model.take_along %x, %i {dim = 1 : i64} : (tensor<3x5xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
    // CHECK: model.add_along %{{.*}}, %{{.*}} {dim = 1 : i64}
    %7 = model.add_along %6, %i {dim = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xi64>) -> tensor<3x5xf32>
    return
  }

  // CHECK-LABEL: func.func @update
  func.func @update(%p: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
    // CHECK: model.power_sum %{{.*}}, %{{.*}} {p = 2.000000e+00 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    %sum = model.power_sum %p, %p {p = 2.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    // CHECK: model.norm_root
    %norm = model.norm_root %sum {p = 2.0 : f64} : (tensor<f32>) -> tensor<f32>
    // CHECK: model.clip_coefficient
    %clip = model.clip_coefficient %norm {max_norm = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    // CHECK: model.all_finite %{{.*}}, %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    %guard = model.all_finite %norm, %lr : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    // CHECK: model.sgd
    %0 = model.sgd %p, %p, %lr, %step, %clip, %guard {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
    // CHECK: model.sgd
    %1:2 = model.sgd %p, %p, %p, %lr, %step, %clip, %guard {momentum = 0.9 : f64, weight_decay = 0.1 : f64, nesterov = true} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.adam
    %2:3 = model.adam %p, %p, %p, %p, %lr, %step, %clip, %guard {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.adamw
    %3:3 = model.adamw %p, %p, %p, %p, %lr, %step, %clip, %guard {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.sgd %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {{.*}} -> (tensor<4xf32>, tensor<2x3xf32>)
    %q = model.constant 1.0 : tensor<2x3xf32>
    %4:2 = model.sgd %p, %p, %q, %q, %lr, %step, %clip, %guard {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<2x3xf32>)
    return
  }

  // CHECK-LABEL: func.func @linear_loss
  func.func @linear_loss(%x: tensor<2x3x4xf32>, %w: tensor<9x4xf32>, %t: tensor<2x3xi32>) {
    // CHECK: model.linear_cross_entropy %{{.*}}, %{{.*}}, %{{.*}} {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    // CHECK: model.linear_cross_entropy_grad
    %1:2 = model.linear_cross_entropy_grad %0#0, %x, %w, %t, %0#1 {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<f32>, tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<9x4xf32>)
    return
  }
}
