module attributes {model.name = "avg_pool2d"} {
  func.func @f32(
      %s0.x0: tensor<1x6x6x2xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<1x9x9x3xf32> {model.input = "f32.s1.x0"})
   -> (tensor<1x4x4x2xf32> {model.output = "f32.s0.y0"},
       tensor<1x3x3x3xf32> {model.output = "f32.s1.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.avg_pool2d %s0.x0 {kernel = array<i64: 4, 4>, stride = array<i64: 2, 2>, padding = array<i64: 2, 2>} : (tensor<1x6x6x2xf32>) -> tensor<1x4x4x2xf32>
    %s1.y0 = model.avg_pool2d %s1.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 3, 3>, padding = array<i64: 0, 0>} : (tensor<1x9x9x3xf32>) -> tensor<1x3x3x3xf32>
    return %s0.y0, %s1.y0
      : tensor<1x4x4x2xf32>, tensor<1x3x3x3xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<1x6x6x2xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<1x9x9x3xbf16> {model.input = "bf16.s1.x0"})
   -> (tensor<1x4x4x2xbf16> {model.output = "bf16.s0.y0"},
       tensor<1x3x3x3xbf16> {model.output = "bf16.s1.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.avg_pool2d %s0.x0 {kernel = array<i64: 4, 4>, stride = array<i64: 2, 2>, padding = array<i64: 2, 2>} : (tensor<1x6x6x2xbf16>) -> tensor<1x4x4x2xbf16>
    %s1.y0 = model.avg_pool2d %s1.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 3, 3>, padding = array<i64: 0, 0>} : (tensor<1x9x9x3xbf16>) -> tensor<1x3x3x3xbf16>
    return %s0.y0, %s1.y0
      : tensor<1x4x4x2xbf16>, tensor<1x3x3x3xbf16>
  }
}
