module attributes {model.name = "silu"} {
  func.func @f32(
      %s0.x0: tensor<20xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<f32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<256xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<100xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<3x1x3xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<3x1x7xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<3x5x7xf32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<5x6x2xf32> {model.input = "f32.s7.x0"},
      %s8.x0: tensor<5x5x4xf32> {model.input = "f32.s8.x0"},
      %s9.x0: tensor<5x5x2xf32> {model.input = "f32.s9.x0"},
      %s10.x0: tensor<9x5x2xf32> {model.input = "f32.s10.x0"})
   -> (tensor<20xf32> {model.output = "f32.s0.y0"},
       tensor<f32> {model.output = "f32.s1.y0"},
       tensor<256xf32> {model.output = "f32.s2.y0"},
       tensor<100xf32> {model.output = "f32.s3.y0"},
       tensor<3x1x3xf32> {model.output = "f32.s4.y0"},
       tensor<3x1x7xf32> {model.output = "f32.s5.y0"},
       tensor<3x5x7xf32> {model.output = "f32.s6.y0"},
       tensor<5x6x2xf32> {model.output = "f32.s7.y0"},
       tensor<5x5x4xf32> {model.output = "f32.s8.y0"},
       tensor<5x5x2xf32> {model.output = "f32.s9.y0"},
       tensor<9x5x2xf32> {model.output = "f32.s10.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.silu %s0.x0 : (tensor<20xf32>) -> tensor<20xf32>
    %s1.y0 = model.silu %s1.x0 : (tensor<f32>) -> tensor<f32>
    %s2.y0 = model.silu %s2.x0 : (tensor<256xf32>) -> tensor<256xf32>
    %s3.y0 = model.silu %s3.x0 : (tensor<100xf32>) -> tensor<100xf32>
    %s4.y0 = model.silu %s4.x0 : (tensor<3x1x3xf32>) -> tensor<3x1x3xf32>
    %s5.y0 = model.silu %s5.x0 : (tensor<3x1x7xf32>) -> tensor<3x1x7xf32>
    %s6.y0 = model.silu %s6.x0 : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
    %s7.y0 = model.silu %s7.x0 : (tensor<5x6x2xf32>) -> tensor<5x6x2xf32>
    %s8.y0 = model.silu %s8.x0 : (tensor<5x5x4xf32>) -> tensor<5x5x4xf32>
    %s9.y0 = model.silu %s9.x0 : (tensor<5x5x2xf32>) -> tensor<5x5x2xf32>
    %s10.y0 = model.silu %s10.x0 : (tensor<9x5x2xf32>) -> tensor<9x5x2xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0
      : tensor<20xf32>, tensor<f32>, tensor<256xf32>, tensor<100xf32>, tensor<3x1x3xf32>, tensor<3x1x7xf32>, tensor<3x5x7xf32>, tensor<5x6x2xf32>, tensor<5x5x4xf32>, tensor<5x5x2xf32>, tensor<9x5x2xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<20xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<bf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<256xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<100xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<3x1x3xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<3x1x7xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<3x5x7xbf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<5x6x2xbf16> {model.input = "bf16.s7.x0"},
      %s8.x0: tensor<5x5x4xbf16> {model.input = "bf16.s8.x0"},
      %s9.x0: tensor<5x5x2xbf16> {model.input = "bf16.s9.x0"},
      %s10.x0: tensor<9x5x2xbf16> {model.input = "bf16.s10.x0"})
   -> (tensor<20xbf16> {model.output = "bf16.s0.y0"},
       tensor<bf16> {model.output = "bf16.s1.y0"},
       tensor<256xbf16> {model.output = "bf16.s2.y0"},
       tensor<100xbf16> {model.output = "bf16.s3.y0"},
       tensor<3x1x3xbf16> {model.output = "bf16.s4.y0"},
       tensor<3x1x7xbf16> {model.output = "bf16.s5.y0"},
       tensor<3x5x7xbf16> {model.output = "bf16.s6.y0"},
       tensor<5x6x2xbf16> {model.output = "bf16.s7.y0"},
       tensor<5x5x4xbf16> {model.output = "bf16.s8.y0"},
       tensor<5x5x2xbf16> {model.output = "bf16.s9.y0"},
       tensor<9x5x2xbf16> {model.output = "bf16.s10.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.silu %s0.x0 : (tensor<20xbf16>) -> tensor<20xbf16>
    %s1.y0 = model.silu %s1.x0 : (tensor<bf16>) -> tensor<bf16>
    %s2.y0 = model.silu %s2.x0 : (tensor<256xbf16>) -> tensor<256xbf16>
    %s3.y0 = model.silu %s3.x0 : (tensor<100xbf16>) -> tensor<100xbf16>
    %s4.y0 = model.silu %s4.x0 : (tensor<3x1x3xbf16>) -> tensor<3x1x3xbf16>
    %s5.y0 = model.silu %s5.x0 : (tensor<3x1x7xbf16>) -> tensor<3x1x7xbf16>
    %s6.y0 = model.silu %s6.x0 : (tensor<3x5x7xbf16>) -> tensor<3x5x7xbf16>
    %s7.y0 = model.silu %s7.x0 : (tensor<5x6x2xbf16>) -> tensor<5x6x2xbf16>
    %s8.y0 = model.silu %s8.x0 : (tensor<5x5x4xbf16>) -> tensor<5x5x4xbf16>
    %s9.y0 = model.silu %s9.x0 : (tensor<5x5x2xbf16>) -> tensor<5x5x2xbf16>
    %s10.y0 = model.silu %s10.x0 : (tensor<9x5x2xbf16>) -> tensor<9x5x2xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0
      : tensor<20xbf16>, tensor<bf16>, tensor<256xbf16>, tensor<100xbf16>, tensor<3x1x3xbf16>, tensor<3x1x7xbf16>, tensor<3x5x7xbf16>, tensor<5x6x2xbf16>, tensor<5x5x4xbf16>, tensor<5x5x2xbf16>, tensor<9x5x2xbf16>
  }
}
