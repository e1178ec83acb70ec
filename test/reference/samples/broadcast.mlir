module attributes {model.name = "broadcast"} {
  func.func @f32(
      %s0.x0: tensor<5x1x1xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<5x1x5xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<5x1xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<1xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<1x5xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<f32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<f32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<5x1x1xf32> {model.input = "f32.s7.x0"},
      %s8.x0: tensor<5x1x5xf32> {model.input = "f32.s8.x0"},
      %s9.x0: tensor<5x1xf32> {model.input = "f32.s9.x0"},
      %s10.x0: tensor<1xf32> {model.input = "f32.s10.x0"},
      %s11.x0: tensor<1x5xf32> {model.input = "f32.s11.x0"},
      %s12.x0: tensor<f32> {model.input = "f32.s12.x0"},
      %s13.x0: tensor<f32> {model.input = "f32.s13.x0"})
   -> (tensor<5x5x5xf32> {model.output = "f32.s0.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s1.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s2.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s3.y0"},
       tensor<1x1x5xf32> {model.output = "f32.s4.y0"},
       tensor<f32> {model.output = "f32.s5.y0"},
       tensor<1x3x2xf32> {model.output = "f32.s6.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s7.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s8.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s9.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s10.y0"},
       tensor<1x1x5xf32> {model.output = "f32.s11.y0"},
       tensor<f32> {model.output = "f32.s12.y0"},
       tensor<1x3x2xf32> {model.output = "f32.s13.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.broadcast %s0.x0 : (tensor<5x1x1xf32>) -> tensor<5x5x5xf32>
    %s1.y0 = model.broadcast %s1.x0 : (tensor<5x1x5xf32>) -> tensor<5x5x5xf32>
    %s2.y0 = model.broadcast %s2.x0 : (tensor<5x1xf32>) -> tensor<5x5x5xf32>
    %s3.y0 = model.broadcast %s3.x0 : (tensor<1xf32>) -> tensor<5x5x5xf32>
    %s4.y0 = model.broadcast %s4.x0 : (tensor<1x5xf32>) -> tensor<1x1x5xf32>
    %s5.y0 = model.broadcast %s5.x0 : (tensor<f32>) -> tensor<f32>
    %s6.y0 = model.broadcast %s6.x0 : (tensor<f32>) -> tensor<1x3x2xf32>
    %s7.y0 = model.broadcast %s7.x0 : (tensor<5x1x1xf32>) -> tensor<5x5x5xf32>
    %s8.y0 = model.broadcast %s8.x0 : (tensor<5x1x5xf32>) -> tensor<5x5x5xf32>
    %s9.y0 = model.broadcast %s9.x0 : (tensor<5x1xf32>) -> tensor<5x5x5xf32>
    %s10.y0 = model.broadcast %s10.x0 : (tensor<1xf32>) -> tensor<5x5x5xf32>
    %s11.y0 = model.broadcast %s11.x0 : (tensor<1x5xf32>) -> tensor<1x1x5xf32>
    %s12.y0 = model.broadcast %s12.x0 : (tensor<f32>) -> tensor<f32>
    %s13.y0 = model.broadcast %s13.x0 : (tensor<f32>) -> tensor<1x3x2xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0, %s12.y0, %s13.y0
      : tensor<5x5x5xf32>, tensor<5x5x5xf32>, tensor<5x5x5xf32>, tensor<5x5x5xf32>, tensor<1x1x5xf32>, tensor<f32>, tensor<1x3x2xf32>, tensor<5x5x5xf32>, tensor<5x5x5xf32>, tensor<5x5x5xf32>, tensor<5x5x5xf32>, tensor<1x1x5xf32>, tensor<f32>, tensor<1x3x2xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<5x1x1xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<5x1x5xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<5x1xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<1xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<1x5xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<bf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<bf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<5x1x1xbf16> {model.input = "bf16.s7.x0"},
      %s8.x0: tensor<5x1x5xbf16> {model.input = "bf16.s8.x0"},
      %s9.x0: tensor<5x1xbf16> {model.input = "bf16.s9.x0"},
      %s10.x0: tensor<1xbf16> {model.input = "bf16.s10.x0"},
      %s11.x0: tensor<1x5xbf16> {model.input = "bf16.s11.x0"},
      %s12.x0: tensor<bf16> {model.input = "bf16.s12.x0"},
      %s13.x0: tensor<bf16> {model.input = "bf16.s13.x0"})
   -> (tensor<5x5x5xbf16> {model.output = "bf16.s0.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s1.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s2.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s3.y0"},
       tensor<1x1x5xbf16> {model.output = "bf16.s4.y0"},
       tensor<bf16> {model.output = "bf16.s5.y0"},
       tensor<1x3x2xbf16> {model.output = "bf16.s6.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s7.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s8.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s9.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s10.y0"},
       tensor<1x1x5xbf16> {model.output = "bf16.s11.y0"},
       tensor<bf16> {model.output = "bf16.s12.y0"},
       tensor<1x3x2xbf16> {model.output = "bf16.s13.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.broadcast %s0.x0 : (tensor<5x1x1xbf16>) -> tensor<5x5x5xbf16>
    %s1.y0 = model.broadcast %s1.x0 : (tensor<5x1x5xbf16>) -> tensor<5x5x5xbf16>
    %s2.y0 = model.broadcast %s2.x0 : (tensor<5x1xbf16>) -> tensor<5x5x5xbf16>
    %s3.y0 = model.broadcast %s3.x0 : (tensor<1xbf16>) -> tensor<5x5x5xbf16>
    %s4.y0 = model.broadcast %s4.x0 : (tensor<1x5xbf16>) -> tensor<1x1x5xbf16>
    %s5.y0 = model.broadcast %s5.x0 : (tensor<bf16>) -> tensor<bf16>
    %s6.y0 = model.broadcast %s6.x0 : (tensor<bf16>) -> tensor<1x3x2xbf16>
    %s7.y0 = model.broadcast %s7.x0 : (tensor<5x1x1xbf16>) -> tensor<5x5x5xbf16>
    %s8.y0 = model.broadcast %s8.x0 : (tensor<5x1x5xbf16>) -> tensor<5x5x5xbf16>
    %s9.y0 = model.broadcast %s9.x0 : (tensor<5x1xbf16>) -> tensor<5x5x5xbf16>
    %s10.y0 = model.broadcast %s10.x0 : (tensor<1xbf16>) -> tensor<5x5x5xbf16>
    %s11.y0 = model.broadcast %s11.x0 : (tensor<1x5xbf16>) -> tensor<1x1x5xbf16>
    %s12.y0 = model.broadcast %s12.x0 : (tensor<bf16>) -> tensor<bf16>
    %s13.y0 = model.broadcast %s13.x0 : (tensor<bf16>) -> tensor<1x3x2xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0, %s12.y0, %s13.y0
      : tensor<5x5x5xbf16>, tensor<5x5x5xbf16>, tensor<5x5x5xbf16>, tensor<5x5x5xbf16>, tensor<1x1x5xbf16>, tensor<bf16>, tensor<1x3x2xbf16>, tensor<5x5x5xbf16>, tensor<5x5x5xbf16>, tensor<5x5x5xbf16>, tensor<5x5x5xbf16>, tensor<1x1x5xbf16>, tensor<bf16>, tensor<1x3x2xbf16>
  }
}
