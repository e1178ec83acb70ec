module attributes {model.name = "scatter_add"} {
  func.func @f32(
      %s0.x0: tensor<1xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<1xi32> {model.input = "f32.s0.x1"},
      %s1.x0: tensor<5x5xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<5xi32> {model.input = "f32.s1.x1"})
   -> (tensor<1xf32> {model.output = "f32.s0.y0"},
       tensor<5x5xf32> {model.output = "f32.s1.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.scatter_add %s0.x0, %s0.x1 : (tensor<1xf32>, tensor<1xi32>) -> tensor<1xf32>
    %s1.y0 = model.scatter_add %s1.x0, %s1.x1 : (tensor<5x5xf32>, tensor<5xi32>) -> tensor<5x5xf32>
    return %s0.y0, %s1.y0
      : tensor<1xf32>, tensor<5x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<1xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<1xi32> {model.input = "bf16.s0.x1"},
      %s1.x0: tensor<5x5xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<5xi32> {model.input = "bf16.s1.x1"})
   -> (tensor<1xbf16> {model.output = "bf16.s0.y0"},
       tensor<5x5xbf16> {model.output = "bf16.s1.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.scatter_add %s0.x0, %s0.x1 : (tensor<1xbf16>, tensor<1xi32>) -> tensor<1xbf16>
    %s1.y0 = model.scatter_add %s1.x0, %s1.x1 : (tensor<5x5xbf16>, tensor<5xi32>) -> tensor<5x5xbf16>
    return %s0.y0, %s1.y0
      : tensor<1xbf16>, tensor<5x5xbf16>
  }
}
