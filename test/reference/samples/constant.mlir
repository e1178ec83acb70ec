module attributes {model.name = "constant"} {
  func.func @f32(
      )
   -> (tensor<10xf32> {model.output = "f32.s0.y0"},
       tensor<10xf32> {model.output = "f32.s1.y0"},
       tensor<5x5xf32> {model.output = "f32.s2.y0"},
       tensor<5x5xf32> {model.output = "f32.s3.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.constant -8.47837352752685547e+00 : tensor<10xf32>
    %s1.y0 = model.constant 6.00000000000000000e+00 : tensor<10xf32>
    %s2.y0 = model.constant -8.47837352752685547e+00 : tensor<5x5xf32>
    %s3.y0 = model.constant 6.00000000000000000e+00 : tensor<5x5xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0
      : tensor<10xf32>, tensor<10xf32>, tensor<5x5xf32>, tensor<5x5xf32>
  }
  func.func @bf16(
      )
   -> (tensor<10xbf16> {model.output = "bf16.s0.y0"},
       tensor<10xbf16> {model.output = "bf16.s1.y0"},
       tensor<5x5xbf16> {model.output = "bf16.s2.y0"},
       tensor<5x5xbf16> {model.output = "bf16.s3.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.constant -8.50000000000000000e+00 : tensor<10xbf16>
    %s1.y0 = model.constant 6.00000000000000000e+00 : tensor<10xbf16>
    %s2.y0 = model.constant -8.50000000000000000e+00 : tensor<5x5xbf16>
    %s3.y0 = model.constant 6.00000000000000000e+00 : tensor<5x5xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0
      : tensor<10xbf16>, tensor<10xbf16>, tensor<5x5xbf16>, tensor<5x5xbf16>
  }
}
