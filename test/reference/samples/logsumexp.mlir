module attributes {model.name = "logsumexp"} {
  func.func @f32(
      %s0.x0: tensor<5x5xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<25xf32> {model.input = "f32.s1.x0"})
   -> (tensor<5xf32> {model.output = "f32.s0.y0"},
       tensor<f32> {model.output = "f32.s1.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.logsumexp %s0.x0 : (tensor<5x5xf32>) -> tensor<5xf32>
    %s1.y0 = model.logsumexp %s1.x0 : (tensor<25xf32>) -> tensor<f32>
    return %s0.y0, %s1.y0
      : tensor<5xf32>, tensor<f32>
  }
  func.func @bf16(
      %s0.x0: tensor<5x5xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<25xbf16> {model.input = "bf16.s1.x0"})
   -> (tensor<5xbf16> {model.output = "bf16.s0.y0"},
       tensor<bf16> {model.output = "bf16.s1.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.logsumexp %s0.x0 : (tensor<5x5xbf16>) -> tensor<5xbf16>
    %s1.y0 = model.logsumexp %s1.x0 : (tensor<25xbf16>) -> tensor<bf16>
    return %s0.y0, %s1.y0
      : tensor<5xbf16>, tensor<bf16>
  }
}
