module attributes {model.name = "cast"} {
  func.func @f32(
      %s0.x0: tensor<f32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<2x3xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<f32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<2x3xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<f32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<2x3xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<f32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<2x3xf32> {model.input = "f32.s7.x0"})
   -> (tensor<bf16> {model.output = "f32.s0.y0"},
       tensor<2x3xbf16> {model.output = "f32.s1.y0"},
       tensor<f64> {model.output = "f32.s2.y0"},
       tensor<2x3xf64> {model.output = "f32.s3.y0"},
       tensor<i32> {model.output = "f32.s4.y0"},
       tensor<2x3xi32> {model.output = "f32.s5.y0"},
       tensor<ui8> {model.output = "f32.s6.y0"},
       tensor<2x3xui8> {model.output = "f32.s7.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.cast %s0.x0 : (tensor<f32>) -> tensor<bf16>
    %s1.y0 = model.cast %s1.x0 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %s2.y0 = model.cast %s2.x0 : (tensor<f32>) -> tensor<f64>
    %s3.y0 = model.cast %s3.x0 : (tensor<2x3xf32>) -> tensor<2x3xf64>
    %s4.y0 = model.cast %s4.x0 : (tensor<f32>) -> tensor<i32>
    %s5.y0 = model.cast %s5.x0 : (tensor<2x3xf32>) -> tensor<2x3xi32>
    %s6.y0 = model.cast %s6.x0 : (tensor<f32>) -> tensor<ui8>
    %s7.y0 = model.cast %s7.x0 : (tensor<2x3xf32>) -> tensor<2x3xui8>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0
      : tensor<bf16>, tensor<2x3xbf16>, tensor<f64>, tensor<2x3xf64>, tensor<i32>, tensor<2x3xi32>, tensor<ui8>, tensor<2x3xui8>
  }
  func.func @bf16(
      %s0.x0: tensor<bf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<2x3xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<bf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<2x3xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<bf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<2x3xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<bf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<2x3xbf16> {model.input = "bf16.s7.x0"})
   -> (tensor<f32> {model.output = "bf16.s0.y0"},
       tensor<2x3xf32> {model.output = "bf16.s1.y0"},
       tensor<f64> {model.output = "bf16.s2.y0"},
       tensor<2x3xf64> {model.output = "bf16.s3.y0"},
       tensor<i32> {model.output = "bf16.s4.y0"},
       tensor<2x3xi32> {model.output = "bf16.s5.y0"},
       tensor<ui8> {model.output = "bf16.s6.y0"},
       tensor<2x3xui8> {model.output = "bf16.s7.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.cast %s0.x0 : (tensor<bf16>) -> tensor<f32>
    %s1.y0 = model.cast %s1.x0 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    %s2.y0 = model.cast %s2.x0 : (tensor<bf16>) -> tensor<f64>
    %s3.y0 = model.cast %s3.x0 : (tensor<2x3xbf16>) -> tensor<2x3xf64>
    %s4.y0 = model.cast %s4.x0 : (tensor<bf16>) -> tensor<i32>
    %s5.y0 = model.cast %s5.x0 : (tensor<2x3xbf16>) -> tensor<2x3xi32>
    %s6.y0 = model.cast %s6.x0 : (tensor<bf16>) -> tensor<ui8>
    %s7.y0 = model.cast %s7.x0 : (tensor<2x3xbf16>) -> tensor<2x3xui8>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0
      : tensor<f32>, tensor<2x3xf32>, tensor<f64>, tensor<2x3xf64>, tensor<i32>, tensor<2x3xi32>, tensor<ui8>, tensor<2x3xui8>
  }
}
