module attributes {model.name = "slice"} {
  func.func @f32(
      %s0.x0: tensor<3xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<5x5x5xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<5x5x5xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<5x5x5xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<5x5x5xf32> {model.input = "f32.s4.x0"})
   -> (tensor<3xf32> {model.output = "f32.s0.y0"},
       tensor<5x2x5xf32> {model.output = "f32.s1.y0"},
       tensor<5x5x2xf32> {model.output = "f32.s2.y0"},
       tensor<5x5x2xf32> {model.output = "f32.s3.y0"},
       tensor<3x5x5xf32> {model.output = "f32.s4.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.slice %s0.x0 {start = array<i64: 0>, limit = array<i64: 3>, step = array<i64: 1>} : (tensor<3xf32>) -> tensor<3xf32>
    %s1.y0 = model.slice %s1.x0 {start = array<i64: 0, 2, 0>, limit = array<i64: 5, 4, 5>, step = array<i64: 1, 1, 1>} : (tensor<5x5x5xf32>) -> tensor<5x2x5xf32>
    %s2.y0 = model.slice %s2.x0 {start = array<i64: 0, 0, 2>, limit = array<i64: 5, 5, 4>, step = array<i64: 1, 1, 1>} : (tensor<5x5x5xf32>) -> tensor<5x5x2xf32>
    %s3.y0 = model.slice %s3.x0 {start = array<i64: 0, 0, 1>, limit = array<i64: 5, 5, 3>, step = array<i64: 1, 1, 1>} : (tensor<5x5x5xf32>) -> tensor<5x5x2xf32>
    %s4.y0 = model.slice %s4.x0 {start = array<i64: 0, 0, 0>, limit = array<i64: 3, 5, 5>, step = array<i64: 1, 1, 1>} : (tensor<5x5x5xf32>) -> tensor<3x5x5xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0
      : tensor<3xf32>, tensor<5x2x5xf32>, tensor<5x5x2xf32>, tensor<5x5x2xf32>, tensor<3x5x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<3xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<5x5x5xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<5x5x5xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<5x5x5xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<5x5x5xbf16> {model.input = "bf16.s4.x0"})
   -> (tensor<3xbf16> {model.output = "bf16.s0.y0"},
       tensor<5x2x5xbf16> {model.output = "bf16.s1.y0"},
       tensor<5x5x2xbf16> {model.output = "bf16.s2.y0"},
       tensor<5x5x2xbf16> {model.output = "bf16.s3.y0"},
       tensor<3x5x5xbf16> {model.output = "bf16.s4.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.slice %s0.x0 {start = array<i64: 0>, limit = array<i64: 3>, step = array<i64: 1>} : (tensor<3xbf16>) -> tensor<3xbf16>
    %s1.y0 = model.slice %s1.x0 {start = array<i64: 0, 2, 0>, limit = array<i64: 5, 4, 5>, step = array<i64: 1, 1, 1>} : (tensor<5x5x5xbf16>) -> tensor<5x2x5xbf16>
    %s2.y0 = model.slice %s2.x0 {start = array<i64: 0, 0, 2>, limit = array<i64: 5, 5, 4>, step = array<i64: 1, 1, 1>} : (tensor<5x5x5xbf16>) -> tensor<5x5x2xbf16>
    %s3.y0 = model.slice %s3.x0 {start = array<i64: 0, 0, 1>, limit = array<i64: 5, 5, 3>, step = array<i64: 1, 1, 1>} : (tensor<5x5x5xbf16>) -> tensor<5x5x2xbf16>
    %s4.y0 = model.slice %s4.x0 {start = array<i64: 0, 0, 0>, limit = array<i64: 3, 5, 5>, step = array<i64: 1, 1, 1>} : (tensor<5x5x5xbf16>) -> tensor<3x5x5xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0
      : tensor<3xbf16>, tensor<5x2x5xbf16>, tensor<5x5x2xbf16>, tensor<5x5x2xbf16>, tensor<3x5x5xbf16>
  }
}
