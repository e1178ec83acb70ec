module attributes {model.name = "take_along"} {
  func.func @f32(
      %s0.x0: tensor<10x5xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<5x5xi32> {model.input = "f32.s0.x1"},
      %s1.x0: tensor<10x5xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<10x2xi32> {model.input = "f32.s1.x1"},
      %s2.x0: tensor<5x5xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<5x5xi32> {model.input = "f32.s2.x1"})
   -> (tensor<5x5xf32> {model.output = "f32.s0.y0"},
       tensor<10x2xf32> {model.output = "f32.s1.y0"},
       tensor<5x5xf32> {model.output = "f32.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.take_along %s0.x0, %s0.x1 {dim = 0 : i64} : (tensor<10x5xf32>, tensor<5x5xi32>) -> tensor<5x5xf32>
    %s1.y0 = model.take_along %s1.x0, %s1.x1 {dim = 1 : i64} : (tensor<10x5xf32>, tensor<10x2xi32>) -> tensor<10x2xf32>
    %s2.y0 = model.take_along %s2.x0, %s2.x1 {dim = 0 : i64} : (tensor<5x5xf32>, tensor<5x5xi32>) -> tensor<5x5xf32>
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<5x5xf32>, tensor<10x2xf32>, tensor<5x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<10x5xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<5x5xi32> {model.input = "bf16.s0.x1"},
      %s1.x0: tensor<10x5xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<10x2xi32> {model.input = "bf16.s1.x1"},
      %s2.x0: tensor<5x5xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<5x5xi32> {model.input = "bf16.s2.x1"})
   -> (tensor<5x5xbf16> {model.output = "bf16.s0.y0"},
       tensor<10x2xbf16> {model.output = "bf16.s1.y0"},
       tensor<5x5xbf16> {model.output = "bf16.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.take_along %s0.x0, %s0.x1 {dim = 0 : i64} : (tensor<10x5xbf16>, tensor<5x5xi32>) -> tensor<5x5xbf16>
    %s1.y0 = model.take_along %s1.x0, %s1.x1 {dim = 1 : i64} : (tensor<10x5xbf16>, tensor<10x2xi32>) -> tensor<10x2xbf16>
    %s2.y0 = model.take_along %s2.x0, %s2.x1 {dim = 0 : i64} : (tensor<5x5xbf16>, tensor<5x5xi32>) -> tensor<5x5xbf16>
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<5x5xbf16>, tensor<10x2xbf16>, tensor<5x5xbf16>
  }
}
