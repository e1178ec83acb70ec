module attributes {model.name = "concat"} {
  func.func @f32(
      %s0.x0: tensor<5x5xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<5x5xf32> {model.input = "f32.s0.x1"},
      %s1.x0: tensor<10x5xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<5x5xf32> {model.input = "f32.s1.x1"},
      %s2.x0: tensor<1x2x3xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<1x2x3xf32> {model.input = "f32.s2.x1"},
      %s3.x0: tensor<1xf32> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<1xf32> {model.input = "f32.s3.x1"},
      %s4.x0: tensor<2x2x2x2xf32> {model.input = "f32.s4.x0"})
   -> (tensor<5x10xf32> {model.output = "f32.s0.y0"},
       tensor<15x5xf32> {model.output = "f32.s1.y0"},
       tensor<1x4x3xf32> {model.output = "f32.s2.y0"},
       tensor<2xf32> {model.output = "f32.s3.y0"},
       tensor<2x2x2x2xf32> {model.output = "f32.s4.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.concat %s0.x0, %s0.x1 {dim = 1 : i64} : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x10xf32>
    %s1.y0 = model.concat %s1.x0, %s1.x1 {dim = 0 : i64} : (tensor<10x5xf32>, tensor<5x5xf32>) -> tensor<15x5xf32>
    %s2.y0 = model.concat %s2.x0, %s2.x1 {dim = 1 : i64} : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x4x3xf32>
    %s3.y0 = model.concat %s3.x0, %s3.x1 {dim = 0 : i64} : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
    %s4.y0 = model.concat %s4.x0 {dim = 1 : i64} : (tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0
      : tensor<5x10xf32>, tensor<15x5xf32>, tensor<1x4x3xf32>, tensor<2xf32>, tensor<2x2x2x2xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<5x5xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<5x5xbf16> {model.input = "bf16.s0.x1"},
      %s1.x0: tensor<10x5xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<5x5xbf16> {model.input = "bf16.s1.x1"},
      %s2.x0: tensor<1x2x3xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<1x2x3xbf16> {model.input = "bf16.s2.x1"},
      %s3.x0: tensor<1xbf16> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<1xbf16> {model.input = "bf16.s3.x1"},
      %s4.x0: tensor<2x2x2x2xbf16> {model.input = "bf16.s4.x0"})
   -> (tensor<5x10xbf16> {model.output = "bf16.s0.y0"},
       tensor<15x5xbf16> {model.output = "bf16.s1.y0"},
       tensor<1x4x3xbf16> {model.output = "bf16.s2.y0"},
       tensor<2xbf16> {model.output = "bf16.s3.y0"},
       tensor<2x2x2x2xbf16> {model.output = "bf16.s4.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.concat %s0.x0, %s0.x1 {dim = 1 : i64} : (tensor<5x5xbf16>, tensor<5x5xbf16>) -> tensor<5x10xbf16>
    %s1.y0 = model.concat %s1.x0, %s1.x1 {dim = 0 : i64} : (tensor<10x5xbf16>, tensor<5x5xbf16>) -> tensor<15x5xbf16>
    %s2.y0 = model.concat %s2.x0, %s2.x1 {dim = 1 : i64} : (tensor<1x2x3xbf16>, tensor<1x2x3xbf16>) -> tensor<1x4x3xbf16>
    %s3.y0 = model.concat %s3.x0, %s3.x1 {dim = 0 : i64} : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<2xbf16>
    %s4.y0 = model.concat %s4.x0 {dim = 1 : i64} : (tensor<2x2x2x2xbf16>) -> tensor<2x2x2x2xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0
      : tensor<5x10xbf16>, tensor<15x5xbf16>, tensor<1x4x3xbf16>, tensor<2xbf16>, tensor<2x2x2x2xbf16>
  }
}
