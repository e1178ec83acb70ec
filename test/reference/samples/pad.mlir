module attributes {model.name = "pad"} {
  func.func @f32(
      %s0.x0: tensor<1x3x3xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<1x3xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<1x3x3xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<1x3x3xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<3x3x5x5xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<1x3x3x3x3xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<1x3x3x3x3xf32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<1x3xf32> {model.input = "f32.s7.x0"},
      %s8.x0: tensor<1x3x3xf32> {model.input = "f32.s8.x0"},
      %s9.x0: tensor<3x3x5x5xf32> {model.input = "f32.s9.x0"},
      %s10.x0: tensor<3x3x5x5xf32> {model.input = "f32.s10.x0"},
      %s11.x0: tensor<1x3x3x3x3xf32> {model.input = "f32.s11.x0"})
   -> (tensor<1x3x7xf32> {model.output = "f32.s0.y0"},
       tensor<1x4xf32> {model.output = "f32.s1.y0"},
       tensor<1x3x4xf32> {model.output = "f32.s2.y0"},
       tensor<3x5x5xf32> {model.output = "f32.s3.y0"},
       tensor<3x3x6x7xf32> {model.output = "f32.s4.y0"},
       tensor<1x3x3x3x6xf32> {model.output = "f32.s5.y0"},
       tensor<1x3x5x5x5xf32> {model.output = "f32.s6.y0"},
       tensor<2x5xf32> {model.output = "f32.s7.y0"},
       tensor<1x3x4xf32> {model.output = "f32.s8.y0"},
       tensor<3x3x5x8xf32> {model.output = "f32.s9.y0"},
       tensor<3x3x6x7xf32> {model.output = "f32.s10.y0"},
       tensor<1x3x3x3x4xf32> {model.output = "f32.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.pad %s0.x0 {low = array<i64: 0, 0, 2>, high = array<i64: 0, 0, 2>, step = array<i64: 1, 1, 1>, value = 0.00000000000000000e+00 : f64} : (tensor<1x3x3xf32>) -> tensor<1x3x7xf32>
    %s1.y0 = model.pad %s1.x0 {low = array<i64: 0, 0>, high = array<i64: 0, 1>, step = array<i64: 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3xf32>) -> tensor<1x4xf32>
    %s2.y0 = model.pad %s2.x0 {low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 1>, step = array<i64: 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3x3xf32>) -> tensor<1x3x4xf32>
    %s3.y0 = model.pad %s3.x0 {low = array<i64: 1, 1, 1>, high = array<i64: 1, 1, 1>, step = array<i64: 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3x3xf32>) -> tensor<3x5x5xf32>
    %s4.y0 = model.pad %s4.x0 {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 1, 2>, step = array<i64: 1, 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<3x3x5x5xf32>) -> tensor<3x3x6x7xf32>
    %s5.y0 = model.pad %s5.x0 {low = array<i64: 0, 0, 0, 0, 1>, high = array<i64: 0, 0, 0, 0, 2>, step = array<i64: 1, 1, 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3x3x3x3xf32>) -> tensor<1x3x3x3x6xf32>
    %s6.y0 = model.pad %s6.x0 {low = array<i64: 0, 0, 1, 1, 1>, high = array<i64: 0, 0, 1, 1, 1>, step = array<i64: 1, 1, 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3x3x3x3xf32>) -> tensor<1x3x5x5x5xf32>
    %s7.y0 = model.pad %s7.x0 {low = array<i64: 0, 0>, high = array<i64: 1, 2>, step = array<i64: 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<1x3xf32>) -> tensor<2x5xf32>
    %s8.y0 = model.pad %s8.x0 {low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 1>, step = array<i64: 1, 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<1x3x3xf32>) -> tensor<1x3x4xf32>
    %s9.y0 = model.pad %s9.x0 {low = array<i64: 0, 0, 0, 1>, high = array<i64: 0, 0, 0, 2>, step = array<i64: 1, 1, 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<3x3x5x5xf32>) -> tensor<3x3x5x8xf32>
    %s10.y0 = model.pad %s10.x0 {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 1, 2>, step = array<i64: 1, 1, 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<3x3x5x5xf32>) -> tensor<3x3x6x7xf32>
    %s11.y0 = model.pad %s11.x0 {low = array<i64: 0, 0, 0, 0, 0>, high = array<i64: 0, 0, 0, 0, 1>, step = array<i64: 1, 1, 1, 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<1x3x3x3x3xf32>) -> tensor<1x3x3x3x4xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<1x3x7xf32>, tensor<1x4xf32>, tensor<1x3x4xf32>, tensor<3x5x5xf32>, tensor<3x3x6x7xf32>, tensor<1x3x3x3x6xf32>, tensor<1x3x5x5x5xf32>, tensor<2x5xf32>, tensor<1x3x4xf32>, tensor<3x3x5x8xf32>, tensor<3x3x6x7xf32>, tensor<1x3x3x3x4xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<1x3x3xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<1x3xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<1x3x3xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<1x3x3xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<3x3x5x5xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<1x3x3x3x3xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<1x3x3x3x3xbf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<1x3xbf16> {model.input = "bf16.s7.x0"},
      %s8.x0: tensor<1x3x3xbf16> {model.input = "bf16.s8.x0"},
      %s9.x0: tensor<3x3x5x5xbf16> {model.input = "bf16.s9.x0"},
      %s10.x0: tensor<3x3x5x5xbf16> {model.input = "bf16.s10.x0"},
      %s11.x0: tensor<1x3x3x3x3xbf16> {model.input = "bf16.s11.x0"})
   -> (tensor<1x3x7xbf16> {model.output = "bf16.s0.y0"},
       tensor<1x4xbf16> {model.output = "bf16.s1.y0"},
       tensor<1x3x4xbf16> {model.output = "bf16.s2.y0"},
       tensor<3x5x5xbf16> {model.output = "bf16.s3.y0"},
       tensor<3x3x6x7xbf16> {model.output = "bf16.s4.y0"},
       tensor<1x3x3x3x6xbf16> {model.output = "bf16.s5.y0"},
       tensor<1x3x5x5x5xbf16> {model.output = "bf16.s6.y0"},
       tensor<2x5xbf16> {model.output = "bf16.s7.y0"},
       tensor<1x3x4xbf16> {model.output = "bf16.s8.y0"},
       tensor<3x3x5x8xbf16> {model.output = "bf16.s9.y0"},
       tensor<3x3x6x7xbf16> {model.output = "bf16.s10.y0"},
       tensor<1x3x3x3x4xbf16> {model.output = "bf16.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.pad %s0.x0 {low = array<i64: 0, 0, 2>, high = array<i64: 0, 0, 2>, step = array<i64: 1, 1, 1>, value = 0.00000000000000000e+00 : f64} : (tensor<1x3x3xbf16>) -> tensor<1x3x7xbf16>
    %s1.y0 = model.pad %s1.x0 {low = array<i64: 0, 0>, high = array<i64: 0, 1>, step = array<i64: 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3xbf16>) -> tensor<1x4xbf16>
    %s2.y0 = model.pad %s2.x0 {low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 1>, step = array<i64: 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3x3xbf16>) -> tensor<1x3x4xbf16>
    %s3.y0 = model.pad %s3.x0 {low = array<i64: 1, 1, 1>, high = array<i64: 1, 1, 1>, step = array<i64: 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3x3xbf16>) -> tensor<3x5x5xbf16>
    %s4.y0 = model.pad %s4.x0 {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 1, 2>, step = array<i64: 1, 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<3x3x5x5xbf16>) -> tensor<3x3x6x7xbf16>
    %s5.y0 = model.pad %s5.x0 {low = array<i64: 0, 0, 0, 0, 1>, high = array<i64: 0, 0, 0, 0, 2>, step = array<i64: 1, 1, 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3x3x3x3xbf16>) -> tensor<1x3x3x3x6xbf16>
    %s6.y0 = model.pad %s6.x0 {low = array<i64: 0, 0, 1, 1, 1>, high = array<i64: 0, 0, 1, 1, 1>, step = array<i64: 1, 1, 1, 1, 1>, value = 1.00000000000000000e+00 : f64} : (tensor<1x3x3x3x3xbf16>) -> tensor<1x3x5x5x5xbf16>
    %s7.y0 = model.pad %s7.x0 {low = array<i64: 0, 0>, high = array<i64: 1, 2>, step = array<i64: 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<1x3xbf16>) -> tensor<2x5xbf16>
    %s8.y0 = model.pad %s8.x0 {low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 1>, step = array<i64: 1, 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<1x3x3xbf16>) -> tensor<1x3x4xbf16>
    %s9.y0 = model.pad %s9.x0 {low = array<i64: 0, 0, 0, 1>, high = array<i64: 0, 0, 0, 2>, step = array<i64: 1, 1, 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<3x3x5x5xbf16>) -> tensor<3x3x5x8xbf16>
    %s10.y0 = model.pad %s10.x0 {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 1, 2>, step = array<i64: 1, 1, 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<3x3x5x5xbf16>) -> tensor<3x3x6x7xbf16>
    %s11.y0 = model.pad %s11.x0 {low = array<i64: 0, 0, 0, 0, 0>, high = array<i64: 0, 0, 0, 0, 1>, step = array<i64: 1, 1, 1, 1, 1>, value = 2.00000000000000000e+00 : f64} : (tensor<1x3x3x3x3xbf16>) -> tensor<1x3x3x3x4xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<1x3x7xbf16>, tensor<1x4xbf16>, tensor<1x3x4xbf16>, tensor<3x5x5xbf16>, tensor<3x3x6x7xbf16>, tensor<1x3x3x3x6xbf16>, tensor<1x3x5x5x5xbf16>, tensor<2x5xbf16>, tensor<1x3x4xbf16>, tensor<3x3x5x8xbf16>, tensor<3x3x6x7xbf16>, tensor<1x3x3x3x4xbf16>
  }
}
