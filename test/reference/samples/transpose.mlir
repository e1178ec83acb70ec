module attributes {model.name = "transpose"} {
  func.func @f32(
      %s0.x0: tensor<1x2x3x4xf32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<f32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<1x2x3x4xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<1x2x3xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<1x2x3xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<1xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<10x10xf32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<5x5x5xf32> {model.input = "f32.s7.x0"})
   -> (tensor<1x3x4x2xf32> {model.output = "f32.s0.y0"},
       tensor<f32> {model.output = "f32.s1.y0"},
       tensor<3x2x4x1xf32> {model.output = "f32.s2.y0"},
       tensor<1x3x2xf32> {model.output = "f32.s3.y0"},
       tensor<1x2x3xf32> {model.output = "f32.s4.y0"},
       tensor<1xf32> {model.output = "f32.s5.y0"},
       tensor<10x10xf32> {model.output = "f32.s6.y0"},
       tensor<5x5x5xf32> {model.output = "f32.s7.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.transpose %s0.x0 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x2x3x4xf32>) -> tensor<1x3x4x2xf32>
    %s1.y0 = model.transpose %s1.x0 {permutation = array<i64>} : (tensor<f32>) -> tensor<f32>
    %s2.y0 = model.transpose %s2.x0 {permutation = array<i64: 2, 1, 3, 0>} : (tensor<1x2x3x4xf32>) -> tensor<3x2x4x1xf32>
    %s3.y0 = model.transpose %s3.x0 {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
    %s4.y0 = model.transpose %s4.x0 {permutation = array<i64: 0, 1, 2>} : (tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
    %s5.y0 = model.transpose %s5.x0 {permutation = array<i64: 0>} : (tensor<1xf32>) -> tensor<1xf32>
    %s6.y0 = model.transpose %s6.x0 {permutation = array<i64: 1, 0>} : (tensor<10x10xf32>) -> tensor<10x10xf32>
    %s7.y0 = model.transpose %s7.x0 {permutation = array<i64: 2, 1, 0>} : (tensor<5x5x5xf32>) -> tensor<5x5x5xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0
      : tensor<1x3x4x2xf32>, tensor<f32>, tensor<3x2x4x1xf32>, tensor<1x3x2xf32>, tensor<1x2x3xf32>, tensor<1xf32>, tensor<10x10xf32>, tensor<5x5x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<1x2x3x4xbf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<bf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<1x2x3x4xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<1x2x3xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<1x2x3xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<1xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<10x10xbf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<5x5x5xbf16> {model.input = "bf16.s7.x0"})
   -> (tensor<1x3x4x2xbf16> {model.output = "bf16.s0.y0"},
       tensor<bf16> {model.output = "bf16.s1.y0"},
       tensor<3x2x4x1xbf16> {model.output = "bf16.s2.y0"},
       tensor<1x3x2xbf16> {model.output = "bf16.s3.y0"},
       tensor<1x2x3xbf16> {model.output = "bf16.s4.y0"},
       tensor<1xbf16> {model.output = "bf16.s5.y0"},
       tensor<10x10xbf16> {model.output = "bf16.s6.y0"},
       tensor<5x5x5xbf16> {model.output = "bf16.s7.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.transpose %s0.x0 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x2x3x4xbf16>) -> tensor<1x3x4x2xbf16>
    %s1.y0 = model.transpose %s1.x0 {permutation = array<i64>} : (tensor<bf16>) -> tensor<bf16>
    %s2.y0 = model.transpose %s2.x0 {permutation = array<i64: 2, 1, 3, 0>} : (tensor<1x2x3x4xbf16>) -> tensor<3x2x4x1xbf16>
    %s3.y0 = model.transpose %s3.x0 {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xbf16>) -> tensor<1x3x2xbf16>
    %s4.y0 = model.transpose %s4.x0 {permutation = array<i64: 0, 1, 2>} : (tensor<1x2x3xbf16>) -> tensor<1x2x3xbf16>
    %s5.y0 = model.transpose %s5.x0 {permutation = array<i64: 0>} : (tensor<1xbf16>) -> tensor<1xbf16>
    %s6.y0 = model.transpose %s6.x0 {permutation = array<i64: 1, 0>} : (tensor<10x10xbf16>) -> tensor<10x10xbf16>
    %s7.y0 = model.transpose %s7.x0 {permutation = array<i64: 2, 1, 0>} : (tensor<5x5x5xbf16>) -> tensor<5x5x5xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0
      : tensor<1x3x4x2xbf16>, tensor<bf16>, tensor<3x2x4x1xbf16>, tensor<1x3x2xbf16>, tensor<1x2x3xbf16>, tensor<1xbf16>, tensor<10x10xbf16>, tensor<5x5x5xbf16>
  }
}
