// A head with one output: its bias is one element.
module attributes {model.name = "value-head", model.batch = 2 : i64} {
  model.parameter @w : tensor<1x4xf32> normal(0.0, 0.5)
  model.parameter @b : tensor<1xf32> zeros
  func.func @train_step(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<1x4xf32>
    %b = model.read @b : tensor<1xf32>
    %h = model.matmul %x, %w {transpose_rhs} : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x1xf32>
    %z = model.add %h, %b : (tensor<2x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
    %q = model.multiply %z, %z : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
    %loss = model.reduce_mean %q {dims = array<i64: 0, 1>} : (tensor<2x1xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
