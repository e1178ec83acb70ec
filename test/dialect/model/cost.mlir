// RUN: sluice-opt %s -model-show-cost | FileCheck %s
// Tests the cost of every op: operations, with a transcendental as one, and the bytes that must be read and written.

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
    // CHECK: model.constant {{.*}}model.cost = "flops=0, bytes=4"
    %one = model.constant 1.0 : tensor<f32>
    %mean = model.step_mean %one : tensor<f32>
    return %recomputed : tensor<2x4xf32>
  }

  func.func @pointwise(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %i: tensor<3xi64>) {
    // CHECK: model.add {{.*}}model.cost = "flops=6, bytes=60"
    %0 = model.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.subtract {{.*}}model.cost = "flops=6, bytes=60"
    %1 = model.subtract %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.multiply {{.*}}model.cost = "flops=6, bytes=60"
    %2 = model.multiply %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.divide {{.*}}model.cost = "flops=6, bytes=60"
    %3 = model.divide %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.maximum {{.*}}model.cost = "flops=6, bytes=60"
    %4 = model.maximum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.stop_gradient {{.*}}model.cost = "flops=0, bytes=24"
    %stopped = model.stop_gradient %b : tensor<3xf32>
    // CHECK: model.negate {{.*}}model.cost = "flops=3, bytes=24"
    %5 = model.negate %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.exp {{.*}}model.cost = "flops=3, bytes=24"
    %6 = model.exp %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.log {{.*}}model.cost = "flops=3, bytes=24"
    %7 = model.log %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.tanh {{.*}}model.cost = "flops=3, bytes=24"
    %8 = model.tanh %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.erf {{.*}}model.cost = "flops=3, bytes=24"
    %9 = model.erf %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.sqrt {{.*}}model.cost = "flops=3, bytes=24"
    %10 = model.sqrt %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.rsqrt {{.*}}model.cost = "flops=3, bytes=24"
    %11 = model.rsqrt %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.relu {{.*}}model.cost = "flops=3, bytes=24"
    %12 = model.relu %b : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.scale {{.*}}model.cost = "flops=3, bytes=24"
    %13 = model.scale %b {factor = 0.25 : f64} : (tensor<3xf32>) -> tensor<3xf32>
    // CHECK: model.compare {{.*}}model.cost = "flops=6, bytes=42"
    %14 = model.compare %a, %b {predicate = #model.predicate<lt>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xui8>
    // CHECK: model.select {{.*}}model.cost = "flops=6, bytes=66"
    %15 = model.select %14, %a, %b : (tensor<2x3xui8>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    // CHECK: model.cast {{.*}}model.cost = "flops=0, bytes=48"
    %16 = model.cast %i : (tensor<3xi64>) -> tensor<3xf64>
    return
  }

  func.func @creation(%seed: tensor<i64>) {
    // CHECK: model.constant {{.*}}model.cost = "flops=0, bytes=4"
    %0 = model.constant 1.5 : tensor<2xbf16>
    // CHECK: model.iota {{.*}}model.cost = "flops=0, bytes=48"
    %1 = model.iota 1 : tensor<2x3xi64>
    // CHECK: model.random_normal {{.*}}model.cost = "flops=4, bytes=24"
    %2 = model.random_normal %seed {key = 3 : i64, mean = 0.0 : f64, stddev = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
    // CHECK: model.random_uniform {{.*}}model.cost = "flops=4, bytes=24"
    %3 = model.random_uniform %seed {key = 3 : i64, low = 0.0 : f64, high = 1.0 : f64} : (tensor<i64>) -> tensor<4xf32>
    return
  }

  func.func @movement(%x: tensor<2x6xf32>, %row: tensor<6xf32>, %i: tensor<3xi32>) {
    // CHECK: model.broadcast {{.*}}model.cost = "flops=0, bytes=0"
    %0 = model.broadcast %row : (tensor<6xf32>) -> tensor<2x6xf32>
    // CHECK: model.reshape {{.*}}model.cost = "flops=0, bytes=0"
    %1 = model.reshape %x : (tensor<2x6xf32>) -> tensor<4x3xf32>
    // CHECK: model.transpose {{.*}}model.cost = "flops=0, bytes=0"
    %2 = model.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
    // CHECK: model.slice {{.*}}model.cost = "flops=0, bytes=0"
    %3 = model.slice %x {start = array<i64: 0, 1>, limit = array<i64: 1, 6>, step = array<i64: 1, 2>} : (tensor<2x6xf32>) -> tensor<1x3xf32>
    // CHECK: model.split {{.*}}model.cost = "flops=0, bytes=0"
    %4:2 = model.split %x {dim = 1 : i64} : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
    // CHECK: model.concat {{.*}}model.cost = "flops=0, bytes=96"
    %5 = model.concat %4#0, %4#1 {dim = 1 : i64} : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x6xf32>
    // CHECK: model.pad {{.*}}model.cost = "flops=0, bytes=80"
    %6 = model.pad %row {low = array<i64: 1>, high = array<i64: 2>, step = array<i64: 2>, value = 0.0 : f64} : (tensor<6xf32>) -> tensor<14xf32>
    // CHECK: model.gather {{.*}}model.cost = "flops=0, bytes=156"
    %7 = model.gather %x, %i : (tensor<2x6xf32>, tensor<3xi32>) -> tensor<3x6xf32>
    // CHECK: model.scatter_add {{.*}}model.cost = "flops=18, bytes=276"
    %8 = model.scatter_add %7, %i : (tensor<3x6xf32>, tensor<3xi32>) -> tensor<2x6xf32>
    return
  }

  func.func @reduction(%x: tensor<2x3x4xf32>) {
    // CHECK: model.reduce_sum {{.*}}model.cost = "flops=24, bytes=108"
    %0 = model.reduce_sum %x {dims = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
    // CHECK: model.reduce_mean {{.*}}model.cost = "flops=30, bytes=120"
    %1 = model.reduce_mean %x {dims = array<i64: 2>, keep} : (tensor<2x3x4xf32>) -> tensor<2x3x1xf32>
    // CHECK: model.reduce_max {{.*}}model.cost = "flops=24, bytes=100"
    %2 = model.reduce_max %x {dims = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<f32>
    return
  }

  func.func @gated(%x: tensor<2x3x4xf32>, %u: tensor<2x3x4xf32>, %g: tensor<4xf32>, %q: tensor<2x3x4x8xf32>, %kv: tensor<2x5x2x8xf32>) {
    // CHECK: model.silu {{.*}}model.cost = "flops=96, bytes=192"
    %0 = model.silu %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.silu_grad {{.*}}model.cost = "flops=192, bytes=192"
    %1 = model.silu_grad %x, %x : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.swiglu {{.*}}model.cost = "flops=120, bytes=288"
    %2 = model.swiglu %x, %u : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.swiglu_grad {{.*}}model.cost = "flops=264, bytes=384"
    %3:2 = model.swiglu_grad %x, %x, %u : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
    // CHECK: model.rms_norm {{.*}}model.cost = "flops=96, bytes=232"
    %4:2 = model.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
    // CHECK: model.rms_norm_grad {{.*}}model.cost = "flops=216, bytes=248"
    %5:2 = model.rms_norm_grad %x, %x, %g, %4#1 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
    // CHECK: model.rope {{.*}}model.cost = "flops=612, bytes=1536"
    %6 = model.rope %q {theta = 1.0e4 : f64} : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    // CHECK: model.rope {{.*}}model.cost = "flops=612, bytes=1536"
    %7 = model.rope %q {factor = 8.0 : f64, high = 4.0 : f64, inverse, low = 1.0 : f64, original = 32.0 : f64, position = 5 : i64, scaling = #model.scaling<llama3>, theta = 1.0e4 : f64} : (tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    // CHECK: model.attention {{.*}}model.cost = "flops=1776, bytes=2272"
    %8:2 = model.attention %q, %kv, %kv {causal, scale = 0.5 : f64, window = 2 : i64} : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
    // CHECK: model.sin {{.*}}model.cost = "flops=24, bytes=192"
    %9 = model.sin %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.cos {{.*}}model.cost = "flops=24, bytes=192"
    %10 = model.cos %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    return
  }

  func.func @composites(%x: tensor<2x3x4xf32>, %w: tensor<4x8xf32>, %bias: tensor<8xf32>, %residual: tensor<2x3x8xf32>, %g: tensor<4xf32>,
                        %q: tensor<2x3x4x8xf32>, %kv: tensor<2x5x2x8xf32>, %table: tensor<9x4xf32>, %tokens: tensor<2x3xi32>) {
    // CHECK: model.matmul {{.*}}model.cost = "flops=384, bytes=416"
    %0 = model.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
    // CHECK: model.matmul {{.*}}model.cost = "flops=480, bytes=640"
    %1 = model.matmul %x, %w bias(%bias) residual(%residual) : (tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    // CHECK: model.matmul {{.*}}model.cost = "flops=432, bytes=672"
    %2 = model.matmul %x, %table {transpose_rhs, output = f64} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> tensor<2x3x9xf64>
    // CHECK: model.matmul_gelu {{.*}}model.cost = "flops=864, bytes=640"
    %20:2 = model.matmul_gelu %x, %w bias(%bias) : (tensor<2x3x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>)
    %22:2 = model.matmul_gelu %x, %table {transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> (tensor<2x3x9xf32>, tensor<2x3x9xf32>)
    // CHECK: model.matmul_gelu_grad {{.*}}model.cost = "flops=1404, bytes=672"
    %21 = model.matmul_gelu_grad %x, %table, %22#0 {transpose_rhs} : (tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
    // CHECK: model.layer_norm {{.*}}model.cost = "flops=192, bytes=256"
    %3:3 = model.layer_norm %x, %g, %g {epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    // CHECK: model.layer_norm_grad {{.*}}model.cost = "flops=336, bytes=288"
    %4:3 = model.layer_norm_grad %x, %x, %g, %3#1, %3#2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.softmax {{.*}}model.cost = "flops=120, bytes=192"
    %5 = model.softmax %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.softmax_grad {{.*}}model.cost = "flops=96, bytes=288"
    %6 = model.softmax_grad %x, %5 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.gelu {{.*}}model.cost = "flops=216, bytes=192"
    %7 = model.gelu %x {approximate = #model.approximation<tanh>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.gelu_grad {{.*}}model.cost = "flops=264, bytes=192"
    %8 = model.gelu_grad %x, %x {approximate = #model.approximation<none>} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    // CHECK: model.attention {{.*}}model.cost = "flops=3552, bytes=2272"
    %9:2 = model.attention %q, %kv, %kv {causal, scale = 0.3535 : f64} : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
    // CHECK: model.attention_grad {{.*}}model.cost = "flops=8544, bytes=4320"
    %10:3 = model.attention_grad %q, %q, %kv, %kv, %9#0, %9#1 {causal, scale = 0.3535 : f64} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>)
    // CHECK: model.embedding {{.*}}model.cost = "flops=0, bytes=216"
    %11 = model.embedding %table, %tokens : (tensor<9x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
    // CHECK: model.embedding_grad {{.*}}model.cost = "flops=24, bytes=456"
    %12 = model.embedding_grad %x, %tokens : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<9x4xf32>
    // CHECK: model.cross_entropy {{.*}}model.cost = "flops=120, bytes=148"
    %13:2 = model.cross_entropy %x, %tokens {reduction = #model.reduction<mean>} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    // CHECK: model.cross_entropy_grad {{.*}}model.cost = "flops=78, bytes=244"
    %14 = model.cross_entropy_grad %13#0, %x, %tokens, %13#1 {reduction = #model.reduction<sum>, ignore_index = 0 : i64} : (tensor<f32>, tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x4xf32>
    return
  }

  func.func @update(%p: tensor<4xf32>, %lr: tensor<f32>, %step: tensor<i64>) {
    // CHECK: model.power_sum {{.*}}model.cost = "flops=16, bytes=20"
    %sum = model.power_sum %p, %p {p = 2.0 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    // CHECK: model.norm_root {{.*}}model.cost = "flops=1, bytes=8"
    %norm = model.norm_root %sum {p = 2.0 : f64} : (tensor<f32>) -> tensor<f32>
    // CHECK: model.clip_coefficient {{.*}}model.cost = "flops=3, bytes=8"
    %clip = model.clip_coefficient %norm {max_norm = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    // CHECK: model.all_finite {{.*}}model.cost = "flops=2, bytes=9"
    %guard = model.all_finite %norm, %lr : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    // CHECK: model.sgd {{.*}}model.cost = "flops=20, bytes=49"
    %0 = model.sgd %p, %p, %lr, %step, %clip, %guard {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
    // CHECK: model.sgd {{.*}}model.cost = "flops=36, bytes=65"
    %1:2 = model.sgd %p, %p, %p, %lr, %step, %clip, %guard {momentum = 0.9 : f64, weight_decay = 0.1 : f64, nesterov = true} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.adam {{.*}}model.cost = "flops=64, bytes=81"
    %2:3 = model.adam %p, %p, %p, %p, %lr, %step, %clip, %guard {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.adamw {{.*}}model.cost = "flops=64, bytes=81"
    %3:3 = model.adamw %p, %p, %p, %p, %lr, %step, %clip, %guard {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.sgd {{.*}}model.cost = "flops=50, bytes=97"
    %q = model.constant 1.0 : tensor<2x3xf32>
    %4:2 = model.sgd %p, %p, %q, %q, %lr, %step, %clip, %guard {momentum = 0.0 : f64, weight_decay = 0.1 : f64, nesterov = false} : (tensor<4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<4xf32>, tensor<2x3xf32>)
    return
  }

  // CHECK-LABEL: func.func @random
  func.func @random(%x: tensor<4x5xf32>, %s: tensor<i64>, %t: tensor<i64>, %r: tensor<i64>) {
    // CHECK: model.all_reduce {{.*}}model.cost = "flops=20, bytes=160"
    %1 = model.all_reduce %x {reduction = #model.reduction<mean>} : (tensor<4x5xf32>) -> tensor<4x5xf32>
    // CHECK: model.all_gather {{.*}}model.cost = "flops=0, bytes=240"
    %2 = model.all_gather %x : (tensor<4x5xf32>) -> tensor<8x5xf32>
    // CHECK: model.reduce_scatter {{.*}}model.cost = "flops=40, bytes=240"
    %3 = model.reduce_scatter %2 : (tensor<8x5xf32>) -> tensor<4x5xf32>
    // CHECK: model.dropout {{.*}}model.cost = "flops=440, bytes=184"
    %0 = model.dropout %x, %s, %t, %r {key = 0 : i64, rate = 0.5 : f64} : (tensor<4x5xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x5xf32>
    return
  }

  // Tests that an operand that is read twice counts once, and that a causal row costs only the columns that it reads.
  // CHECK-LABEL: func.func @exact
  func.func @exact(%x: tensor<4xf32>, %q: tensor<1x3x1x2xf32>) {
    // CHECK: model.multiply {{.*}}model.cost = "flops=4, bytes=32"
    %0 = model.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // Six pairs: two products of two operations per element of a head, and five of softmax.
    // CHECK: model.attention {{.*}}model.cost = "flops=78, bytes=60"
    %1:2 = model.attention %q, %q, %q {causal, scale = 1.0 : f64} : (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) -> (tensor<1x3x1x2xf32>, tensor<1x1x3xf32>)
    // CHECK: model.attention {{.*}}model.cost = "flops=117, bytes=60"
    %2:2 = model.attention %q, %q, %q {scale = 1.0 : f64} : (tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>) -> (tensor<1x3x1x2xf32>, tensor<1x1x3xf32>)
    return
  }
  func.func @images(%x: tensor<2x7x9x4xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>, %s: tensor<4xf32>, %n: tensor<i64>) {
    // CHECK: model.conv2d {{.*}}model.cost = "flops=15984, bytes=4200"
    %0 = model.conv2d %x, %w, %b {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x7x9x4xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<2x4x9x6xf32>
    // CHECK: model.conv2d_input_grad {{.*}}model.cost = "flops=15552, bytes=4176"
    %1 = model.conv2d_input_grad %0, %w {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<6x2x3x3xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.conv2d_weight_grad {{.*}}model.cost = "flops=15552, bytes=4176"
    %2 = model.conv2d_weight_grad %0, %x {stride = array<i64: 2, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x4x9x6xf32>, tensor<2x7x9x4xf32>) -> tensor<6x2x3x3xf32>
    // CHECK: model.max_pool2d {{.*}}model.cost = "flops=1440, bytes=2656"
    %3 = model.max_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
    // CHECK: model.max_pool2d_grad {{.*}}model.cost = "flops=1440, bytes=4672"
    %4 = model.max_pool2d_grad %3, %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x5x4xf32>, tensor<2x7x9x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.avg_pool2d {{.*}}model.cost = "flops=1440, bytes=2656"
    %5 = model.avg_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, without_padding} : (tensor<2x7x9x4xf32>) -> tensor<2x4x5x4xf32>
    // CHECK: model.avg_pool2d_grad {{.*}}model.cost = "flops=1440, bytes=2656"
    %6 = model.avg_pool2d_grad %5 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<2x4x5x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.adaptive_avg_pool2d {{.*}}model.cost = "flops=504, bytes=2208"
    %7 = model.adaptive_avg_pool2d %x {output = array<i64: 2, 3>} : (tensor<2x7x9x4xf32>) -> tensor<2x2x3x4xf32>
    // CHECK: model.adaptive_avg_pool2d_grad {{.*}}model.cost = "flops=504, bytes=2208"
    %8 = model.adaptive_avg_pool2d_grad %7 : (tensor<2x2x3x4xf32>) -> tensor<2x7x9x4xf32>
    // CHECK: model.batch_norm {{.*}}model.cost = "flops=4032, bytes=4080"
    %9:3 = model.batch_norm %x, %s, %s {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.batch_norm_grad {{.*}}model.cost = "flops=5040, bytes=6128"
    %10:3 = model.batch_norm_grad %9#0, %x, %s, %9#1, %9#2 {epsilon = 1.0e-5 : f64} : (tensor<2x7x9x4xf32>, tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x7x9x4xf32>, tensor<4xf32>, tensor<4xf32>)
    // CHECK: model.running_average {{.*}}model.cost = "flops=12, bytes=48"
    %11 = model.running_average %s, %9#1 {momentum = 0.1 : f64, factor = 1.1 : f64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: model.count_up {{.*}}model.cost = "flops=1, bytes=16"
    %12 = model.count_up %n : (tensor<i64>) -> tensor<i64>
    return
  }
  func.func @more(%x: tensor<3x5xf32>, %i: tensor<3x2xi64>) {
    // CHECK: model.sigmoid {{.*}}model.cost = "flops=15, bytes=120"
    %0 = model.sigmoid %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.softplus {{.*}}model.cost = "flops=15, bytes=120"
    %1 = model.softplus %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.power {{.*}}model.cost = "flops=15, bytes=120"
    %2 = model.power %x {exponent = 3.0 : f64} : (tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.relu_grad {{.*}}model.cost = "flops=15, bytes=120"
    %3 = model.relu_grad %x, %x : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    // CHECK: model.logsumexp {{.*}}model.cost = "flops=60, bytes=72"
    %4 = model.logsumexp %x : (tensor<3x5xf32>) -> tensor<3xf32>
    // CHECK: model.argmax {{.*}}model.cost = "flops=15, bytes=84"
    %5 = model.argmax %x {dim = 1 : i64} : (tensor<3x5xf32>) -> tensor<3xi64>
    // CHECK: model.take_along {{.*}}model.cost = "flops=0, bytes=96"
    %6 = model.take_along %x, %i {dim = 1 : i64} : (tensor<3x5xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
    // CHECK: model.add_along {{.*}}model.cost = "flops=6, bytes=180"
    %7 = model.add_along %6, %i {dim = 1 : i64} : (tensor<3x2xf32>, tensor<3x2xi64>) -> tensor<3x5xf32>
    return
  }

  func.func @linear_loss(%x: tensor<2x3x4xf32>, %w: tensor<9x4xf32>, %t: tensor<2x3xi32>) {
    // CHECK: model.linear_cross_entropy {{.*}}model.cost = "flops=648, bytes=292"
    %0:2 = model.linear_cross_entropy %x, %w, %t {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    // CHECK: model.linear_cross_entropy_grad {{.*}}model.cost = "flops=1458, bytes=532"
    %1:2 = model.linear_cross_entropy_grad %0#0, %x, %w, %t, %0#1 {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<f32>, tensor<2x3x4xf32>, tensor<9x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<9x4xf32>)
    return
  }
}
