module attributes {model.name = "softmax"} {
  func.func @f32(
      %s0.x0: tensor<5xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<5x5xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<5x10x5xf32> {model.input = "f32.s2.x0"})
   -> (tensor<5xf32> {model.output = "f32.s0.y0"},
       tensor<5x5xf32> {model.output = "f32.s1.y0"},
       tensor<5x10x5xf32> {model.output = "f32.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.softmax %s0.x0 : (tensor<5xf32>) -> tensor<5xf32>
    %s1.y0 = model.softmax %s1.x0 : (tensor<5x5xf32>) -> tensor<5x5xf32>
    %s2.y0 = model.softmax %s2.x0 : (tensor<5x10x5xf32>) -> tensor<5x10x5xf32>
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<5xf32>, tensor<5x5xf32>, tensor<5x10x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<5xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<5x5xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<5x10x5xbf16> {model.input = "bf16.s2.x0"})
   -> (tensor<5xbf16> {model.output = "bf16.s0.y0"},
       tensor<5x5xbf16> {model.output = "bf16.s1.y0"},
       tensor<5x10x5xbf16> {model.output = "bf16.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.softmax %s0.x0 : (tensor<5xbf16>) -> tensor<5xbf16>
    %s1.y0 = model.softmax %s1.x0 : (tensor<5x5xbf16>) -> tensor<5x5xbf16>
    %s2.y0 = model.softmax %s2.x0 : (tensor<5x10x5xbf16>) -> tensor<5x10x5xbf16>
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<5xbf16>, tensor<5x5xbf16>, tensor<5x10x5xbf16>
  }
}
