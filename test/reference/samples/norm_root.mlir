module attributes {model.name = "norm_root"} {
  func.func @f32(
      %s0.x0: tensor<f32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<f32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<f32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<2xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<2xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<2xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<3x5xf32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<3x5xf32> {model.input = "f32.s7.x0"},
      %s8.x0: tensor<3x5xf32> {model.input = "f32.s8.x0"},
      %s9.x0: tensor<3x2x1x2xf32> {model.input = "f32.s9.x0"},
      %s10.x0: tensor<3x2x1x2xf32> {model.input = "f32.s10.x0"},
      %s11.x0: tensor<3x2x1x2xf32> {model.input = "f32.s11.x0"})
   -> (tensor<f32> {model.output = "f32.s0.y0"},
       tensor<f32> {model.output = "f32.s1.y0"},
       tensor<f32> {model.output = "f32.s2.y0"},
       tensor<f32> {model.output = "f32.s3.y0"},
       tensor<f32> {model.output = "f32.s4.y0"},
       tensor<f32> {model.output = "f32.s5.y0"},
       tensor<f32> {model.output = "f32.s6.y0"},
       tensor<f32> {model.output = "f32.s7.y0"},
       tensor<f32> {model.output = "f32.s8.y0"},
       tensor<f32> {model.output = "f32.s9.y0"},
       tensor<f32> {model.output = "f32.s10.y0"},
       tensor<f32> {model.output = "f32.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.z0 = model.power_sum %s0.x0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s0.y0 = model.norm_root %s0.z0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s1.z0 = model.power_sum %s1.x0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s1.y0 = model.norm_root %s1.z0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s2.z0 = model.power_sum %s2.x0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s2.y0 = model.norm_root %s2.z0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s3.z0 = model.power_sum %s3.x0 {p = 6.0 : f64} : (tensor<2xf32>) -> tensor<f32>
    %s3.y0 = model.norm_root %s3.z0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s4.z0 = model.power_sum %s4.x0 {p = 4.0 : f64} : (tensor<2xf32>) -> tensor<f32>
    %s4.y0 = model.norm_root %s4.z0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s5.z0 = model.power_sum %s5.x0 {p = 1.0 : f64} : (tensor<2xf32>) -> tensor<f32>
    %s5.y0 = model.norm_root %s5.z0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s6.z0 = model.power_sum %s6.x0 {p = 6.0 : f64} : (tensor<3x5xf32>) -> tensor<f32>
    %s6.y0 = model.norm_root %s6.z0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s7.z0 = model.power_sum %s7.x0 {p = 4.0 : f64} : (tensor<3x5xf32>) -> tensor<f32>
    %s7.y0 = model.norm_root %s7.z0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s8.z0 = model.power_sum %s8.x0 {p = 1.0 : f64} : (tensor<3x5xf32>) -> tensor<f32>
    %s8.y0 = model.norm_root %s8.z0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s9.z0 = model.power_sum %s9.x0 {p = 6.0 : f64} : (tensor<3x2x1x2xf32>) -> tensor<f32>
    %s9.y0 = model.norm_root %s9.z0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s10.z0 = model.power_sum %s10.x0 {p = 4.0 : f64} : (tensor<3x2x1x2xf32>) -> tensor<f32>
    %s10.y0 = model.norm_root %s10.z0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s11.z0 = model.power_sum %s11.x0 {p = 1.0 : f64} : (tensor<3x2x1x2xf32>) -> tensor<f32>
    %s11.y0 = model.norm_root %s11.z0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func @bf16(
      %s0.x0: tensor<bf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<bf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<bf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<2xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<2xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<2xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<3x5xbf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<3x5xbf16> {model.input = "bf16.s7.x0"},
      %s8.x0: tensor<3x5xbf16> {model.input = "bf16.s8.x0"},
      %s9.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s9.x0"},
      %s10.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s10.x0"},
      %s11.x0: tensor<3x2x1x2xbf16> {model.input = "bf16.s11.x0"})
   -> (tensor<f32> {model.output = "bf16.s0.y0"},
       tensor<f32> {model.output = "bf16.s1.y0"},
       tensor<f32> {model.output = "bf16.s2.y0"},
       tensor<f32> {model.output = "bf16.s3.y0"},
       tensor<f32> {model.output = "bf16.s4.y0"},
       tensor<f32> {model.output = "bf16.s5.y0"},
       tensor<f32> {model.output = "bf16.s6.y0"},
       tensor<f32> {model.output = "bf16.s7.y0"},
       tensor<f32> {model.output = "bf16.s8.y0"},
       tensor<f32> {model.output = "bf16.s9.y0"},
       tensor<f32> {model.output = "bf16.s10.y0"},
       tensor<f32> {model.output = "bf16.s11.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.z0 = model.power_sum %s0.x0 {p = 6.0 : f64} : (tensor<bf16>) -> tensor<f32>
    %s0.y0 = model.norm_root %s0.z0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s1.z0 = model.power_sum %s1.x0 {p = 4.0 : f64} : (tensor<bf16>) -> tensor<f32>
    %s1.y0 = model.norm_root %s1.z0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s2.z0 = model.power_sum %s2.x0 {p = 1.0 : f64} : (tensor<bf16>) -> tensor<f32>
    %s2.y0 = model.norm_root %s2.z0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s3.z0 = model.power_sum %s3.x0 {p = 6.0 : f64} : (tensor<2xbf16>) -> tensor<f32>
    %s3.y0 = model.norm_root %s3.z0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s4.z0 = model.power_sum %s4.x0 {p = 4.0 : f64} : (tensor<2xbf16>) -> tensor<f32>
    %s4.y0 = model.norm_root %s4.z0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s5.z0 = model.power_sum %s5.x0 {p = 1.0 : f64} : (tensor<2xbf16>) -> tensor<f32>
    %s5.y0 = model.norm_root %s5.z0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s6.z0 = model.power_sum %s6.x0 {p = 6.0 : f64} : (tensor<3x5xbf16>) -> tensor<f32>
    %s6.y0 = model.norm_root %s6.z0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s7.z0 = model.power_sum %s7.x0 {p = 4.0 : f64} : (tensor<3x5xbf16>) -> tensor<f32>
    %s7.y0 = model.norm_root %s7.z0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s8.z0 = model.power_sum %s8.x0 {p = 1.0 : f64} : (tensor<3x5xbf16>) -> tensor<f32>
    %s8.y0 = model.norm_root %s8.z0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s9.z0 = model.power_sum %s9.x0 {p = 6.0 : f64} : (tensor<3x2x1x2xbf16>) -> tensor<f32>
    %s9.y0 = model.norm_root %s9.z0 {p = 6.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s10.z0 = model.power_sum %s10.x0 {p = 4.0 : f64} : (tensor<3x2x1x2xbf16>) -> tensor<f32>
    %s10.y0 = model.norm_root %s10.z0 {p = 4.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s11.z0 = model.power_sum %s11.x0 {p = 1.0 : f64} : (tensor<3x2x1x2xbf16>) -> tensor<f32>
    %s11.y0 = model.norm_root %s11.z0 {p = 1.0 : f64} : (tensor<f32>) -> tensor<f32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
}
