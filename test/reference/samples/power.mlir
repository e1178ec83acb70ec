module attributes {model.name = "power"} {
  func.func @f32(
      %s0.x0: tensor<f32> {model.input = "f32.s0.x0"},
      %s1.x0: tensor<5xf32> {model.input = "f32.s1.x0"},
      %s2.x0: tensor<10x5xf32> {model.input = "f32.s2.x0"},
      %s3.x0: tensor<1xf32> {model.input = "f32.s3.x0"},
      %s4.x0: tensor<2xf32> {model.input = "f32.s4.x0"},
      %s5.x0: tensor<2xf32> {model.input = "f32.s5.x0"},
      %s6.x0: tensor<2x3x2xf32> {model.input = "f32.s6.x0"},
      %s7.x0: tensor<2x3x2xf32> {model.input = "f32.s7.x0"},
      %s8.x0: tensor<20xf32> {model.input = "f32.s8.x0"},
      %s9.x0: tensor<f32> {model.input = "f32.s9.x0"},
      %s10.x0: tensor<256xf32> {model.input = "f32.s10.x0"},
      %s11.x0: tensor<100xf32> {model.input = "f32.s11.x0"},
      %s12.x0: tensor<9xf32> {model.input = "f32.s12.x0"},
      %s13.x0: tensor<3x1x3xf32> {model.input = "f32.s13.x0"},
      %s14.x0: tensor<3x1x7xf32> {model.input = "f32.s14.x0"},
      %s15.x0: tensor<3x5x7xf32> {model.input = "f32.s15.x0"},
      %s16.x0: tensor<5x6x2xf32> {model.input = "f32.s16.x0"},
      %s17.x0: tensor<5x5x4xf32> {model.input = "f32.s17.x0"},
      %s18.x0: tensor<5x5x2xf32> {model.input = "f32.s18.x0"},
      %s19.x0: tensor<9x5x2xf32> {model.input = "f32.s19.x0"},
      %s20.x0: tensor<20xf32> {model.input = "f32.s20.x0"},
      %s21.x0: tensor<f32> {model.input = "f32.s21.x0"},
      %s22.x0: tensor<256xf32> {model.input = "f32.s22.x0"},
      %s23.x0: tensor<100xf32> {model.input = "f32.s23.x0"},
      %s24.x0: tensor<9xf32> {model.input = "f32.s24.x0"},
      %s25.x0: tensor<3x1x3xf32> {model.input = "f32.s25.x0"},
      %s26.x0: tensor<3x1x7xf32> {model.input = "f32.s26.x0"},
      %s27.x0: tensor<3x5x7xf32> {model.input = "f32.s27.x0"},
      %s28.x0: tensor<5x6x2xf32> {model.input = "f32.s28.x0"},
      %s29.x0: tensor<5x5x4xf32> {model.input = "f32.s29.x0"},
      %s30.x0: tensor<5x5x2xf32> {model.input = "f32.s30.x0"},
      %s31.x0: tensor<9x5x2xf32> {model.input = "f32.s31.x0"})
   -> (tensor<f32> {model.output = "f32.s0.y0"},
       tensor<5xf32> {model.output = "f32.s1.y0"},
       tensor<10x5xf32> {model.output = "f32.s2.y0"},
       tensor<1xf32> {model.output = "f32.s3.y0"},
       tensor<2xf32> {model.output = "f32.s4.y0"},
       tensor<2xf32> {model.output = "f32.s5.y0"},
       tensor<2x3x2xf32> {model.output = "f32.s6.y0"},
       tensor<2x3x2xf32> {model.output = "f32.s7.y0"},
       tensor<20xf32> {model.output = "f32.s8.y0"},
       tensor<f32> {model.output = "f32.s9.y0"},
       tensor<256xf32> {model.output = "f32.s10.y0"},
       tensor<100xf32> {model.output = "f32.s11.y0"},
       tensor<9xf32> {model.output = "f32.s12.y0"},
       tensor<3x1x3xf32> {model.output = "f32.s13.y0"},
       tensor<3x1x7xf32> {model.output = "f32.s14.y0"},
       tensor<3x5x7xf32> {model.output = "f32.s15.y0"},
       tensor<5x6x2xf32> {model.output = "f32.s16.y0"},
       tensor<5x5x4xf32> {model.output = "f32.s17.y0"},
       tensor<5x5x2xf32> {model.output = "f32.s18.y0"},
       tensor<9x5x2xf32> {model.output = "f32.s19.y0"},
       tensor<20xf32> {model.output = "f32.s20.y0"},
       tensor<f32> {model.output = "f32.s21.y0"},
       tensor<256xf32> {model.output = "f32.s22.y0"},
       tensor<100xf32> {model.output = "f32.s23.y0"},
       tensor<9xf32> {model.output = "f32.s24.y0"},
       tensor<3x1x3xf32> {model.output = "f32.s25.y0"},
       tensor<3x1x7xf32> {model.output = "f32.s26.y0"},
       tensor<3x5x7xf32> {model.output = "f32.s27.y0"},
       tensor<5x6x2xf32> {model.output = "f32.s28.y0"},
       tensor<5x5x4xf32> {model.output = "f32.s29.y0"},
       tensor<5x5x2xf32> {model.output = "f32.s30.y0"},
       tensor<9x5x2xf32> {model.output = "f32.s31.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.power %s0.x0 {exponent = 3.61708712577819824e+00 : f64} : (tensor<f32>) -> tensor<f32>
    %s1.y0 = model.power %s1.x0 {exponent = 6.30580234527587891e+00 : f64} : (tensor<5xf32>) -> tensor<5xf32>
    %s2.y0 = model.power %s2.x0 {exponent = 6.77523469924926758e+00 : f64} : (tensor<10x5xf32>) -> tensor<10x5xf32>
    %s3.y0 = model.power %s3.x0 {exponent = 3.61708712577819824e+00 : f64} : (tensor<1xf32>) -> tensor<1xf32>
    %s4.y0 = model.power %s4.x0 {exponent = 5.24706602096557617e-01 : f64} : (tensor<2xf32>) -> tensor<2xf32>
    %s5.y0 = model.power %s5.x0 {exponent = 2.33859777450561523e+00 : f64} : (tensor<2xf32>) -> tensor<2xf32>
    %s6.y0 = model.power %s6.x0 {exponent = 8.69859981536865234e+00 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %s7.y0 = model.power %s7.x0 {exponent = 6.97365427017211914e+00 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %s8.y0 = model.power %s8.x0 {exponent = 2.0 : f64} : (tensor<20xf32>) -> tensor<20xf32>
    %s9.y0 = model.power %s9.x0 {exponent = 2.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s10.y0 = model.power %s10.x0 {exponent = 2.0 : f64} : (tensor<256xf32>) -> tensor<256xf32>
    %s11.y0 = model.power %s11.x0 {exponent = 2.0 : f64} : (tensor<100xf32>) -> tensor<100xf32>
    %s12.y0 = model.power %s12.x0 {exponent = 2.0 : f64} : (tensor<9xf32>) -> tensor<9xf32>
    %s13.y0 = model.power %s13.x0 {exponent = 2.0 : f64} : (tensor<3x1x3xf32>) -> tensor<3x1x3xf32>
    %s14.y0 = model.power %s14.x0 {exponent = 2.0 : f64} : (tensor<3x1x7xf32>) -> tensor<3x1x7xf32>
    %s15.y0 = model.power %s15.x0 {exponent = 2.0 : f64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
    %s16.y0 = model.power %s16.x0 {exponent = 2.0 : f64} : (tensor<5x6x2xf32>) -> tensor<5x6x2xf32>
    %s17.y0 = model.power %s17.x0 {exponent = 2.0 : f64} : (tensor<5x5x4xf32>) -> tensor<5x5x4xf32>
    %s18.y0 = model.power %s18.x0 {exponent = 2.0 : f64} : (tensor<5x5x2xf32>) -> tensor<5x5x2xf32>
    %s19.y0 = model.power %s19.x0 {exponent = 2.0 : f64} : (tensor<9x5x2xf32>) -> tensor<9x5x2xf32>
    %s20.y0 = model.power %s20.x0 {exponent = -1.0 : f64} : (tensor<20xf32>) -> tensor<20xf32>
    %s21.y0 = model.power %s21.x0 {exponent = -1.0 : f64} : (tensor<f32>) -> tensor<f32>
    %s22.y0 = model.power %s22.x0 {exponent = -1.0 : f64} : (tensor<256xf32>) -> tensor<256xf32>
    %s23.y0 = model.power %s23.x0 {exponent = -1.0 : f64} : (tensor<100xf32>) -> tensor<100xf32>
    %s24.y0 = model.power %s24.x0 {exponent = -1.0 : f64} : (tensor<9xf32>) -> tensor<9xf32>
    %s25.y0 = model.power %s25.x0 {exponent = -1.0 : f64} : (tensor<3x1x3xf32>) -> tensor<3x1x3xf32>
    %s26.y0 = model.power %s26.x0 {exponent = -1.0 : f64} : (tensor<3x1x7xf32>) -> tensor<3x1x7xf32>
    %s27.y0 = model.power %s27.x0 {exponent = -1.0 : f64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
    %s28.y0 = model.power %s28.x0 {exponent = -1.0 : f64} : (tensor<5x6x2xf32>) -> tensor<5x6x2xf32>
    %s29.y0 = model.power %s29.x0 {exponent = -1.0 : f64} : (tensor<5x5x4xf32>) -> tensor<5x5x4xf32>
    %s30.y0 = model.power %s30.x0 {exponent = -1.0 : f64} : (tensor<5x5x2xf32>) -> tensor<5x5x2xf32>
    %s31.y0 = model.power %s31.x0 {exponent = -1.0 : f64} : (tensor<9x5x2xf32>) -> tensor<9x5x2xf32>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0, %s12.y0, %s13.y0, %s14.y0, %s15.y0, %s16.y0, %s17.y0, %s18.y0, %s19.y0, %s20.y0, %s21.y0, %s22.y0, %s23.y0, %s24.y0, %s25.y0, %s26.y0, %s27.y0, %s28.y0, %s29.y0, %s30.y0, %s31.y0
      : tensor<f32>, tensor<5xf32>, tensor<10x5xf32>, tensor<1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<20xf32>, tensor<f32>, tensor<256xf32>, tensor<100xf32>, tensor<9xf32>, tensor<3x1x3xf32>, tensor<3x1x7xf32>, tensor<3x5x7xf32>, tensor<5x6x2xf32>, tensor<5x5x4xf32>, tensor<5x5x2xf32>, tensor<9x5x2xf32>, tensor<20xf32>, tensor<f32>, tensor<256xf32>, tensor<100xf32>, tensor<9xf32>, tensor<3x1x3xf32>, tensor<3x1x7xf32>, tensor<3x5x7xf32>, tensor<5x6x2xf32>, tensor<5x5x4xf32>, tensor<5x5x2xf32>, tensor<9x5x2xf32>
  }
  func.func @bf16(
      %s0.x0: tensor<bf16> {model.input = "bf16.s0.x0"},
      %s1.x0: tensor<5xbf16> {model.input = "bf16.s1.x0"},
      %s2.x0: tensor<10x5xbf16> {model.input = "bf16.s2.x0"},
      %s3.x0: tensor<1xbf16> {model.input = "bf16.s3.x0"},
      %s4.x0: tensor<2xbf16> {model.input = "bf16.s4.x0"},
      %s5.x0: tensor<2xbf16> {model.input = "bf16.s5.x0"},
      %s6.x0: tensor<2x3x2xbf16> {model.input = "bf16.s6.x0"},
      %s7.x0: tensor<2x3x2xbf16> {model.input = "bf16.s7.x0"},
      %s8.x0: tensor<20xbf16> {model.input = "bf16.s8.x0"},
      %s9.x0: tensor<bf16> {model.input = "bf16.s9.x0"},
      %s10.x0: tensor<256xbf16> {model.input = "bf16.s10.x0"},
      %s11.x0: tensor<100xbf16> {model.input = "bf16.s11.x0"},
      %s12.x0: tensor<9xbf16> {model.input = "bf16.s12.x0"},
      %s13.x0: tensor<3x1x3xbf16> {model.input = "bf16.s13.x0"},
      %s14.x0: tensor<3x1x7xbf16> {model.input = "bf16.s14.x0"},
      %s15.x0: tensor<3x5x7xbf16> {model.input = "bf16.s15.x0"},
      %s16.x0: tensor<5x6x2xbf16> {model.input = "bf16.s16.x0"},
      %s17.x0: tensor<5x5x4xbf16> {model.input = "bf16.s17.x0"},
      %s18.x0: tensor<5x5x2xbf16> {model.input = "bf16.s18.x0"},
      %s19.x0: tensor<9x5x2xbf16> {model.input = "bf16.s19.x0"},
      %s20.x0: tensor<20xbf16> {model.input = "bf16.s20.x0"},
      %s21.x0: tensor<bf16> {model.input = "bf16.s21.x0"},
      %s22.x0: tensor<256xbf16> {model.input = "bf16.s22.x0"},
      %s23.x0: tensor<100xbf16> {model.input = "bf16.s23.x0"},
      %s24.x0: tensor<9xbf16> {model.input = "bf16.s24.x0"},
      %s25.x0: tensor<3x1x3xbf16> {model.input = "bf16.s25.x0"},
      %s26.x0: tensor<3x1x7xbf16> {model.input = "bf16.s26.x0"},
      %s27.x0: tensor<3x5x7xbf16> {model.input = "bf16.s27.x0"},
      %s28.x0: tensor<5x6x2xbf16> {model.input = "bf16.s28.x0"},
      %s29.x0: tensor<5x5x4xbf16> {model.input = "bf16.s29.x0"},
      %s30.x0: tensor<5x5x2xbf16> {model.input = "bf16.s30.x0"},
      %s31.x0: tensor<9x5x2xbf16> {model.input = "bf16.s31.x0"})
   -> (tensor<bf16> {model.output = "bf16.s0.y0"},
       tensor<5xbf16> {model.output = "bf16.s1.y0"},
       tensor<10x5xbf16> {model.output = "bf16.s2.y0"},
       tensor<1xbf16> {model.output = "bf16.s3.y0"},
       tensor<2xbf16> {model.output = "bf16.s4.y0"},
       tensor<2xbf16> {model.output = "bf16.s5.y0"},
       tensor<2x3x2xbf16> {model.output = "bf16.s6.y0"},
       tensor<2x3x2xbf16> {model.output = "bf16.s7.y0"},
       tensor<20xbf16> {model.output = "bf16.s8.y0"},
       tensor<bf16> {model.output = "bf16.s9.y0"},
       tensor<256xbf16> {model.output = "bf16.s10.y0"},
       tensor<100xbf16> {model.output = "bf16.s11.y0"},
       tensor<9xbf16> {model.output = "bf16.s12.y0"},
       tensor<3x1x3xbf16> {model.output = "bf16.s13.y0"},
       tensor<3x1x7xbf16> {model.output = "bf16.s14.y0"},
       tensor<3x5x7xbf16> {model.output = "bf16.s15.y0"},
       tensor<5x6x2xbf16> {model.output = "bf16.s16.y0"},
       tensor<5x5x4xbf16> {model.output = "bf16.s17.y0"},
       tensor<5x5x2xbf16> {model.output = "bf16.s18.y0"},
       tensor<9x5x2xbf16> {model.output = "bf16.s19.y0"},
       tensor<20xbf16> {model.output = "bf16.s20.y0"},
       tensor<bf16> {model.output = "bf16.s21.y0"},
       tensor<256xbf16> {model.output = "bf16.s22.y0"},
       tensor<100xbf16> {model.output = "bf16.s23.y0"},
       tensor<9xbf16> {model.output = "bf16.s24.y0"},
       tensor<3x1x3xbf16> {model.output = "bf16.s25.y0"},
       tensor<3x1x7xbf16> {model.output = "bf16.s26.y0"},
       tensor<3x5x7xbf16> {model.output = "bf16.s27.y0"},
       tensor<5x6x2xbf16> {model.output = "bf16.s28.y0"},
       tensor<5x5x4xbf16> {model.output = "bf16.s29.y0"},
       tensor<5x5x2xbf16> {model.output = "bf16.s30.y0"},
       tensor<9x5x2xbf16> {model.output = "bf16.s31.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.power %s0.x0 {exponent = 3.60937500000000000e+00 : f64} : (tensor<bf16>) -> tensor<bf16>
    %s1.y0 = model.power %s1.x0 {exponent = 6.31250000000000000e+00 : f64} : (tensor<5xbf16>) -> tensor<5xbf16>
    %s2.y0 = model.power %s2.x0 {exponent = 6.78125000000000000e+00 : f64} : (tensor<10x5xbf16>) -> tensor<10x5xbf16>
    %s3.y0 = model.power %s3.x0 {exponent = 3.60937500000000000e+00 : f64} : (tensor<1xbf16>) -> tensor<1xbf16>
    %s4.y0 = model.power %s4.x0 {exponent = 5.23437500000000000e-01 : f64} : (tensor<2xbf16>) -> tensor<2xbf16>
    %s5.y0 = model.power %s5.x0 {exponent = 2.34375000000000000e+00 : f64} : (tensor<2xbf16>) -> tensor<2xbf16>
    %s6.y0 = model.power %s6.x0 {exponent = 8.68750000000000000e+00 : f64} : (tensor<2x3x2xbf16>) -> tensor<2x3x2xbf16>
    %s7.y0 = model.power %s7.x0 {exponent = 6.96875000000000000e+00 : f64} : (tensor<2x3x2xbf16>) -> tensor<2x3x2xbf16>
    %s8.y0 = model.power %s8.x0 {exponent = 2.0 : f64} : (tensor<20xbf16>) -> tensor<20xbf16>
    %s9.y0 = model.power %s9.x0 {exponent = 2.0 : f64} : (tensor<bf16>) -> tensor<bf16>
    %s10.y0 = model.power %s10.x0 {exponent = 2.0 : f64} : (tensor<256xbf16>) -> tensor<256xbf16>
    %s11.y0 = model.power %s11.x0 {exponent = 2.0 : f64} : (tensor<100xbf16>) -> tensor<100xbf16>
    %s12.y0 = model.power %s12.x0 {exponent = 2.0 : f64} : (tensor<9xbf16>) -> tensor<9xbf16>
    %s13.y0 = model.power %s13.x0 {exponent = 2.0 : f64} : (tensor<3x1x3xbf16>) -> tensor<3x1x3xbf16>
    %s14.y0 = model.power %s14.x0 {exponent = 2.0 : f64} : (tensor<3x1x7xbf16>) -> tensor<3x1x7xbf16>
    %s15.y0 = model.power %s15.x0 {exponent = 2.0 : f64} : (tensor<3x5x7xbf16>) -> tensor<3x5x7xbf16>
    %s16.y0 = model.power %s16.x0 {exponent = 2.0 : f64} : (tensor<5x6x2xbf16>) -> tensor<5x6x2xbf16>
    %s17.y0 = model.power %s17.x0 {exponent = 2.0 : f64} : (tensor<5x5x4xbf16>) -> tensor<5x5x4xbf16>
    %s18.y0 = model.power %s18.x0 {exponent = 2.0 : f64} : (tensor<5x5x2xbf16>) -> tensor<5x5x2xbf16>
    %s19.y0 = model.power %s19.x0 {exponent = 2.0 : f64} : (tensor<9x5x2xbf16>) -> tensor<9x5x2xbf16>
    %s20.y0 = model.power %s20.x0 {exponent = -1.0 : f64} : (tensor<20xbf16>) -> tensor<20xbf16>
    %s21.y0 = model.power %s21.x0 {exponent = -1.0 : f64} : (tensor<bf16>) -> tensor<bf16>
    %s22.y0 = model.power %s22.x0 {exponent = -1.0 : f64} : (tensor<256xbf16>) -> tensor<256xbf16>
    %s23.y0 = model.power %s23.x0 {exponent = -1.0 : f64} : (tensor<100xbf16>) -> tensor<100xbf16>
    %s24.y0 = model.power %s24.x0 {exponent = -1.0 : f64} : (tensor<9xbf16>) -> tensor<9xbf16>
    %s25.y0 = model.power %s25.x0 {exponent = -1.0 : f64} : (tensor<3x1x3xbf16>) -> tensor<3x1x3xbf16>
    %s26.y0 = model.power %s26.x0 {exponent = -1.0 : f64} : (tensor<3x1x7xbf16>) -> tensor<3x1x7xbf16>
    %s27.y0 = model.power %s27.x0 {exponent = -1.0 : f64} : (tensor<3x5x7xbf16>) -> tensor<3x5x7xbf16>
    %s28.y0 = model.power %s28.x0 {exponent = -1.0 : f64} : (tensor<5x6x2xbf16>) -> tensor<5x6x2xbf16>
    %s29.y0 = model.power %s29.x0 {exponent = -1.0 : f64} : (tensor<5x5x4xbf16>) -> tensor<5x5x4xbf16>
    %s30.y0 = model.power %s30.x0 {exponent = -1.0 : f64} : (tensor<5x5x2xbf16>) -> tensor<5x5x2xbf16>
    %s31.y0 = model.power %s31.x0 {exponent = -1.0 : f64} : (tensor<9x5x2xbf16>) -> tensor<9x5x2xbf16>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0, %s12.y0, %s13.y0, %s14.y0, %s15.y0, %s16.y0, %s17.y0, %s18.y0, %s19.y0, %s20.y0, %s21.y0, %s22.y0, %s23.y0, %s24.y0, %s25.y0, %s26.y0, %s27.y0, %s28.y0, %s29.y0, %s30.y0, %s31.y0
      : tensor<bf16>, tensor<5xbf16>, tensor<10x5xbf16>, tensor<1xbf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2x3x2xbf16>, tensor<2x3x2xbf16>, tensor<20xbf16>, tensor<bf16>, tensor<256xbf16>, tensor<100xbf16>, tensor<9xbf16>, tensor<3x1x3xbf16>, tensor<3x1x7xbf16>, tensor<3x5x7xbf16>, tensor<5x6x2xbf16>, tensor<5x5x4xbf16>, tensor<5x5x2xbf16>, tensor<9x5x2xbf16>, tensor<20xbf16>, tensor<bf16>, tensor<256xbf16>, tensor<100xbf16>, tensor<9xbf16>, tensor<3x1x3xbf16>, tensor<3x1x7xbf16>, tensor<3x5x7xbf16>, tensor<5x6x2xbf16>, tensor<5x5x4xbf16>, tensor<5x5x2xbf16>, tensor<9x5x2xbf16>
  }
}
