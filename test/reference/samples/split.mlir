module attributes {model.name = "split"} {
  func.func @f32(
      %s0.x0: tensor<5x5x5xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<5x5x5xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<5x5x5xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<5x5x5xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<5x5x5xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<5x5x5xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<5x5x5xf32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<5x5x5xf32> {model.input = "f32.s7.x0"})
   -> (tensor<2x5x5xf32> {model.output = "f32.s0.y0"},
       tensor<2x5x5xf32> {model.output = "f32.s0.y1"},
       tensor<1x5x5xf32> {model.output = "f32.s0.y2"},
       tensor<5x5x5xf32> {model.output = "f32.s1.y0"},
       tensor<1x5x5xf32> {model.output = "f32.s2.y0"},
       tensor<3x5x5xf32> {model.output = "f32.s2.y1"},
       tensor<1x5x5xf32> {model.output = "f32.s2.y2"},
       tensor<5x5x2xf32> {model.output = "f32.s3.y0"},
       tensor<5x5x1xf32> {model.output = "f32.s3.y1"},
       tensor<5x5x2xf32> {model.output = "f32.s3.y2"},
       tensor<5x2x5xf32> {model.output = "f32.s4.y0"},
       tensor<5x1x5xf32> {model.output = "f32.s4.y1"},
       tensor<5x2x5xf32> {model.output = "f32.s4.y2"},
       tensor<1x5x5xf32> {model.output = "f32.s5.y0"},
       tensor<3x5x5xf32> {model.output = "f32.s5.y1"},
       tensor<1x5x5xf32> {model.output = "f32.s5.y2"},
       tensor<5x5x1xf32> {model.output = "f32.s6.y0"},
       tensor<5x5x3xf32> {model.output = "f32.s6.y1"},
       tensor<5x5x1xf32> {model.output = "f32.s6.y2"},
       tensor<5x1x5xf32> {model.output = "f32.s7.y0"},
       tensor<5x3x5xf32> {model.output = "f32.s7.y1"},
       tensor<5x1x5xf32> {model.output = "f32.s7.y2"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.y1, %s0.y2 = model.split %s0.x0 {dim = 0 : i64} : (tensor<5x5x5xf32>) -> (tensor<2x5x5xf32>, tensor<2x5x5xf32>, tensor<1x5x5xf32>)
    %s1.y0 = model.split %s1.x0 {dim = 1 : i64} : (tensor<5x5x5xf32>) -> tensor<5x5x5xf32>
    %s2.y0, %s2.y1, %s2.y2 = model.split %s2.x0 {dim = 0 : i64} : (tensor<5x5x5xf32>) -> (tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>)
    %s3.y0, %s3.y1, %s3.y2 = model.split %s3.x0 {dim = 2 : i64} : (tensor<5x5x5xf32>) -> (tensor<5x5x2xf32>, tensor<5x5x1xf32>, tensor<5x5x2xf32>)
    %s4.y0, %s4.y1, %s4.y2 = model.split %s4.x0 {dim = 1 : i64} : (tensor<5x5x5xf32>) -> (tensor<5x2x5xf32>, tensor<5x1x5xf32>, tensor<5x2x5xf32>)
    %s5.y0, %s5.y1, %s5.y2 = model.split %s5.x0 {dim = 0 : i64} : (tensor<5x5x5xf32>) -> (tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>)
    %s6.y0, %s6.y1, %s6.y2 = model.split %s6.x0 {dim = 2 : i64} : (tensor<5x5x5xf32>) -> (tensor<5x5x1xf32>, tensor<5x5x3xf32>, tensor<5x5x1xf32>)
    %s7.y0, %s7.y1, %s7.y2 = model.split %s7.x0 {dim = 1 : i64} : (tensor<5x5x5xf32>) -> (tensor<5x1x5xf32>, tensor<5x3x5xf32>, tensor<5x1x5xf32>)
    return %s0.y0, %s0.y1, %s0.y2, %s1.y0, %s2.y0, %s2.y1, %s2.y2, %s3.y0, %s3.y1, %s3.y2, %s4.y0, %s4.y1, %s4.y2, %s5.y0, %s5.y1, %s5.y2, %s6.y0, %s6.y1, %s6.y2, %s7.y0, %s7.y1, %s7.y2
      : tensor<2x5x5xf32>, tensor<2x5x5xf32>, tensor<1x5x5xf32>, tensor<5x5x5xf32>, tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>, tensor<5x5x2xf32>, tensor<5x5x1xf32>, tensor<5x5x2xf32>, tensor<5x2x5xf32>, tensor<5x1x5xf32>, tensor<5x2x5xf32>, tensor<1x5x5xf32>, tensor<3x5x5xf32>, tensor<1x5x5xf32>, tensor<5x5x1xf32>, tensor<5x5x3xf32>, tensor<5x5x1xf32>, tensor<5x1x5xf32>, tensor<5x3x5xf32>, tensor<5x1x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<5x5x5xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<5x5x5xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<5x5x5xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<5x5x5xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<5x5x5xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<5x5x5xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<5x5x5xbf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<5x5x5xbf16> {model.input = "bf16.s7.x0"})
   -> (tensor<2x5x5xbf16> {model.output = "bf16.s0.y0"},
       tensor<2x5x5xbf16> {model.output = "bf16.s0.y1"},
       tensor<1x5x5xbf16> {model.output = "bf16.s0.y2"},
       tensor<5x5x5xbf16> {model.output = "bf16.s1.y0"},
       tensor<1x5x5xbf16> {model.output = "bf16.s2.y0"},
       tensor<3x5x5xbf16> {model.output = "bf16.s2.y1"},
       tensor<1x5x5xbf16> {model.output = "bf16.s2.y2"},
       tensor<5x5x2xbf16> {model.output = "bf16.s3.y0"},
       tensor<5x5x1xbf16> {model.output = "bf16.s3.y1"},
       tensor<5x5x2xbf16> {model.output = "bf16.s3.y2"},
       tensor<5x2x5xbf16> {model.output = "bf16.s4.y0"},
       tensor<5x1x5xbf16> {model.output = "bf16.s4.y1"},
       tensor<5x2x5xbf16> {model.output = "bf16.s4.y2"},
       tensor<1x5x5xbf16> {model.output = "bf16.s5.y0"},
       tensor<3x5x5xbf16> {model.output = "bf16.s5.y1"},
       tensor<1x5x5xbf16> {model.output = "bf16.s5.y2"},
       tensor<5x5x1xbf16> {model.output = "bf16.s6.y0"},
       tensor<5x5x3xbf16> {model.output = "bf16.s6.y1"},
       tensor<5x5x1xbf16> {model.output = "bf16.s6.y2"},
       tensor<5x1x5xbf16> {model.output = "bf16.s7.y0"},
       tensor<5x3x5xbf16> {model.output = "bf16.s7.y1"},
       tensor<5x1x5xbf16> {model.output = "bf16.s7.y2"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.y1, %s0.y2 = model.split %s0.x0 {dim = 0 : i64} : (tensor<5x5x5xbf16>) -> (tensor<2x5x5xbf16>, tensor<2x5x5xbf16>, tensor<1x5x5xbf16>)
    %s1.y0 = model.split %s1.x0 {dim = 1 : i64} : (tensor<5x5x5xbf16>) -> tensor<5x5x5xbf16>
    %s2.y0, %s2.y1, %s2.y2 = model.split %s2.x0 {dim = 0 : i64} : (tensor<5x5x5xbf16>) -> (tensor<1x5x5xbf16>, tensor<3x5x5xbf16>, tensor<1x5x5xbf16>)
    %s3.y0, %s3.y1, %s3.y2 = model.split %s3.x0 {dim = 2 : i64} : (tensor<5x5x5xbf16>) -> (tensor<5x5x2xbf16>, tensor<5x5x1xbf16>, tensor<5x5x2xbf16>)
    %s4.y0, %s4.y1, %s4.y2 = model.split %s4.x0 {dim = 1 : i64} : (tensor<5x5x5xbf16>) -> (tensor<5x2x5xbf16>, tensor<5x1x5xbf16>, tensor<5x2x5xbf16>)
    %s5.y0, %s5.y1, %s5.y2 = model.split %s5.x0 {dim = 0 : i64} : (tensor<5x5x5xbf16>) -> (tensor<1x5x5xbf16>, tensor<3x5x5xbf16>, tensor<1x5x5xbf16>)
    %s6.y0, %s6.y1, %s6.y2 = model.split %s6.x0 {dim = 2 : i64} : (tensor<5x5x5xbf16>) -> (tensor<5x5x1xbf16>, tensor<5x5x3xbf16>, tensor<5x5x1xbf16>)
    %s7.y0, %s7.y1, %s7.y2 = model.split %s7.x0 {dim = 1 : i64} : (tensor<5x5x5xbf16>) -> (tensor<5x1x5xbf16>, tensor<5x3x5xbf16>, tensor<5x1x5xbf16>)
    return %s0.y0, %s0.y1, %s0.y2, %s1.y0, %s2.y0, %s2.y1, %s2.y2, %s3.y0, %s3.y1, %s3.y2, %s4.y0, %s4.y1, %s4.y2, %s5.y0, %s5.y1, %s5.y2, %s6.y0, %s6.y1, %s6.y2, %s7.y0, %s7.y1, %s7.y2
      : tensor<2x5x5xbf16>, tensor<2x5x5xbf16>, tensor<1x5x5xbf16>, tensor<5x5x5xbf16>, tensor<1x5x5xbf16>, tensor<3x5x5xbf16>, tensor<1x5x5xbf16>, tensor<5x5x2xbf16>, tensor<5x5x1xbf16>, tensor<5x5x2xbf16>, tensor<5x2x5xbf16>, tensor<5x1x5xbf16>, tensor<5x2x5xbf16>, tensor<1x5x5xbf16>, tensor<3x5x5xbf16>, tensor<1x5x5xbf16>, tensor<5x5x1xbf16>, tensor<5x5x3xbf16>, tensor<5x5x1xbf16>, tensor<5x1x5xbf16>, tensor<5x3x5xbf16>, tensor<5x1x5xbf16>
  }
}
