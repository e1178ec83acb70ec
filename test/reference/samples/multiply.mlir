module attributes {model.name = "multiply"} {
  func.func @f32(
      %s0.x0: tensor<f32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<f32> {model.input = "f32.s0.x1"},
      %s1.x0: tensor<5xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<f32> {model.input = "f32.s1.x1"},
      %s2.x0: tensor<5x1xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<5xf32> {model.input = "f32.s2.x1"},
      %s3.x0: tensor<10x5xf32> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<f32> {model.input = "f32.s3.x1"},
      %s4.x0: tensor<5x10x5xf32> {model.input = "f32.s4.x0"},
      %s4.x1: tensor<10x5xf32> {model.input = "f32.s4.x1"},
      %s5.x0: tensor<5x10x5xf32> {model.input = "f32.s5.x0"},
      %s5.x1: tensor<5x10x5xf32> {model.input = "f32.s5.x1"},
      %s6.x0: tensor<10x1x5xf32> {model.input = "f32.s6.x0"},
      %s6.x1: tensor<10x5xf32> {model.input = "f32.s6.x1"},
      %s7.x0: tensor<10x1x5xf32> {model.input = "f32.s7.x0"},
      %s7.x1: tensor<1x10x5xf32> {model.input = "f32.s7.x1"})
   -> (tensor<f32> {model.output = "f32.s0.y0"},
       tensor<5xf32> {model.output = "f32.s1.y0"},
       tensor<5x5xf32> {model.output = "f32.s2.y0"},
       tensor<10x5xf32> {model.output = "f32.s3.y0"},
       tensor<5x10x5xf32> {model.output = "f32.s4.y0"},
       tensor<5x10x5xf32> {model.output = "f32.s5.y0"},
       tensor<10x10x5xf32> {model.output = "f32.s6.y0"},
       tensor<10x10x5xf32> {model.output = "f32.s7.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.multiply %s0.x0, %s0.x1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %s1.y0 = model.multiply %s1.x0, %s1.x1 : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
    %s2.y0 = model.multiply %s2.x0, %s2.x1 : (tensor<5x1xf32>, tensor<5xf32>) -> tensor<5x5xf32>
    %s3.y0 = model.multiply %s3.x0, %s3.x1 : (tensor<10x5xf32>, tensor<f32>) -> tensor<10x5xf32>
    %s4.y0 = model.multiply %s4.x0, %s4.x1 : (tensor<5x10x5xf32>, tensor<10x5xf32>) -> tensor<5x10x5xf32>
    %s5.y0 = model.multiply %s5.x0, %s5.x1 : (tensor<5x10x5xf32>, tensor<5x10x5xf32>) -> tensor<5x10x5xf32>
    %s6.y0 = model.multiply %s6.x0, %s6.x1 : (tensor<10x1x5xf32>, tensor<10x5xf32>) -> tensor<10x10x5xf32>
    %s7.y0 = model.multiply %s7.x0, %s7.x1 : (tensor<10x1x5xf32>, tensor<1x10x5xf32>) -> tensor<10x10x5xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0
      : tensor<f32>, tensor<5xf32>, tensor<5x5xf32>, tensor<10x5xf32>, tensor<5x10x5xf32>, tensor<5x10x5xf32>, tensor<10x10x5xf32>, tensor<10x10x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<bf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<bf16> {model.input = "bf16.s0.x1"},
      %s1.x0: tensor<5xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<bf16> {model.input = "bf16.s1.x1"},
      %s2.x0: tensor<5x1xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<5xbf16> {model.input = "bf16.s2.x1"},
      %s3.x0: tensor<10x5xbf16> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<bf16> {model.input = "bf16.s3.x1"},
      %s4.x0: tensor<5x10x5xbf16> {model.input = "bf16.s4.x0"},
      %s4.x1: tensor<10x5xbf16> {model.input = "bf16.s4.x1"},
      %s5.x0: tensor<5x10x5xbf16> {model.input = "bf16.s5.x0"},
      %s5.x1: tensor<5x10x5xbf16> {model.input = "bf16.s5.x1"},
      %s6.x0: tensor<10x1x5xbf16> {model.input = "bf16.s6.x0"},
      %s6.x1: tensor<10x5xbf16> {model.input = "bf16.s6.x1"},
      %s7.x0: tensor<10x1x5xbf16> {model.input = "bf16.s7.x0"},
      %s7.x1: tensor<1x10x5xbf16> {model.input = "bf16.s7.x1"})
   -> (tensor<bf16> {model.output = "bf16.s0.y0"},
       tensor<5xbf16> {model.output = "bf16.s1.y0"},
       tensor<5x5xbf16> {model.output = "bf16.s2.y0"},
       tensor<10x5xbf16> {model.output = "bf16.s3.y0"},
       tensor<5x10x5xbf16> {model.output = "bf16.s4.y0"},
       tensor<5x10x5xbf16> {model.output = "bf16.s5.y0"},
       tensor<10x10x5xbf16> {model.output = "bf16.s6.y0"},
       tensor<10x10x5xbf16> {model.output = "bf16.s7.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.multiply %s0.x0, %s0.x1 : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    %s1.y0 = model.multiply %s1.x0, %s1.x1 : (tensor<5xbf16>, tensor<bf16>) -> tensor<5xbf16>
    %s2.y0 = model.multiply %s2.x0, %s2.x1 : (tensor<5x1xbf16>, tensor<5xbf16>) -> tensor<5x5xbf16>
    %s3.y0 = model.multiply %s3.x0, %s3.x1 : (tensor<10x5xbf16>, tensor<bf16>) -> tensor<10x5xbf16>
    %s4.y0 = model.multiply %s4.x0, %s4.x1 : (tensor<5x10x5xbf16>, tensor<10x5xbf16>) -> tensor<5x10x5xbf16>
    %s5.y0 = model.multiply %s5.x0, %s5.x1 : (tensor<5x10x5xbf16>, tensor<5x10x5xbf16>) -> tensor<5x10x5xbf16>
    %s6.y0 = model.multiply %s6.x0, %s6.x1 : (tensor<10x1x5xbf16>, tensor<10x5xbf16>) -> tensor<10x10x5xbf16>
    %s7.y0 = model.multiply %s7.x0, %s7.x1 : (tensor<10x1x5xbf16>, tensor<1x10x5xbf16>) -> tensor<10x10x5xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0
      : tensor<bf16>, tensor<5xbf16>, tensor<5x5xbf16>, tensor<10x5xbf16>, tensor<5x10x5xbf16>, tensor<5x10x5xbf16>, tensor<10x10x5xbf16>, tensor<10x10x5xbf16>
  }
}
