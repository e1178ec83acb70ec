// Tests in KnownBugsTest.cpp: the entropy of a log-softmax, which the loss reads twice.
module attributes {model.batch = 2 : i64, model.name = "log-softmax"} {
  model.parameter @weight : tensor<5x4xf32> uniform(-5.000000e-01, 5.000000e-01)
  func.func @train_step(%x: tensor<2x4xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"})
      attributes {model.entry = #model.entry<train>} {
    %w = model.read @weight : tensor<5x4xf32>
    %logits = model.matmul %x, %w {transpose_rhs} : (tensor<2x4xf32>, tensor<5x4xf32>) -> tensor<2x5xf32>
    %total = model.logsumexp %logits : (tensor<2x5xf32>) -> tensor<2xf32>
    %column = model.reshape %total : (tensor<2xf32>) -> tensor<2x1xf32>
    %log = model.subtract %logits, %column : (tensor<2x5xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
    %p = model.exp %log : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %terms = model.multiply %p, %log : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %loss = model.reduce_sum %terms {dims = array<i64: 0, 1>} : (tensor<2x5xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
