module attributes {model.name = "attention"} {
  func.func @f32(
      %s0.x0: tensor<1x3x4x8xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<1x3x4x8xf32> {model.input = "f32.s0.x1"},
      %s0.x2: tensor<1x3x4x8xf32> {model.input = "f32.s0.x2"},
      %s1.x0: tensor<1x3x4x8xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<1x6x4x8xf32> {model.input = "f32.s1.x1"},
      %s1.x2: tensor<1x6x4x8xf32> {model.input = "f32.s1.x2"},
      %s2.x0: tensor<4x3x4x8xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<4x3x4x8xf32> {model.input = "f32.s2.x1"},
      %s2.x2: tensor<4x3x4x8xf32> {model.input = "f32.s2.x2"},
      %s3.x0: tensor<4x3x4x8xf32> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<4x6x4x8xf32> {model.input = "f32.s3.x1"},
      %s3.x2: tensor<4x6x4x8xf32> {model.input = "f32.s3.x2"})
   -> (tensor<1x3x4x8xf32> {model.output = "f32.s0.y0"},
       tensor<1x3x4x8xf32> {model.output = "f32.s1.y0"},
       tensor<4x3x4x8xf32> {model.output = "f32.s2.y0"},
       tensor<4x3x4x8xf32> {model.output = "f32.s3.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.z0 = model.attention %s0.x0, %s0.x1, %s0.x2 {scale = 3.53553390593273731e-01 : f64, causal} : (tensor<1x3x4x8xf32>, tensor<1x3x4x8xf32>, tensor<1x3x4x8xf32>) -> (tensor<1x3x4x8xf32>, tensor<1x4x3xf32>)
    %s1.y0, %s1.z0 = model.attention %s1.x0, %s1.x1, %s1.x2 {scale = 3.53553390593273731e-01 : f64} : (tensor<1x3x4x8xf32>, tensor<1x6x4x8xf32>, tensor<1x6x4x8xf32>) -> (tensor<1x3x4x8xf32>, tensor<1x4x3xf32>)
    %s2.y0, %s2.z0 = model.attention %s2.x0, %s2.x1, %s2.x2 {scale = 3.53553390593273731e-01 : f64, causal} : (tensor<4x3x4x8xf32>, tensor<4x3x4x8xf32>, tensor<4x3x4x8xf32>) -> (tensor<4x3x4x8xf32>, tensor<4x4x3xf32>)
    %s3.y0, %s3.z0 = model.attention %s3.x0, %s3.x1, %s3.x2 {scale = 3.53553390593273731e-01 : f64} : (tensor<4x3x4x8xf32>, tensor<4x6x4x8xf32>, tensor<4x6x4x8xf32>) -> (tensor<4x3x4x8xf32>, tensor<4x4x3xf32>)
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0
      : tensor<1x3x4x8xf32>, tensor<1x3x4x8xf32>, tensor<4x3x4x8xf32>, tensor<4x3x4x8xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<1x3x4x8xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<1x3x4x8xbf16> {model.input = "bf16.s0.x1"},
      %s0.x2: tensor<1x3x4x8xbf16> {model.input = "bf16.s0.x2"},
      %s1.x0: tensor<1x3x4x8xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<1x6x4x8xbf16> {model.input = "bf16.s1.x1"},
      %s1.x2: tensor<1x6x4x8xbf16> {model.input = "bf16.s1.x2"},
      %s2.x0: tensor<4x3x4x8xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<4x3x4x8xbf16> {model.input = "bf16.s2.x1"},
      %s2.x2: tensor<4x3x4x8xbf16> {model.input = "bf16.s2.x2"},
      %s3.x0: tensor<4x3x4x8xbf16> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<4x6x4x8xbf16> {model.input = "bf16.s3.x1"},
      %s3.x2: tensor<4x6x4x8xbf16> {model.input = "bf16.s3.x2"})
   -> (tensor<1x3x4x8xbf16> {model.output = "bf16.s0.y0"},
       tensor<1x3x4x8xbf16> {model.output = "bf16.s1.y0"},
       tensor<4x3x4x8xbf16> {model.output = "bf16.s2.y0"},
       tensor<4x3x4x8xbf16> {model.output = "bf16.s3.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.z0 = model.attention %s0.x0, %s0.x1, %s0.x2 {scale = 3.53553390593273731e-01 : f64, causal} : (tensor<1x3x4x8xbf16>, tensor<1x3x4x8xbf16>, tensor<1x3x4x8xbf16>) -> (tensor<1x3x4x8xbf16>, tensor<1x4x3xf32>)
    %s1.y0, %s1.z0 = model.attention %s1.x0, %s1.x1, %s1.x2 {scale = 3.53553390593273731e-01 : f64} : (tensor<1x3x4x8xbf16>, tensor<1x6x4x8xbf16>, tensor<1x6x4x8xbf16>) -> (tensor<1x3x4x8xbf16>, tensor<1x4x3xf32>)
    %s2.y0, %s2.z0 = model.attention %s2.x0, %s2.x1, %s2.x2 {scale = 3.53553390593273731e-01 : f64, causal} : (tensor<4x3x4x8xbf16>, tensor<4x3x4x8xbf16>, tensor<4x3x4x8xbf16>) -> (tensor<4x3x4x8xbf16>, tensor<4x4x3xf32>)
    %s3.y0, %s3.z0 = model.attention %s3.x0, %s3.x1, %s3.x2 {scale = 3.53553390593273731e-01 : f64} : (tensor<4x3x4x8xbf16>, tensor<4x6x4x8xbf16>, tensor<4x6x4x8xbf16>) -> (tensor<4x3x4x8xbf16>, tensor<4x4x3xf32>)
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0
      : tensor<1x3x4x8xbf16>, tensor<1x3x4x8xbf16>, tensor<4x3x4x8xbf16>, tensor<4x3x4x8xbf16>
  }
}
