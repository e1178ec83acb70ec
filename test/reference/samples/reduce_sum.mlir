module attributes {model.name = "reduce_sum"} {
  func.func @f32(
      %s0.x0: tensor<2xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<2xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<3x5xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<3x5xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<3x5xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<3x5xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<3x2x1x2xf32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<3x2x1x2xf32> {model.input = "f32.s7.x0"},
      %s8.x0: tensor<3x2x1x2xf32> {model.input = "f32.s8.x0"},
      %s9.x0: tensor<3x2x1x2xf32> {model.input = "f32.s9.x0"},
      %s10.x0: tensor<3x2x1x2xf32> {model.input = "f32.s10.x0"},
      %s11.x0: tensor<3x2x1x2xf32> {model.input = "f32.s11.x0"})
   -> (tensor<f32> {model.output = "f32.s0.y0"},
       tensor<1xf32> {model.output = "f32.s1.y0"},
       tensor<f32> {model.output = "f32.s2.y0"},
       tensor<1x5xf32> {model.output = "f32.s3.y0"},
       tensor<3xf32> {model.output = "f32.s4.y0"},
       tensor<1x1xf32> {model.output = "f32.s5.y0"},
       tensor<f32> {model.output = "f32.s6.y0"},
       tensor<1x2x1x2xf32> {model.output = "f32.s7.y0"},
       tensor<3x2x1xf32> {model.output = "f32.s8.y0"},
       tensor<3x2x1x2xf32> {model.output = "f32.s9.y0"},
       tensor<1x2x1x1xf32> {model.output = "f32.s10.y0"},
       tensor<3x1xf32> {model.output = "f32.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.reduce_sum %s0.x0 {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
    %s1.y0 = model.reduce_sum %s1.x0 {dims = array<i64: 0>, keep} : (tensor<2xf32>) -> tensor<1xf32>
    %s2.y0 = model.reduce_sum %s2.x0 {dims = array<i64: 0, 1>} : (tensor<3x5xf32>) -> tensor<f32>
    %s3.y0 = model.reduce_sum %s3.x0 {dims = array<i64: 0>, keep} : (tensor<3x5xf32>) -> tensor<1x5xf32>
    %s4.y0 = model.reduce_sum %s4.x0 {dims = array<i64: 1>} : (tensor<3x5xf32>) -> tensor<3xf32>
    %s5.y0 = model.reduce_sum %s5.x0 {dims = array<i64: 0, 1>, keep} : (tensor<3x5xf32>) -> tensor<1x1xf32>
    %s6.y0 = model.reduce_sum %s6.x0 {dims = array<i64: 0, 1, 2, 3>} : (tensor<3x2x1x2xf32>) -> tensor<f32>
    %s7.y0 = model.reduce_sum %s7.x0 {dims = array<i64: 0>, keep} : (tensor<3x2x1x2xf32>) -> tensor<1x2x1x2xf32>
    %s8.y0 = model.reduce_sum %s8.x0 {dims = array<i64: 3>} : (tensor<3x2x1x2xf32>) -> tensor<3x2x1xf32>
    %s9.y0 = model.reduce_sum %s9.x0 {dims = array<i64: 2>, keep} : (tensor<3x2x1x2xf32>) -> tensor<3x2x1x2xf32>
    %s10.y0 = model.reduce_sum %s10.x0 {dims = array<i64: 0, 3>, keep} : (tensor<3x2x1x2xf32>) -> tensor<1x2x1x1xf32>
    %s11.y0 = model.reduce_sum %s11.x0 {dims = array<i64: 1, 3>} : (tensor<3x2x1x2xf32>) -> tensor<3x1xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<f32>, tensor<1xf32>, tensor<f32>, tensor<1x5xf32>, tensor<3xf32>, tensor<1x1xf32>, tensor<f32>, tensor<1x2x1x2xf32>, tensor<3x2x1xf32>, tensor<3x2x1x2xf32>, tensor<1x2x1x1xf32>, tensor<3x1xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<2xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<2xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<3x5xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<3x5xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<3x5xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<3x5xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s7.x0"},
      %s8.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s8.x0"},
      %s9.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s9.x0"},
      %s10.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s10.x0"},
      %s11.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s11.x0"})
   -> (tensor<bf16> {model.output = "bf16.s0.y0"},
       tensor<1xbf16> {model.output = "bf16.s1.y0"},
       tensor<bf16> {model.output = "bf16.s2.y0"},
       tensor<1x5xbf16> {model.output = "bf16.s3.y0"},
       tensor<3xbf16> {model.output = "bf16.s4.y0"},
       tensor<1x1xbf16> {model.output = "bf16.s5.y0"},
       tensor<bf16> {model.output = "bf16.s6.y0"},
       tensor<1x2x1x2xbf16> {model.output = "bf16.s7.y0"},
       tensor<3x2x1xbf16> {model.output = "bf16.s8.y0"},
       tensor<3x2x1x2xbf16> {model.output = "bf16.s9.y0"},
       tensor<1x2x1x1xbf16> {model.output = "bf16.s10.y0"},
       tensor<3x1xbf16> {model.output = "bf16.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.reduce_sum %s0.x0 {dims = array<i64: 0>} : (tensor<2xbf16>) -> tensor<bf16>
    %s1.y0 = model.reduce_sum %s1.x0 {dims = array<i64: 0>, keep} : (tensor<2xbf16>) -> tensor<1xbf16>
    %s2.y0 = model.reduce_sum %s2.x0 {dims = array<i64: 0, 1>} : (tensor<3x5xbf16>) -> tensor<bf16>
    %s3.y0 = model.reduce_sum %s3.x0 {dims = array<i64: 0>, keep} : (tensor<3x5xbf16>) -> tensor<1x5xbf16>
    %s4.y0 = model.reduce_sum %s4.x0 {dims = array<i64: 1>} : (tensor<3x5xbf16>) -> tensor<3xbf16>
    %s5.y0 = model.reduce_sum %s5.x0 {dims = array<i64: 0, 1>, keep} : (tensor<3x5xbf16>) -> tensor<1x1xbf16>
    %s6.y0 = model.reduce_sum %s6.x0 {dims = array<i64: 0, 1, 2, 3>} : (tensor<3x2x1x2xbf16>) -> tensor<bf16>
    %s7.y0 = model.reduce_sum %s7.x0 {dims = array<i64: 0>, keep} : (tensor<3x2x1x2xbf16>) -> tensor<1x2x1x2xbf16>
    %s8.y0 = model.reduce_sum %s8.x0 {dims = array<i64: 3>} : (tensor<3x2x1x2xbf16>) -> tensor<3x2x1xbf16>
    %s9.y0 = model.reduce_sum %s9.x0 {dims = array<i64: 2>, keep} : (tensor<3x2x1x2xbf16>) -> tensor<3x2x1x2xbf16>
    %s10.y0 = model.reduce_sum %s10.x0 {dims = array<i64: 0, 3>, keep} : (tensor<3x2x1x2xbf16>) -> tensor<1x2x1x1xbf16>
    %s11.y0 = model.reduce_sum %s11.x0 {dims = array<i64: 1, 3>} : (tensor<3x2x1x2xbf16>) -> tensor<3x1xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<bf16>, tensor<1xbf16>, tensor<bf16>, tensor<1x5xbf16>, tensor<3xbf16>, tensor<1x1xbf16>, tensor<bf16>, tensor<1x2x1x2xbf16>, tensor<3x2x1xbf16>, tensor<3x2x1x2xbf16>, tensor<1x2x1x1xbf16>, tensor<3x1xbf16>
  }
}
