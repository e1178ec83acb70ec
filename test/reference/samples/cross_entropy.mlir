module attributes {model.name = "cross_entropy"} {
  func.func @f32(
      %s0.x0: tensor<2x3xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<2xi32> {model.input = "f32.s0.x1"},
      %s1.x0: tensor<2x1x3xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<2x1xi32> {model.input = "f32.s1.x1"},
      %s2.x0: tensor<2x1x2x3xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<2x1x2xi32> {model.input = "f32.s2.x1"},
      %s3.x0: tensor<2x1x2x3x3xf32> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<2x1x2x3xi32> {model.input = "f32.s3.x1"},
      %s4.x0: tensor<2x3xf32> {model.input = "f32.s4.x0"},
      %s4.x1: tensor<2xi32> {model.input = "f32.s4.x1"},
      %s5.x0: tensor<2x3xf32> {model.input = "f32.s5.x0"},
      %s5.x1: tensor<2xi32> {model.input = "f32.s5.x1"})
   -> (tensor<f32> {model.output = "f32.s0.y0"},
       tensor<f32> {model.output = "f32.s1.y0"},
       tensor<f32> {model.output = "f32.s2.y0"},
       tensor<f32> {model.output = "f32.s3.y0"},
       tensor<f32> {model.output = "f32.s4.y0"},
       tensor<f32> {model.output = "f32.s5.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.z0 = model.cross_entropy %s0.x0, %s0.x1 {reduction = #model.reduction<mean>} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    %s1.y0, %s1.z0 = model.cross_entropy %s1.x0, %s1.x1 {reduction = #model.reduction<mean>} : (tensor<2x1x3xf32>, tensor<2x1xi32>) -> (tensor<f32>, tensor<2x1xf32>)
    %s2.y0, %s2.z0 = model.cross_entropy %s2.x0, %s2.x1 {reduction = #model.reduction<mean>} : (tensor<2x1x2x3xf32>, tensor<2x1x2xi32>) -> (tensor<f32>, tensor<2x1x2xf32>)
    %s3.y0, %s3.z0 = model.cross_entropy %s3.x0, %s3.x1 {reduction = #model.reduction<mean>} : (tensor<2x1x2x3x3xf32>, tensor<2x1x2x3xi32>) -> (tensor<f32>, tensor<2x1x2x3xf32>)
    %s4.y0, %s4.z0 = model.cross_entropy %s4.x0, %s4.x1 {reduction = #model.reduction<sum>} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    %s5.y0, %s5.z0 = model.cross_entropy %s5.x0, %s5.x1 {reduction = #model.reduction<mean>, ignore_index = 1 : i64} : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func @bf16(
      %s0.x0: tensor<2x3xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<2xi32> {model.input = "bf16.s0.x1"},
      %s1.x0: tensor<2x1x3xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<2x1xi32> {model.input = "bf16.s1.x1"},
      %s2.x0: tensor<2x1x2x3xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<2x1x2xi32> {model.input = "bf16.s2.x1"},
      %s3.x0: tensor<2x1x2x3x3xbf16> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<2x1x2x3xi32> {model.input = "bf16.s3.x1"},
      %s4.x0: tensor<2x3xbf16> {model.input = "bf16.s4.x0"},
      %s4.x1: tensor<2xi32> {model.input = "bf16.s4.x1"},
      %s5.x0: tensor<2x3xbf16> {model.input = "bf16.s5.x0"},
      %s5.x1: tensor<2xi32> {model.input = "bf16.s5.x1"})
   -> (tensor<f32> {model.output = "bf16.s0.y0"},
       tensor<f32> {model.output = "bf16.s1.y0"},
       tensor<f32> {model.output = "bf16.s2.y0"},
       tensor<f32> {model.output = "bf16.s3.y0"},
       tensor<f32> {model.output = "bf16.s4.y0"},
       tensor<f32> {model.output = "bf16.s5.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.z0 = model.cross_entropy %s0.x0, %s0.x1 {reduction = #model.reduction<mean>} : (tensor<2x3xbf16>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    %s1.y0, %s1.z0 = model.cross_entropy %s1.x0, %s1.x1 {reduction = #model.reduction<mean>} : (tensor<2x1x3xbf16>, tensor<2x1xi32>) -> (tensor<f32>, tensor<2x1xf32>)
    %s2.y0, %s2.z0 = model.cross_entropy %s2.x0, %s2.x1 {reduction = #model.reduction<mean>} : (tensor<2x1x2x3xbf16>, tensor<2x1x2xi32>) -> (tensor<f32>, tensor<2x1x2xf32>)
    %s3.y0, %s3.z0 = model.cross_entropy %s3.x0, %s3.x1 {reduction = #model.reduction<mean>} : (tensor<2x1x2x3x3xbf16>, tensor<2x1x2x3xi32>) -> (tensor<f32>, tensor<2x1x2x3xf32>)
    %s4.y0, %s4.z0 = model.cross_entropy %s4.x0, %s4.x1 {reduction = #model.reduction<sum>} : (tensor<2x3xbf16>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    %s5.y0, %s5.z0 = model.cross_entropy %s5.x0, %s5.x1 {reduction = #model.reduction<mean>, ignore_index = 1 : i64} : (tensor<2x3xbf16>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
}
