module attributes {model.name = "iota"} {
  func.func @f32(
      )
   -> (tensor<1xf32> {model.output = "f32.s0.y0"},
       tensor<3xf32> {model.output = "f32.s1.y0"},
       tensor<4xf32> {model.output = "f32.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.iota 0 : tensor<1xf32>
    %s1.y0 = model.iota 0 : tensor<3xf32>
    %s2.y0 = model.iota 0 : tensor<4xf32>
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<1xf32>, tensor<3xf32>, tensor<4xf32>
  }
  func.func @bf16(
      )
   -> (tensor<1xbf16> {model.output = "bf16.s0.y0"},
       tensor<3xbf16> {model.output = "bf16.s1.y0"},
       tensor<4xbf16> {model.output = "bf16.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.iota 0 : tensor<1xbf16>
    %s1.y0 = model.iota 0 : tensor<3xbf16>
    %s2.y0 = model.iota 0 : tensor<4xbf16>
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<1xbf16>, tensor<3xbf16>, tensor<4xbf16>
  }
}
