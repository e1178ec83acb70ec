module attributes {model.name = "reshape"} {
  func.func @f32(
      %s0.x0: tensor<5x5x5xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<25x5xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<50x5xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<5xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<f32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<f32> {model.input = "f32.s5.x0"})
   -> (tensor<25x5xf32> {model.output = "f32.s0.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s1.y0"},
       tensor<5x50xf32> {model.output = "f32.s2.y0"},
       tensor<5xf32> {model.output = "f32.s3.y0"},
       tensor<f32> {model.output = "f32.s4.y0"},
       tensor<1xf32> {model.output = "f32.s5.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.reshape %s0.x0 : (tensor<5x5x5xf32>) -> tensor<25x5xf32>
    %s1.y0 = model.reshape %s1.x0 : (tensor<25x5xf32>) -> tensor<5x5x5xf32>
    %s2.y0 = model.reshape %s2.x0 : (tensor<50x5xf32>) -> tensor<5x50xf32>
    %s3.y0 = model.reshape %s3.x0 : (tensor<5xf32>) -> tensor<5xf32>
    %s4.y0 = model.reshape %s4.x0 : (tensor<f32>) -> tensor<f32>
    %s5.y0 = model.reshape %s5.x0 : (tensor<f32>) -> tensor<1xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0
      : tensor<25x5xf32>, tensor<5x5x5xf32>, tensor<5x50xf32>, tensor<5xf32>, tensor<f32>, tensor<1xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<5x5x5xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<25x5xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<50x5xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<5xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<bf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<bf16> {model.input = "bf16.s5.x0"})
   -> (tensor<25x5xbf16> {model.output = "bf16.s0.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s1.y0"},
       tensor<5x50xbf16> {model.output = "bf16.s2.y0"},
       tensor<5xbf16> {model.output = "bf16.s3.y0"},
       tensor<bf16> {model.output = "bf16.s4.y0"},
       tensor<1xbf16> {model.output = "bf16.s5.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.reshape %s0.x0 : (tensor<5x5x5xbf16>) -> tensor<25x5xbf16>
    %s1.y0 = model.reshape %s1.x0 : (tensor<25x5xbf16>) -> tensor<5x5x5xbf16>
    %s2.y0 = model.reshape %s2.x0 : (tensor<50x5xbf16>) -> tensor<5x50xbf16>
    %s3.y0 = model.reshape %s3.x0 : (tensor<5xbf16>) -> tensor<5xbf16>
    %s4.y0 = model.reshape %s4.x0 : (tensor<bf16>) -> tensor<bf16>
    %s5.y0 = model.reshape %s5.x0 : (tensor<bf16>) -> tensor<1xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0
      : tensor<25x5xbf16>, tensor<5x5x5xbf16>, tensor<5x50xbf16>, tensor<5xbf16>, tensor<bf16>, tensor<1xbf16>
  }
}
