module attributes {model.name = "max_pool2d"} {
  func.func @f32(
      %s0.x0: tensor<1x3x6x2xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<1x3x6x2xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<1x3x6x2xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<1x6x6x2xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<1x6x6x2xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<1x6x6x2xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<2x3x6x2xf32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<2x3x6x2xf32> {model.input = "f32.s7.x0"},
      %s8.x0: tensor<2x3x6x2xf32> {model.input = "f32.s8.x0"},
      %s9.x0: tensor<2x6x6x2xf32> {model.input = "f32.s9.x0"},
      %s10.x0: tensor<2x6x6x2xf32> {model.input = "f32.s10.x0"},
      %s11.x0: tensor<2x6x6x2xf32> {model.input = "f32.s11.x0"})
   -> (tensor<1x1x2x2xf32> {model.output = "f32.s0.y0"},
       tensor<1x1x4x2xf32> {model.output = "f32.s1.y0"},
       tensor<1x1x3x2xf32> {model.output = "f32.s2.y0"},
       tensor<1x2x2x2xf32> {model.output = "f32.s3.y0"},
       tensor<1x2x4x2xf32> {model.output = "f32.s4.y0"},
       tensor<1x2x3x2xf32> {model.output = "f32.s5.y0"},
       tensor<2x1x2x2xf32> {model.output = "f32.s6.y0"},
       tensor<2x1x4x2xf32> {model.output = "f32.s7.y0"},
       tensor<2x1x3x2xf32> {model.output = "f32.s8.y0"},
       tensor<2x2x2x2xf32> {model.output = "f32.s9.y0"},
       tensor<2x2x4x2xf32> {model.output = "f32.s10.y0"},
       tensor<2x2x3x2xf32> {model.output = "f32.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.max_pool2d %s0.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<1x3x6x2xf32>) -> tensor<1x1x2x2xf32>
    %s1.y0 = model.max_pool2d %s1.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 0, 0>} : (tensor<1x3x6x2xf32>) -> tensor<1x1x4x2xf32>
    %s2.y0 = model.max_pool2d %s2.x0 {kernel = array<i64: 3, 2>, stride = array<i64: 3, 2>, padding = array<i64: 0, 0>} : (tensor<1x3x6x2xf32>) -> tensor<1x1x3x2xf32>
    %s3.y0 = model.max_pool2d %s3.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<1x6x6x2xf32>) -> tensor<1x2x2x2xf32>
    %s4.y0 = model.max_pool2d %s4.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 0, 0>} : (tensor<1x6x6x2xf32>) -> tensor<1x2x4x2xf32>
    %s5.y0 = model.max_pool2d %s5.x0 {kernel = array<i64: 3, 2>, stride = array<i64: 3, 2>, padding = array<i64: 0, 0>} : (tensor<1x6x6x2xf32>) -> tensor<1x2x3x2xf32>
    %s6.y0 = model.max_pool2d %s6.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<2x3x6x2xf32>) -> tensor<2x1x2x2xf32>
    %s7.y0 = model.max_pool2d %s7.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 0, 0>} : (tensor<2x3x6x2xf32>) -> tensor<2x1x4x2xf32>
    %s8.y0 = model.max_pool2d %s8.x0 {kernel = array<i64: 3, 2>, stride = array<i64: 3, 2>, padding = array<i64: 0, 0>} : (tensor<2x3x6x2xf32>) -> tensor<2x1x3x2xf32>
    %s9.y0 = model.max_pool2d %s9.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<2x6x6x2xf32>) -> tensor<2x2x2x2xf32>
    %s10.y0 = model.max_pool2d %s10.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 0, 0>} : (tensor<2x6x6x2xf32>) -> tensor<2x2x4x2xf32>
    %s11.y0 = model.max_pool2d %s11.x0 {kernel = array<i64: 3, 2>, stride = array<i64: 3, 2>, padding = array<i64: 0, 0>} : (tensor<2x6x6x2xf32>) -> tensor<2x2x3x2xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<1x1x2x2xf32>, tensor<1x1x4x2xf32>, tensor<1x1x3x2xf32>, tensor<1x2x2x2xf32>, tensor<1x2x4x2xf32>, tensor<1x2x3x2xf32>, tensor<2x1x2x2xf32>, tensor<2x1x4x2xf32>, tensor<2x1x3x2xf32>, tensor<2x2x2x2xf32>, tensor<2x2x4x2xf32>, tensor<2x2x3x2xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<1x3x6x2xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<1x3x6x2xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<1x3x6x2xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<1x6x6x2xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<1x6x6x2xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<1x6x6x2xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<2x3x6x2xbf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<2x3x6x2xbf16> {model.input = "bf16.s7.x0"},
      %s8.x0: tensor<2x3x6x2xbf16> {model.input = "bf16.s8.x0"},
      %s9.x0: tensor<2x6x6x2xbf16> {model.input = "bf16.s9.x0"},
      %s10.x0: tensor<2x6x6x2xbf16> {model.input = "bf16.s10.x0"},
      %s11.x0: tensor<2x6x6x2xbf16> {model.input = "bf16.s11.x0"})
   -> (tensor<1x1x2x2xbf16> {model.output = "bf16.s0.y0"},
       tensor<1x1x4x2xbf16> {model.output = "bf16.s1.y0"},
       tensor<1x1x3x2xbf16> {model.output = "bf16.s2.y0"},
       tensor<1x2x2x2xbf16> {model.output = "bf16.s3.y0"},
       tensor<1x2x4x2xbf16> {model.output = "bf16.s4.y0"},
       tensor<1x2x3x2xbf16> {model.output = "bf16.s5.y0"},
       tensor<2x1x2x2xbf16> {model.output = "bf16.s6.y0"},
       tensor<2x1x4x2xbf16> {model.output = "bf16.s7.y0"},
       tensor<2x1x3x2xbf16> {model.output = "bf16.s8.y0"},
       tensor<2x2x2x2xbf16> {model.output = "bf16.s9.y0"},
       tensor<2x2x4x2xbf16> {model.output = "bf16.s10.y0"},
       tensor<2x2x3x2xbf16> {model.output = "bf16.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.max_pool2d %s0.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<1x3x6x2xbf16>) -> tensor<1x1x2x2xbf16>
    %s1.y0 = model.max_pool2d %s1.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 0, 0>} : (tensor<1x3x6x2xbf16>) -> tensor<1x1x4x2xbf16>
    %s2.y0 = model.max_pool2d %s2.x0 {kernel = array<i64: 3, 2>, stride = array<i64: 3, 2>, padding = array<i64: 0, 0>} : (tensor<1x3x6x2xbf16>) -> tensor<1x1x3x2xbf16>
    %s3.y0 = model.max_pool2d %s3.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<1x6x6x2xbf16>) -> tensor<1x2x2x2xbf16>
    %s4.y0 = model.max_pool2d %s4.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 0, 0>} : (tensor<1x6x6x2xbf16>) -> tensor<1x2x4x2xbf16>
    %s5.y0 = model.max_pool2d %s5.x0 {kernel = array<i64: 3, 2>, stride = array<i64: 3, 2>, padding = array<i64: 0, 0>} : (tensor<1x6x6x2xbf16>) -> tensor<1x2x3x2xbf16>
    %s6.y0 = model.max_pool2d %s6.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<2x3x6x2xbf16>) -> tensor<2x1x2x2xbf16>
    %s7.y0 = model.max_pool2d %s7.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 0, 0>} : (tensor<2x3x6x2xbf16>) -> tensor<2x1x4x2xbf16>
    %s8.y0 = model.max_pool2d %s8.x0 {kernel = array<i64: 3, 2>, stride = array<i64: 3, 2>, padding = array<i64: 0, 0>} : (tensor<2x3x6x2xbf16>) -> tensor<2x1x3x2xbf16>
    %s9.y0 = model.max_pool2d %s9.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>} : (tensor<2x6x6x2xbf16>) -> tensor<2x2x2x2xbf16>
    %s10.y0 = model.max_pool2d %s10.x0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 1>, padding = array<i64: 0, 0>} : (tensor<2x6x6x2xbf16>) -> tensor<2x2x4x2xbf16>
    %s11.y0 = model.max_pool2d %s11.x0 {kernel = array<i64: 3, 2>, stride = array<i64: 3, 2>, padding = array<i64: 0, 0>} : (tensor<2x6x6x2xbf16>) -> tensor<2x2x3x2xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<1x1x2x2xbf16>, tensor<1x1x4x2xbf16>, tensor<1x1x3x2xbf16>, tensor<1x2x2x2xbf16>, tensor<1x2x4x2xbf16>, tensor<1x2x3x2xbf16>, tensor<2x1x2x2xbf16>, tensor<2x1x4x2xbf16>, tensor<2x1x3x2xbf16>, tensor<2x2x2x2xbf16>, tensor<2x2x4x2xbf16>, tensor<2x2x3x2xbf16>
  }
}
