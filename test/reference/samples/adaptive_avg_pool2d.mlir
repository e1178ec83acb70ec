module attributes {model.name = "adaptive_avg_pool2d"} {
  func.func @f32(
      %s0.x0: tensor<1x8x8x8xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<2x8x8x8xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<1x4x3x8xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<1x4x3x8xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<1x4x3x8xf32> {model.input = "f32.s4.x0"})
   -> (tensor<1x5x7x8xf32> {model.output = "f32.s0.y0"},
       tensor<2x8x7x8xf32> {model.output = "f32.s1.y0"},
       tensor<1x5x3x8xf32> {model.output = "f32.s2.y0"},
       tensor<1x4x3x8xf32> {model.output = "f32.s3.y0"},
       tensor<1x5x5x8xf32> {model.output = "f32.s4.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.adaptive_avg_pool2d %s0.x0 {output = array<i64: 5, 7>} : (tensor<1x8x8x8xf32>) -> tensor<1x5x7x8xf32>
    %s1.y0 = model.adaptive_avg_pool2d %s1.x0 {output = array<i64: 8, 7>} : (tensor<2x8x8x8xf32>) -> tensor<2x8x7x8xf32>
    %s2.y0 = model.adaptive_avg_pool2d %s2.x0 {output = array<i64: 5, 3>} : (tensor<1x4x3x8xf32>) -> tensor<1x5x3x8xf32>
    %s3.y0 = model.adaptive_avg_pool2d %s3.x0 {output = array<i64: 4, 3>} : (tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32>
    %s4.y0 = model.adaptive_avg_pool2d %s4.x0 {output = array<i64: 5, 5>} : (tensor<1x4x3x8xf32>) -> tensor<1x5x5x8xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0
      : tensor<1x5x7x8xf32>, tensor<2x8x7x8xf32>, tensor<1x5x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x5x5x8xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<1x8x8x8xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<2x8x8x8xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<1x4x3x8xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<1x4x3x8xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<1x4x3x8xbf16> {model.input = "bf16.s4.x0"})
   -> (tensor<1x5x7x8xbf16> {model.output = "bf16.s0.y0"},
       tensor<2x8x7x8xbf16> {model.output = "bf16.s1.y0"},
       tensor<1x5x3x8xbf16> {model.output = "bf16.s2.y0"},
       tensor<1x4x3x8xbf16> {model.output = "bf16.s3.y0"},
       tensor<1x5x5x8xbf16> {model.output = "bf16.s4.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.adaptive_avg_pool2d %s0.x0 {output = array<i64: 5, 7>} : (tensor<1x8x8x8xbf16>) -> tensor<1x5x7x8xbf16>
    %s1.y0 = model.adaptive_avg_pool2d %s1.x0 {output = array<i64: 8, 7>} : (tensor<2x8x8x8xbf16>) -> tensor<2x8x7x8xbf16>
    %s2.y0 = model.adaptive_avg_pool2d %s2.x0 {output = array<i64: 5, 3>} : (tensor<1x4x3x8xbf16>) -> tensor<1x5x3x8xbf16>
    %s3.y0 = model.adaptive_avg_pool2d %s3.x0 {output = array<i64: 4, 3>} : (tensor<1x4x3x8xbf16>) -> tensor<1x4x3x8xbf16>
    %s4.y0 = model.adaptive_avg_pool2d %s4.x0 {output = array<i64: 5, 5>} : (tensor<1x4x3x8xbf16>) -> tensor<1x5x5x8xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0
      : tensor<1x5x7x8xbf16>, tensor<2x8x7x8xbf16>, tensor<1x5x3x8xbf16>, tensor<1x4x3x8xbf16>, tensor<1x5x5x8xbf16>
  }
}
