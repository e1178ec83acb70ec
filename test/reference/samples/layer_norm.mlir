module attributes {model.name = "layer_norm"} {
  func.func @f32(
      %s0.x0: tensor<6xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<6xf32> {model.input = "f32.s0.x1"},
      %s0.x2: tensor<6xf32> {model.input = "f32.s0.x2"},
      %s1.x0: tensor<2x6xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<6xf32> {model.input = "f32.s1.x1"},
      %s1.x2: tensor<6xf32> {model.input = "f32.s1.x2"},
      %s2.x0: tensor<1x2xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<2xf32> {model.input = "f32.s2.x1"},
      %s2.x2: tensor<2xf32> {model.input = "f32.s2.x2"})
   -> (tensor<6xf32> {model.output = "f32.s0.y0"},
       tensor<2x6xf32> {model.output = "f32.s1.y0"},
       tensor<1x2xf32> {model.output = "f32.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.z0, %s0.z1 = model.layer_norm %s0.x0, %s0.x1, %s0.x2 {epsilon = 5.00000000000000000e-01 : f64} : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<f32>, tensor<f32>)
    %s1.y0, %s1.z0, %s1.z1 = model.layer_norm %s1.x0, %s1.x1, %s1.x2 {epsilon = -5.00000000000000000e-01 : f64} : (tensor<2x6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<2x6xf32>, tensor<2xf32>, tensor<2xf32>)
    %s2.y0, %s2.z0, %s2.z1 = model.layer_norm %s2.x0, %s2.x1, %s2.x2 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x2xf32>, tensor<1xf32>, tensor<1xf32>)
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<6xf32>, tensor<2x6xf32>, tensor<1x2xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<6xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<6xbf16> {model.input = "bf16.s0.x1"},
      %s0.x2: tensor<6xbf16> {model.input = "bf16.s0.x2"},
      %s1.x0: tensor<2x6xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<6xbf16> {model.input = "bf16.s1.x1"},
      %s1.x2: tensor<6xbf16> {model.input = "bf16.s1.x2"},
      %s2.x0: tensor<1x2xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<2xbf16> {model.input = "bf16.s2.x1"},
      %s2.x2: tensor<2xbf16> {model.input = "bf16.s2.x2"})
   -> (tensor<6xbf16> {model.output = "bf16.s0.y0"},
       tensor<2x6xbf16> {model.output = "bf16.s1.y0"},
       tensor<1x2xbf16> {model.output = "bf16.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.z0, %s0.z1 = model.layer_norm %s0.x0, %s0.x1, %s0.x2 {epsilon = 5.00000000000000000e-01 : f64} : (tensor<6xbf16>, tensor<6xbf16>, tensor<6xbf16>) -> (tensor<6xbf16>, tensor<f32>, tensor<f32>)
    %s1.y0, %s1.z0, %s1.z1 = model.layer_norm %s1.x0, %s1.x1, %s1.x2 {epsilon = -5.00000000000000000e-01 : f64} : (tensor<2x6xbf16>, tensor<6xbf16>, tensor<6xbf16>) -> (tensor<2x6xbf16>, tensor<2xf32>, tensor<2xf32>)
    %s2.y0, %s2.z0, %s2.z1 = model.layer_norm %s2.x0, %s2.x1, %s2.x2 {epsilon = 1.00000000000000008e-05 : f64} : (tensor<1x2xbf16>, tensor<2xbf16>, tensor<2xbf16>) -> (tensor<1x2xbf16>, tensor<1xf32>, tensor<1xf32>)
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<6xbf16>, tensor<2x6xbf16>, tensor<1x2xbf16>
  }
}
