module attributes {model.name = "gelu"} {
  func.func @f32(
      %s0.x0: tensor<10x10xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<10x10xf32> {model.input = "f32.s1.x0"})
   -> (tensor<10x10xf32> {model.output = "f32.s0.y0"},
       tensor<10x10xf32> {model.output = "f32.s1.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.gelu %s0.x0 {approximate = #model.approximation<none>} : (tensor<10x10xf32>) -> tensor<10x10xf32>
    %s1.y0 = model.gelu %s1.x0 {approximate = #model.approximation<tanh>} : (tensor<10x10xf32>) -> tensor<10x10xf32>
    return %s0.y0, %s1.y0
      : tensor<10x10xf32>, tensor<10x10xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<10x10xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<10x10xbf16> {model.input = "bf16.s1.x0"})
   -> (tensor<10x10xbf16> {model.output = "bf16.s0.y0"},
       tensor<10x10xbf16> {model.output = "bf16.s1.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.gelu %s0.x0 {approximate = #model.approximation<none>} : (tensor<10x10xbf16>) -> tensor<10x10xbf16>
    %s1.y0 = model.gelu %s1.x0 {approximate = #model.approximation<tanh>} : (tensor<10x10xbf16>) -> tensor<10x10xbf16>
    return %s0.y0, %s1.y0
      : tensor<10x10xbf16>, tensor<10x10xbf16>
  }
}
