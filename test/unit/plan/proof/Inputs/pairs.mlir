// Two towers; each of a rank's four rows is to be the nearest of its own among those of both ranks.
module attributes {model.name = "pairs", model.batch = 4 : i64} {
  model.parameter @u : tensor<3x5xf32> normal(0.0, 0.7)
  model.parameter @v : tensor<3x5xf32> normal(0.0, 0.7)
  func.func @train_step(%x: tensor<4x3xf32> {model.input = "x"}, %y: tensor<4x3xf32> {model.input = "y"}, %class: tensor<4xi32> {model.input = "class", model.limit = 8 : i64}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %u = model.read @u : tensor<3x5xf32>
    %v = model.read @v : tensor<3x5xf32>
    %a = model.matmul %x, %u : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %b = model.matmul %y, %v : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %all = model.all_gather %b : (tensor<4x5xf32>) -> tensor<8x5xf32>
    %l = model.matmul %a, %all {transpose_rhs} : (tensor<4x5xf32>, tensor<8x5xf32>) -> tensor<4x8xf32>
    %loss, %lse = model.cross_entropy %l, %class {reduction = #model.reduction<mean>} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    return %loss : tensor<f32>
  }
}
