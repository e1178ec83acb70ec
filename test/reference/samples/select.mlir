module attributes {model.name = "select"} {
  func.func @f32(
      %s0.x0: tensor<10x10xui8> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<10x10xf32> {model.input = "f32.s0.x1"},
      %s0.x2: tensor<10x10xf32> {model.input = "f32.s0.x2"},
      %s1.x0: tensor<10x10xui8> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<10x1x10xf32> {model.input = "f32.s1.x1"},
      %s1.x2: tensor<10x10x1xf32> {model.input = "f32.s1.x2"},
      %s2.x0: tensor<ui8> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<f32> {model.input = "f32.s2.x1"},
      %s2.x2: tensor<f32> {model.input = "f32.s2.x2"},
      %s3.x0: tensor<ui8> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<10x1x10xf32> {model.input = "f32.s3.x1"},
      %s3.x2: tensor<10x10x1xf32> {model.input = "f32.s3.x2"},
      %s4.x0: tensor<10x10xui8> {model.input = "f32.s4.x0"},
      %s4.x1: tensor<f32> {model.input = "f32.s4.x1"},
      %s4.x2: tensor<f32> {model.input = "f32.s4.x2"},
      %s5.x0: tensor<2xui8> {model.input = "f32.s5.x0"},
      %s5.x1: tensor<f32> {model.input = "f32.s5.x1"},
      %s5.x2: tensor<1x1xf32> {model.input = "f32.s5.x2"})
   -> (tensor<10x10xf32> {model.output = "f32.s0.y0"},
       tensor<10x10x10xf32> {model.output = "f32.s1.y0"},
       tensor<f32> {model.output = "f32.s2.y0"},
       tensor<10x10x10xf32> {model.output = "f32.s3.y0"},
       tensor<10x10xf32> {model.output = "f32.s4.y0"},
       tensor<1x2xf32> {model.output = "f32.s5.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.select %s0.x0, %s0.x1, %s0.x2 : (tensor<10x10xui8>, tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
    %s1.y0 = model.select %s1.x0, %s1.x1, %s1.x2 : (tensor<10x10xui8>, tensor<10x1x10xf32>, tensor<10x10x1xf32>) -> tensor<10x10x10xf32>
    %s2.y0 = model.select %s2.x0, %s2.x1, %s2.x2 : (tensor<ui8>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %s3.y0 = model.select %s3.x0, %s3.x1, %s3.x2 : (tensor<ui8>, tensor<10x1x10xf32>, tensor<10x10x1xf32>) -> tensor<10x10x10xf32>
    %s4.y0 = model.select %s4.x0, %s4.x1, %s4.x2 : (tensor<10x10xui8>, tensor<f32>, tensor<f32>) -> tensor<10x10xf32>
    %s5.y0 = model.select %s5.x0, %s5.x1, %s5.x2 : (tensor<2xui8>, tensor<f32>, tensor<1x1xf32>) -> tensor<1x2xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0
      : tensor<10x10xf32>, tensor<10x10x10xf32>, tensor<f32>, tensor<10x10x10xf32>, tensor<10x10xf32>, tensor<1x2xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<10x10xui8> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<10x10xbf16> {model.input = "bf16.s0.x1"},
      %s0.x2: tensor<10x10xbf16> {model.input = "bf16.s0.x2"},
      %s1.x0: tensor<10x10xui8> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<10x1x10xbf16> {model.input = "bf16.s1.x1"},
      %s1.x2: tensor<10x10x1xbf16> {model.input = "bf16.s1.x2"},
      %s2.x0: tensor<ui8> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<bf16> {model.input = "bf16.s2.x1"},
      %s2.x2: tensor<bf16> {model.input = "bf16.s2.x2"},
      %s3.x0: tensor<ui8> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<10x1x10xbf16> {model.input = "bf16.s3.x1"},
      %s3.x2: tensor<10x10x1xbf16> {model.input = "bf16.s3.x2"},
      %s4.x0: tensor<10x10xui8> {model.input = "bf16.s4.x0"},
      %s4.x1: tensor<bf16> {model.input = "bf16.s4.x1"},
      %s4.x2: tensor<bf16> {model.input = "bf16.s4.x2"},
      %s5.x0: tensor<2xui8> {model.input = "bf16.s5.x0"},
      %s5.x1: tensor<bf16> {model.input = "bf16.s5.x1"},
      %s5.x2: tensor<1x1xbf16> {model.input = "bf16.s5.x2"})
   -> (tensor<10x10xbf16> {model.output = "bf16.s0.y0"},
       tensor<10x10x10xbf16> {model.output = "bf16.s1.y0"},
       tensor<bf16> {model.output = "bf16.s2.y0"},
       tensor<10x10x10xbf16> {model.output = "bf16.s3.y0"},
       tensor<10x10xbf16> {model.output = "bf16.s4.y0"},
       tensor<1x2xbf16> {model.output = "bf16.s5.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.select %s0.x0, %s0.x1, %s0.x2 : (tensor<10x10xui8>, tensor<10x10xbf16>, tensor<10x10xbf16>) -> tensor<10x10xbf16>
    %s1.y0 = model.select %s1.x0, %s1.x1, %s1.x2 : (tensor<10x10xui8>, tensor<10x1x10xbf16>, tensor<10x10x1xbf16>) -> tensor<10x10x10xbf16>
    %s2.y0 = model.select %s2.x0, %s2.x1, %s2.x2 : (tensor<ui8>, tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    %s3.y0 = model.select %s3.x0, %s3.x1, %s3.x2 : (tensor<ui8>, tensor<10x1x10xbf16>, tensor<10x10x1xbf16>) -> tensor<10x10x10xbf16>
    %s4.y0 = model.select %s4.x0, %s4.x1, %s4.x2 : (tensor<10x10xui8>, tensor<bf16>, tensor<bf16>) -> tensor<10x10xbf16>
    %s5.y0 = model.select %s5.x0, %s5.x1, %s5.x2 : (tensor<2xui8>, tensor<bf16>, tensor<1x1xbf16>) -> tensor<1x2xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0
      : tensor<10x10xbf16>, tensor<10x10x10xbf16>, tensor<bf16>, tensor<10x10x10xbf16>, tensor<10x10xbf16>, tensor<1x2xbf16>
  }
}
