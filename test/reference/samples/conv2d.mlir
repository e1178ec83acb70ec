module attributes {model.name = "conv2d"} {
  func.func @f32(
      %s0.x0: tensor<1x4x4x3xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<3x3x3x3xf32> {model.input = "f32.s0.x1"},
      %s0.x2: tensor<3xf32> {model.input = "f32.s0.x2"},
      %s1.x0: tensor<2x8x8x4xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<2x2x3x3xf32> {model.input = "f32.s1.x1"},
      %s1.x2: tensor<2xf32> {model.input = "f32.s1.x2"},
      %s2.x0: tensor<1x5x5x4xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<1x4x2x3xf32> {model.input = "f32.s2.x1"},
      %s2.x2: tensor<1xf32> {model.input = "f32.s2.x2"},
      %s3.x0: tensor<1x4x3x2xf32> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<4x2x3x4xf32> {model.input = "f32.s3.x1"},
      %s4.x0: tensor<1x5x5x4xf32> {model.input = "f32.s4.x0"},
      %s4.x1: tensor<1x4x2x3xf32> {model.input = "f32.s4.x1"},
      %s4.x2: tensor<1xf32> {model.input = "f32.s4.x2"},
      %s5.x0: tensor<2x6x6x4xf32> {model.input = "f32.s5.x0"},
      %s5.x1: tensor<4x1x3x3xf32> {model.input = "f32.s5.x1"},
      %s5.x2: tensor<4xf32> {model.input = "f32.s5.x2"},
      %s6.x0: tensor<2x6x6x4xf32> {model.input = "f32.s6.x0"},
      %s6.x1: tensor<8x1x3x3xf32> {model.input = "f32.s6.x1"},
      %s6.x2: tensor<8xf32> {model.input = "f32.s6.x2"},
      %s7.x0: tensor<2x6x6x4xf32> {model.input = "f32.s7.x0"},
      %s7.x1: tensor<8x1x3x3xf32> {model.input = "f32.s7.x1"},
      %s8.x0: tensor<2x6x6x4xf32> {model.input = "f32.s8.x0"},
      %s8.x1: tensor<4x1x3x3xf32> {model.input = "f32.s8.x1"},
      %s8.x2: tensor<4xf32> {model.input = "f32.s8.x2"},
      %s9.x0: tensor<2x6x6x4xf32> {model.input = "f32.s9.x0"},
      %s9.x1: tensor<4x1x3x3xf32> {model.input = "f32.s9.x1"},
      %s9.x2: tensor<4xf32> {model.input = "f32.s9.x2"},
      %s10.x0: tensor<2x5x5x4xf32> {model.input = "f32.s10.x0"},
      %s10.x1: tensor<4x1x2x2xf32> {model.input = "f32.s10.x1"},
      %s10.x2: tensor<4xf32> {model.input = "f32.s10.x2"},
      %s11.x0: tensor<2x6x5x4xf32> {model.input = "f32.s11.x0"},
      %s11.x1: tensor<6x2x3x2xf32> {model.input = "f32.s11.x1"},
      %s11.x2: tensor<6xf32> {model.input = "f32.s11.x2"})
   -> (tensor<1x3x3x3xf32> {model.output = "f32.s0.y0"},
       tensor<2x2x1x2xf32> {model.output = "f32.s1.y0"},
       tensor<1x3x1x1xf32> {model.output = "f32.s2.y0"},
       tensor<1x2x1x4xf32> {model.output = "f32.s3.y0"},
       tensor<1x2x2x1xf32> {model.output = "f32.s4.y0"},
       tensor<2x4x4x4xf32> {model.output = "f32.s5.y0"},
       tensor<2x4x4x8xf32> {model.output = "f32.s6.y0"},
       tensor<2x4x4x8xf32> {model.output = "f32.s7.y0"},
       tensor<2x2x2x4xf32> {model.output = "f32.s8.y0"},
       tensor<2x6x6x4xf32> {model.output = "f32.s9.y0"},
       tensor<2x3x3x4xf32> {model.output = "f32.s10.y0"},
       tensor<2x4x4x6xf32> {model.output = "f32.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.conv2d %s0.x0, %s0.x1, %s0.x2 {stride = array<i64: 2, 2>, padding = array<i64: 2, 2>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x4x3xf32>, tensor<3x3x3x3xf32>, tensor<3xf32>) -> tensor<1x3x3x3xf32>
    %s1.y0 = model.conv2d %s1.x0, %s1.x1, %s1.x2 {stride = array<i64: 3, 2>, padding = array<i64: 2, 1>, dilation = array<i64: 4, 4>, groups = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<2x2x1x2xf32>
    %s2.y0 = model.conv2d %s2.x0, %s2.x1, %s2.x2 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 2, 3>, groups = 1 : i64} : (tensor<1x5x5x4xf32>, tensor<1x4x2x3xf32>, tensor<1xf32>) -> tensor<1x3x1x1xf32>
    %s3.y0 = model.conv2d %s3.x0, %s3.x1 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x3x2xf32>, tensor<4x2x3x4xf32>) -> tensor<1x2x1x4xf32>
    %s4.y0 = model.conv2d %s4.x0, %s4.x1, %s4.x2 {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x5x5x4xf32>, tensor<1x4x2x3xf32>, tensor<1xf32>) -> tensor<1x2x2x1xf32>
    %s5.y0 = model.conv2d %s5.x0, %s5.x1, %s5.x2 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xf32>, tensor<4x1x3x3xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32>
    %s6.y0 = model.conv2d %s6.x0, %s6.x1, %s6.x2 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xf32>, tensor<8x1x3x3xf32>, tensor<8xf32>) -> tensor<2x4x4x8xf32>
    %s7.y0 = model.conv2d %s7.x0, %s7.x1 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xf32>, tensor<8x1x3x3xf32>) -> tensor<2x4x4x8xf32>
    %s8.y0 = model.conv2d %s8.x0, %s8.x1, %s8.x2 {stride = array<i64: 3, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xf32>, tensor<4x1x3x3xf32>, tensor<4xf32>) -> tensor<2x2x2x4xf32>
    %s9.y0 = model.conv2d %s9.x0, %s9.x1, %s9.x2 {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xf32>, tensor<4x1x3x3xf32>, tensor<4xf32>) -> tensor<2x6x6x4xf32>
    %s10.y0 = model.conv2d %s10.x0, %s10.x1, %s10.x2 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2, 2>, groups = 4 : i64} : (tensor<2x5x5x4xf32>, tensor<4x1x2x2xf32>, tensor<4xf32>) -> tensor<2x3x3x4xf32>
    %s11.y0 = model.conv2d %s11.x0, %s11.x1, %s11.x2 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x6x5x4xf32>, tensor<6x2x3x2xf32>, tensor<6xf32>) -> tensor<2x4x4x6xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<1x3x3x3xf32>, tensor<2x2x1x2xf32>, tensor<1x3x1x1xf32>, tensor<1x2x1x4xf32>, tensor<1x2x2x1xf32>, tensor<2x4x4x4xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x2x2x4xf32>, tensor<2x6x6x4xf32>, tensor<2x3x3x4xf32>, tensor<2x4x4x6xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<1x4x4x3xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<3x3x3x3xbf16> {model.input = "bf16.s0.x1"},
      %s0.x2: tensor<3xbf16> {model.input = "bf16.s0.x2"},
      %s1.x0: tensor<2x8x8x4xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<2x2x3x3xbf16> {model.input = "bf16.s1.x1"},
      %s1.x2: tensor<2xbf16> {model.input = "bf16.s1.x2"},
      %s2.x0: tensor<1x5x5x4xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<1x4x2x3xbf16> {model.input = "bf16.s2.x1"},
      %s2.x2: tensor<1xbf16> {model.input = "bf16.s2.x2"},
      %s3.x0: tensor<1x4x3x2xbf16> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<4x2x3x4xbf16> {model.input = "bf16.s3.x1"},
      %s4.x0: tensor<1x5x5x4xbf16> {model.input = "bf16.s4.x0"},
      %s4.x1: tensor<1x4x2x3xbf16> {model.input = "bf16.s4.x1"},
      %s4.x2: tensor<1xbf16> {model.input = "bf16.s4.x2"},
      %s5.x0: tensor<2x6x6x4xbf16> {model.input = "bf16.s5.x0"},
      %s5.x1: tensor<4x1x3x3xbf16> {model.input = "bf16.s5.x1"},
      %s5.x2: tensor<4xbf16> {model.input = "bf16.s5.x2"},
      %s6.x0: tensor<2x6x6x4xbf16> {model.input = "bf16.s6.x0"},
      %s6.x1: tensor<8x1x3x3xbf16> {model.input = "bf16.s6.x1"},
      %s6.x2: tensor<8xbf16> {model.input = "bf16.s6.x2"},
      %s7.x0: tensor<2x6x6x4xbf16> {model.input = "bf16.s7.x0"},
      %s7.x1: tensor<8x1x3x3xbf16> {model.input = "bf16.s7.x1"},
      %s8.x0: tensor<2x6x6x4xbf16> {model.input = "bf16.s8.x0"},
      %s8.x1: tensor<4x1x3x3xbf16> {model.input = "bf16.s8.x1"},
      %s8.x2: tensor<4xbf16> {model.input = "bf16.s8.x2"},
      %s9.x0: tensor<2x6x6x4xbf16> {model.input = "bf16.s9.x0"},
      %s9.x1: tensor<4x1x3x3xbf16> {model.input = "bf16.s9.x1"},
      %s9.x2: tensor<4xbf16> {model.input = "bf16.s9.x2"},
      %s10.x0: tensor<2x5x5x4xbf16> {model.input = "bf16.s10.x0"},
      %s10.x1: tensor<4x1x2x2xbf16> {model.input = "bf16.s10.x1"},
      %s10.x2: tensor<4xbf16> {model.input = "bf16.s10.x2"},
      %s11.x0: tensor<2x6x5x4xbf16> {model.input = "bf16.s11.x0"},
      %s11.x1: tensor<6x2x3x2xbf16> {model.input = "bf16.s11.x1"},
      %s11.x2: tensor<6xbf16> {model.input = "bf16.s11.x2"})
   -> (tensor<1x3x3x3xbf16> {model.output = "bf16.s0.y0"},
       tensor<2x2x1x2xbf16> {model.output = "bf16.s1.y0"},
       tensor<1x3x1x1xbf16> {model.output = "bf16.s2.y0"},
       tensor<1x2x1x4xbf16> {model.output = "bf16.s3.y0"},
       tensor<1x2x2x1xbf16> {model.output = "bf16.s4.y0"},
       tensor<2x4x4x4xbf16> {model.output = "bf16.s5.y0"},
       tensor<2x4x4x8xbf16> {model.output = "bf16.s6.y0"},
       tensor<2x4x4x8xbf16> {model.output = "bf16.s7.y0"},
       tensor<2x2x2x4xbf16> {model.output = "bf16.s8.y0"},
       tensor<2x6x6x4xbf16> {model.output = "bf16.s9.y0"},
       tensor<2x3x3x4xbf16> {model.output = "bf16.s10.y0"},
       tensor<2x4x4x6xbf16> {model.output = "bf16.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.conv2d %s0.x0, %s0.x1, %s0.x2 {stride = array<i64: 2, 2>, padding = array<i64: 2, 2>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x4x3xbf16>, tensor<3x3x3x3xbf16>, tensor<3xbf16>) -> tensor<1x3x3x3xbf16>
    %s1.y0 = model.conv2d %s1.x0, %s1.x1, %s1.x2 {stride = array<i64: 3, 2>, padding = array<i64: 2, 1>, dilation = array<i64: 4, 4>, groups = 2 : i64} : (tensor<2x8x8x4xbf16>, tensor<2x2x3x3xbf16>, tensor<2xbf16>) -> tensor<2x2x1x2xbf16>
    %s2.y0 = model.conv2d %s2.x0, %s2.x1, %s2.x2 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 2, 3>, groups = 1 : i64} : (tensor<1x5x5x4xbf16>, tensor<1x4x2x3xbf16>, tensor<1xbf16>) -> tensor<1x3x1x1xbf16>
    %s3.y0 = model.conv2d %s3.x0, %s3.x1 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x3x2xbf16>, tensor<4x2x3x4xbf16>) -> tensor<1x2x1x4xbf16>
    %s4.y0 = model.conv2d %s4.x0, %s4.x1, %s4.x2 {stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x5x5x4xbf16>, tensor<1x4x2x3xbf16>, tensor<1xbf16>) -> tensor<1x2x2x1xbf16>
    %s5.y0 = model.conv2d %s5.x0, %s5.x1, %s5.x2 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xbf16>, tensor<4x1x3x3xbf16>, tensor<4xbf16>) -> tensor<2x4x4x4xbf16>
    %s6.y0 = model.conv2d %s6.x0, %s6.x1, %s6.x2 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xbf16>, tensor<8x1x3x3xbf16>, tensor<8xbf16>) -> tensor<2x4x4x8xbf16>
    %s7.y0 = model.conv2d %s7.x0, %s7.x1 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xbf16>, tensor<8x1x3x3xbf16>) -> tensor<2x4x4x8xbf16>
    %s8.y0 = model.conv2d %s8.x0, %s8.x1, %s8.x2 {stride = array<i64: 3, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xbf16>, tensor<4x1x3x3xbf16>, tensor<4xbf16>) -> tensor<2x2x2x4xbf16>
    %s9.y0 = model.conv2d %s9.x0, %s9.x1, %s9.x2 {stride = array<i64: 1, 1>, padding = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 4 : i64} : (tensor<2x6x6x4xbf16>, tensor<4x1x3x3xbf16>, tensor<4xbf16>) -> tensor<2x6x6x4xbf16>
    %s10.y0 = model.conv2d %s10.x0, %s10.x1, %s10.x2 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 2, 2>, groups = 4 : i64} : (tensor<2x5x5x4xbf16>, tensor<4x1x2x2xbf16>, tensor<4xbf16>) -> tensor<2x3x3x4xbf16>
    %s11.y0 = model.conv2d %s11.x0, %s11.x1, %s11.x2 {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, groups = 2 : i64} : (tensor<2x6x5x4xbf16>, tensor<6x2x3x2xbf16>, tensor<6xbf16>) -> tensor<2x4x4x6xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<1x3x3x3xbf16>, tensor<2x2x1x2xbf16>, tensor<1x3x1x1xbf16>, tensor<1x2x1x4xbf16>, tensor<1x2x2x1xbf16>, tensor<2x4x4x4xbf16>, tensor<2x4x4x8xbf16>, tensor<2x4x4x8xbf16>, tensor<2x2x2x4xbf16>, tensor<2x6x6x4xbf16>, tensor<2x3x3x4xbf16>, tensor<2x4x4x6xbf16>
  }
}
