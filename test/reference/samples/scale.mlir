module attributes {model.name = "scale"} {
  func.func @f32(
      %s0.x0: tensor<f32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<5xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<10x5xf32> {model.input = "f32.s2.x0"})
   -> (tensor<f32> {model.output = "f32.s0.y0"},
       tensor<5xf32> {model.output = "f32.s1.y0"},
       tensor<10x5xf32> {model.output = "f32.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.scale %s0.x0 {factor = -1.76582586765289307e+00 : f64} : (tensor<f32>) -> tensor<f32>
    %s1.y0 = model.scale %s1.x0 {factor = 3.61160516738891602e+00 : f64} : (tensor<5xf32>) -> tensor<5xf32>
    %s2.y0 = model.scale %s2.x0 {factor = 4.55046939849853516e+00 : f64} : (tensor<10x5xf32>) -> tensor<10x5xf32>
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<f32>, tensor<5xf32>, tensor<10x5xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<bf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<5xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<10x5xbf16> {model.input = "bf16.s2.x0"})
   -> (tensor<bf16> {model.output = "bf16.s0.y0"},
       tensor<5xbf16> {model.output = "bf16.s1.y0"},
       tensor<10x5xbf16> {model.output = "bf16.s2.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.scale %s0.x0 {factor = -1.76562500000000000e+00 : f64} : (tensor<bf16>) -> tensor<bf16>
    %s1.y0 = model.scale %s1.x0 {factor = 3.60937500000000000e+00 : f64} : (tensor<5xbf16>) -> tensor<5xbf16>
    %s2.y0 = model.scale %s2.x0 {factor = 4.56250000000000000e+00 : f64} : (tensor<10x5xbf16>) -> tensor<10x5xbf16>
    return %s0.y0, %s1.y0, %s2.y0
      : tensor<bf16>, tensor<5xbf16>, tensor<10x5xbf16>
  }
}
