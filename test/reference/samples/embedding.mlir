module attributes {model.name = "embedding"} {
  func.func @f32(
      %s0.x0: tensor<10x5xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<i32> {model.input = "f32.s0.x1"},
      %s1.x0: tensor<10x5xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<5xi32> {model.input = "f32.s1.x1"},
      %s2.x0: tensor<10x5xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<5x5xi32> {model.input = "f32.s2.x1"},
      %s3.x0: tensor<5x5xf32> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<2x2xi32> {model.input = "f32.s3.x1"},
      %s4.x0: tensor<5x5xf32> {model.input = "f32.s4.x0"},
      %s4.x1: tensor<2x2xi32> {model.input = "f32.s4.x1"})
   -> (tensor<5xf32> {model.output = "f32.s0.y0"},
       tensor<5x5xf32> {model.output = "f32.s1.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s2.y0"},
       tensor<2x2x5xf32> {model.output = "f32.s3.y0"},
       tensor<2x2x5xf32> {model.output = "f32.s4.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.embedding %s0.x0, %s0.x1 : (tensor<10x5xf32>, tensor<i32>) -> tensor<5xf32>
    %s1.y0 = model.embedding %s1.x0, %s1.x1 : (tensor<10x5xf32>, tensor<5xi32>) -> tensor<5x5xf32>
    %s2.y0 = model.embedding %s2.x0, %s2.x1 : (tensor<10x5xf32>, tensor<5x5xi32>) -> tensor<5x5x5xf32>
    %s3.y0 = model.embedding %s3.x0, %s3.x1 {padding = 2 : i64} : (tensor<5x5xf32>, tensor<2x2xi32>) -> tensor<2x2x5xf32>
    %s4.y0 = model.embedding %s4.x0, %s4.x1 {padding = 4 : i64} : (tensor<5x5xf32>, tensor<2x2xi32>) -> tensor<2x2x5xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0
      : tensor<5xf32>, tensor<5x5xf32>, tensor<5x5x5xf32>, tensor<2x2x5xf32>, tensor<2x2x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<10x5xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<i32> {model.input = "bf16.s0.x1"},
      %s1.x0: tensor<10x5xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<5xi32> {model.input = "bf16.s1.x1"},
      %s2.x0: tensor<10x5xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<5x5xi32> {model.input = "bf16.s2.x1"},
      %s3.x0: tensor<5x5xbf16> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<2x2xi32> {model.input = "bf16.s3.x1"},
      %s4.x0: tensor<5x5xbf16> {model.input = "bf16.s4.x0"},
      %s4.x1: tensor<2x2xi32> {model.input = "bf16.s4.x1"})
   -> (tensor<5xbf16> {model.output = "bf16.s0.y0"},
       tensor<5x5xbf16> {model.output = "bf16.s1.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s2.y0"},
       tensor<2x2x5xbf16> {model.output = "bf16.s3.y0"},
       tensor<2x2x5xbf16> {model.output = "bf16.s4.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.embedding %s0.x0, %s0.x1 : (tensor<10x5xbf16>, tensor<i32>) -> tensor<5xbf16>
    %s1.y0 = model.embedding %s1.x0, %s1.x1 : (tensor<10x5xbf16>, tensor<5xi32>) -> tensor<5x5xbf16>
    %s2.y0 = model.embedding %s2.x0, %s2.x1 : (tensor<10x5xbf16>, tensor<5x5xi32>) -> tensor<5x5x5xbf16>
    %s3.y0 = model.embedding %s3.x0, %s3.x1 {padding = 2 : i64} : (tensor<5x5xbf16>, tensor<2x2xi32>) -> tensor<2x2x5xbf16>
    %s4.y0 = model.embedding %s4.x0, %s4.x1 {padding = 4 : i64} : (tensor<5x5xbf16>, tensor<2x2xi32>) -> tensor<2x2x5xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0
      : tensor<5xbf16>, tensor<5x5xbf16>, tensor<5x5x5xbf16>, tensor<2x2x5xbf16>, tensor<2x2x5xbf16>
  }
}
