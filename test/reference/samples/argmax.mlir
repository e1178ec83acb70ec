module attributes {model.name = "argmax"} {
  func.func @f32(
      %s0.x0: tensor<2xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<3x5xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<3x5xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<3x2x1x2xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<3x2x1x2xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<3x2x1x2xf32> {model.input = "f32.s5.x0"})
   -> (tensor<i64> {model.output = "f32.s0.y0"},
       tensor<5xi64> {model.output = "f32.s1.y0"},
       tensor<3xi64> {model.output = "f32.s2.y0"},
       tensor<2x1x2xi64> {model.output = "f32.s3.y0"},
       tensor<3x2x1xi64> {model.output = "f32.s4.y0"},
       tensor<3x2x2xi64> {model.output = "f32.s5.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.argmax %s0.x0 {dim = 0 : i64} : (tensor<2xf32>) -> tensor<i64>
    %s1.y0 = model.argmax %s1.x0 {dim = 0 : i64} : (tensor<3x5xf32>) -> tensor<5xi64>
    %s2.y0 = model.argmax %s2.x0 {dim = 1 : i64} : (tensor<3x5xf32>) -> tensor<3xi64>
    %s3.y0 = model.argmax %s3.x0 {dim = 0 : i64} : (tensor<3x2x1x2xf32>) -> tensor<2x1x2xi64>
    %s4.y0 = model.argmax %s4.x0 {dim = 3 : i64} : (tensor<3x2x1x2xf32>) -> tensor<3x2x1xi64>
    %s5.y0 = model.argmax %s5.x0 {dim = 2 : i64} : (tensor<3x2x1x2xf32>) -> tensor<3x2x2xi64>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0
      : tensor<i64>, tensor<5xi64>, tensor<3xi64>, tensor<2x1x2xi64>, tensor<3x2x1xi64>, tensor<3x2x2xi64>
  }
  func.func @bf16(
      %s0.x0: tensor<2xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<3x5xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<3x5xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s5.x0"})
   -> (tensor<i64> {model.output = "bf16.s0.y0"},
       tensor<5xi64> {model.output = "bf16.s1.y0"},
       tensor<3xi64> {model.output = "bf16.s2.y0"},
       tensor<2x1x2xi64> {model.output = "bf16.s3.y0"},
       tensor<3x2x1xi64> {model.output = "bf16.s4.y0"},
       tensor<3x2x2xi64> {model.output = "bf16.s5.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.argmax %s0.x0 {dim = 0 : i64} : (tensor<2xbf16>) -> tensor<i64>
    %s1.y0 = model.argmax %s1.x0 {dim = 0 : i64} : (tensor<3x5xbf16>) -> tensor<5xi64>
    %s2.y0 = model.argmax %s2.x0 {dim = 1 : i64} : (tensor<3x5xbf16>) -> tensor<3xi64>
    %s3.y0 = model.argmax %s3.x0 {dim = 0 : i64} : (tensor<3x2x1x2xbf16>) -> tensor<2x1x2xi64>
    %s4.y0 = model.argmax %s4.x0 {dim = 3 : i64} : (tensor<3x2x1x2xbf16>) -> tensor<3x2x1xi64>
    %s5.y0 = model.argmax %s5.x0 {dim = 2 : i64} : (tensor<3x2x1x2xbf16>) -> tensor<3x2x2xi64>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0
      : tensor<i64>, tensor<5xi64>, tensor<3xi64>, tensor<2x1x2xi64>, tensor<3x2x1xi64>, tensor<3x2x2xi64>
  }
}
