// A chain of layers after an embedding in the root unit, in the form of the model stage's train step: written by
// hand.
module {
  model.parameter @embed : tensor<5x6xf32> normal(0.0, 0.02)
  model.parameter @layer.0.w : tensor<6x6xf32> uniform(-0.5, 0.5)
  model.parameter @layer.1.w : tensor<6x6xf32> uniform(-0.5, 0.5)
  func.func @train_step(%x: tensor<2x5xf32> {model.input = "x"}, %lr: tensor<f32> {model.input = "lr"}, %step: tensor<i64> {model.input = "step"})
      -> (tensor<f32> {model.output = "loss"}, tensor<f32> {model.output = "grad_norm"}, tensor<ui8> {model.output = "guard"})
      attributes {model.entry = #model.entry<train>} {
    %we = model.read @embed {model.block = "", model.phase = #model.phase<forward>} : tensor<5x6xf32>
    %h0 = model.matmul %x, %we {model.block = "", model.phase = #model.phase<forward>} : (tensor<2x5xf32>, tensor<5x6xf32>) -> tensor<2x6xf32>
    %w0 = model.read @layer.0.w {model.block = "layer.0", model.phase = #model.phase<forward>} : tensor<6x6xf32>
    %h1 = model.matmul %h0, %w0 {model.block = "layer.0", model.phase = #model.phase<forward>} : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
    %w1 = model.read @layer.1.w {model.block = "layer.1", model.phase = #model.phase<forward>} : tensor<6x6xf32>
    %h2 = model.matmul %h1, %w1 {model.block = "layer.1", model.phase = #model.phase<forward>} : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
    %loss = model.reduce_sum %h2 {dims = array<i64: 0, 1>, model.block = "", model.phase = #model.phase<loss>} : (tensor<2x6xf32>) -> tensor<f32>
    %mean = model.step_mean %loss {model.block = "", model.phase = #model.phase<loss>} : tensor<f32>
    %g2 = model.constant 1.0 {model.block = "", model.phase = #model.phase<loss>} : tensor<2x6xf32>
    %g1 = model.matmul %g2, %w1 {transpose_rhs, model.block = "layer.1", model.phase = #model.phase<backward>} : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
    %d1 = model.matmul %h1, %g2 {transpose_lhs, model.block = "layer.1", model.phase = #model.phase<backward>} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<6x6xf32>
    %m1 = model.gradient @layer.1.w, %d1 {model.block = "layer.1", model.phase = #model.phase<backward>} : tensor<6x6xf32>
    %g0 = model.matmul %g1, %w0 {transpose_rhs, model.block = "layer.0", model.phase = #model.phase<backward>} : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
    %d0 = model.matmul %h0, %g1 {transpose_lhs, model.block = "layer.0", model.phase = #model.phase<backward>} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<6x6xf32>
    %m0 = model.gradient @layer.0.w, %d0 {model.block = "layer.0", model.phase = #model.phase<backward>} : tensor<6x6xf32>
    %de = model.matmul %x, %g0 {transpose_lhs, model.block = "", model.phase = #model.phase<backward>} : (tensor<2x5xf32>, tensor<2x6xf32>) -> tensor<5x6xf32>
    %me = model.gradient @embed, %de {model.block = "", model.phase = #model.phase<backward>} : tensor<5x6xf32>
    %sum = model.power_sum %me, %m0, %m1 {p = 2.0, model.block = "", model.phase = #model.phase<update>} : (tensor<5x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<f32>
    %norm = model.norm_root %sum {p = 2.0, model.block = "", model.phase = #model.phase<update>} : (tensor<f32>) -> tensor<f32>
    %one = model.constant 1.0 {model.block = "", model.phase = #model.phase<update>} : tensor<f32>
    %guard = model.all_finite %mean, %norm {model.block = "", model.phase = #model.phase<update>} : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    %pe = model.read @embed {model.block = "", model.phase = #model.phase<update>} : tensor<5x6xf32>
    %se = model.read @embed state "momentum_buffer" {model.block = "", model.phase = #model.phase<update>} : tensor<5x6xf32>
    %ne:2 = model.sgd %pe, %me, %se, %lr, %step, %one, %guard {momentum = 0.9, weight_decay = 0.0, nesterov = false, model.block = "", model.phase = #model.phase<update>}
        : (tensor<5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<5x6xf32>, tensor<5x6xf32>)
    model.write @embed, %ne#0 {model.block = "", model.phase = #model.phase<update>} : tensor<5x6xf32>
    model.write @embed state "momentum_buffer", %ne#1 {model.block = "", model.phase = #model.phase<update>} : tensor<5x6xf32>
    %p0 = model.read @layer.0.w {model.block = "", model.phase = #model.phase<update>} : tensor<6x6xf32>
    %s0 = model.read @layer.0.w state "momentum_buffer" {model.block = "", model.phase = #model.phase<update>} : tensor<6x6xf32>
    %n0:2 = model.sgd %p0, %m0, %s0, %lr, %step, %one, %guard {momentum = 0.9, weight_decay = 0.0, nesterov = false, model.block = "", model.phase = #model.phase<update>}
        : (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<6x6xf32>, tensor<6x6xf32>)
    model.write @layer.0.w, %n0#0 {model.block = "", model.phase = #model.phase<update>} : tensor<6x6xf32>
    model.write @layer.0.w state "momentum_buffer", %n0#1 {model.block = "", model.phase = #model.phase<update>} : tensor<6x6xf32>
    %p1 = model.read @layer.1.w {model.block = "", model.phase = #model.phase<update>} : tensor<6x6xf32>
    %s1 = model.read @layer.1.w state "momentum_buffer" {model.block = "", model.phase = #model.phase<update>} : tensor<6x6xf32>
    %n1:2 = model.sgd %p1, %m1, %s1, %lr, %step, %one, %guard {momentum = 0.9, weight_decay = 0.0, nesterov = false, model.block = "", model.phase = #model.phase<update>}
        : (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<f32>, tensor<i64>, tensor<f32>, tensor<ui8>) -> (tensor<6x6xf32>, tensor<6x6xf32>)
    model.write @layer.1.w, %n1#0 {model.block = "", model.phase = #model.phase<update>} : tensor<6x6xf32>
    model.write @layer.1.w state "momentum_buffer", %n1#1 {model.block = "", model.phase = #model.phase<update>} : tensor<6x6xf32>
    return %mean, %norm, %guard : tensor<f32>, tensor<f32>, tensor<ui8>
  }
}
