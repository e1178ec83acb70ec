module attributes {model.name = "linear_cross_entropy"} {
  func.func @f32(
      %s0.x0: tensor<8x3xf32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<4x3xf32> {model.input = "f32.s0.x1"},
      %s0.x2: tensor<8xi32> {model.input = "f32.s0.x2"},
      %s1.x0: tensor<8x8xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<8x8xf32> {model.input = "f32.s1.x1"},
      %s1.x2: tensor<8xi32> {model.input = "f32.s1.x2"},
      %s2.x0: tensor<8x3xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<4x3xf32> {model.input = "f32.s2.x1"},
      %s2.x2: tensor<8xi32> {model.input = "f32.s2.x2"},
      %s3.x0: tensor<8x8xf32> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<8x8xf32> {model.input = "f32.s3.x1"},
      %s3.x2: tensor<8xi32> {model.input = "f32.s3.x2"},
      %s4.x0: tensor<8x3xf32> {model.input = "f32.s4.x0"},
      %s4.x1: tensor<4x3xf32> {model.input = "f32.s4.x1"},
      %s4.x2: tensor<8xi32> {model.input = "f32.s4.x2"},
      %s5.x0: tensor<8x8xf32> {model.input = "f32.s5.x0"},
      %s5.x1: tensor<8x8xf32> {model.input = "f32.s5.x1"},
      %s5.x2: tensor<8xi32> {model.input = "f32.s5.x2"},
      %s6.x0: tensor<16x8xf32> {model.input = "f32.s6.x0"},
      %s6.x1: tensor<64x8xf32> {model.input = "f32.s6.x1"},
      %s6.x2: tensor<16xi32> {model.input = "f32.s6.x2"},
      %s7.x0: tensor<8x3xf32> {model.input = "f32.s7.x0"},
      %s7.x1: tensor<4x3xf32> {model.input = "f32.s7.x1"},
      %s7.x2: tensor<8xi32> {model.input = "f32.s7.x2"},
      %s8.x0: tensor<8x8xf32> {model.input = "f32.s8.x0"},
      %s8.x1: tensor<8x8xf32> {model.input = "f32.s8.x1"},
      %s8.x2: tensor<8xi32> {model.input = "f32.s8.x2"},
      %s9.x0: tensor<8x3xf32> {model.input = "f32.s9.x0"},
      %s9.x1: tensor<4x3xf32> {model.input = "f32.s9.x1"},
      %s9.x2: tensor<8xi32> {model.input = "f32.s9.x2"},
      %s10.x0: tensor<8x8xf32> {model.input = "f32.s10.x0"},
      %s10.x1: tensor<8x8xf32> {model.input = "f32.s10.x1"},
      %s10.x2: tensor<8xi32> {model.input = "f32.s10.x2"},
      %s11.x0: tensor<8x3xf32> {model.input = "f32.s11.x0"},
      %s11.x1: tensor<4x3xf32> {model.input = "f32.s11.x1"},
      %s11.x2: tensor<8xi32> {model.input = "f32.s11.x2"},
      %s12.x0: tensor<8x8xf32> {model.input = "f32.s12.x0"},
      %s12.x1: tensor<8x8xf32> {model.input = "f32.s12.x1"},
      %s12.x2: tensor<8xi32> {model.input = "f32.s12.x2"},
      %s13.x0: tensor<8x3xf32> {model.input = "f32.s13.x0"},
      %s13.x1: tensor<4x3xf32> {model.input = "f32.s13.x1"},
      %s13.x2: tensor<8xi32> {model.input = "f32.s13.x2"},
      %s14.x0: tensor<8x8xf32> {model.input = "f32.s14.x0"},
      %s14.x1: tensor<8x8xf32> {model.input = "f32.s14.x1"},
      %s14.x2: tensor<8xi32> {model.input = "f32.s14.x2"},
      %s15.x0: tensor<8x3xf32> {model.input = "f32.s15.x0"},
      %s15.x1: tensor<4x3xf32> {model.input = "f32.s15.x1"},
      %s15.x2: tensor<8xi32> {model.input = "f32.s15.x2"},
      %s16.x0: tensor<8x8xf32> {model.input = "f32.s16.x0"},
      %s16.x1: tensor<8x8xf32> {model.input = "f32.s16.x1"},
      %s16.x2: tensor<8xi32> {model.input = "f32.s16.x2"},
      %s17.x0: tensor<16x8xf32> {model.input = "f32.s17.x0"},
      %s17.x1: tensor<64x8xf32> {model.input = "f32.s17.x1"},
      %s17.x2: tensor<16xi32> {model.input = "f32.s17.x2"})
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
       tensor<f32> {model.output = "f32.s11.y0"},
       tensor<f32> {model.output = "f32.s12.y0"},
       tensor<f32> {model.output = "f32.s13.y0"},
       tensor<f32> {model.output = "f32.s14.y0"},
       tensor<f32> {model.output = "f32.s15.y0"},
       tensor<f32> {model.output = "f32.s16.y0"},
       tensor<f32> {model.output = "f32.s17.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.z0 = model.linear_cross_entropy %s0.x0, %s0.x1, %s0.x2 {reduction = #model.reduction<mean>, rows = 8 : i64} : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s1.y0, %s1.z0 = model.linear_cross_entropy %s1.x0, %s1.x1, %s1.x2 {reduction = #model.reduction<mean>, rows = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s2.y0, %s2.z0 = model.linear_cross_entropy %s2.x0, %s2.x1, %s2.x2 {reduction = #model.reduction<sum>, rows = 8 : i64} : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s3.y0, %s3.z0 = model.linear_cross_entropy %s3.x0, %s3.x1, %s3.x2 {reduction = #model.reduction<sum>, rows = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s4.y0, %s4.z0 = model.linear_cross_entropy %s4.x0, %s4.x1, %s4.x2 {reduction = #model.reduction<mean>, ignore_index = 1 : i64, rows = 8 : i64} : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s5.y0, %s5.z0 = model.linear_cross_entropy %s5.x0, %s5.x1, %s5.x2 {reduction = #model.reduction<mean>, ignore_index = 1 : i64, rows = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s6.y0, %s6.z0 = model.linear_cross_entropy %s6.x0, %s6.x1, %s6.x2 {reduction = #model.reduction<mean>, rows = 16 : i64} : (tensor<16x8xf32>, tensor<64x8xf32>, tensor<16xi32>) -> (tensor<f32>, tensor<16xf32>)
    %s7.y0, %s7.z0 = model.linear_cross_entropy %s7.x0, %s7.x1, %s7.x2 {reduction = #model.reduction<mean>, rows = 2 : i64} : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s8.y0, %s8.z0 = model.linear_cross_entropy %s8.x0, %s8.x1, %s8.x2 {reduction = #model.reduction<mean>, rows = 2 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s9.y0, %s9.z0 = model.linear_cross_entropy %s9.x0, %s9.x1, %s9.x2 {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s10.y0, %s10.z0 = model.linear_cross_entropy %s10.x0, %s10.x1, %s10.x2 {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s11.y0, %s11.z0 = model.linear_cross_entropy %s11.x0, %s11.x1, %s11.x2 {reduction = #model.reduction<mean>, rows = 3 : i64} : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s12.y0, %s12.z0 = model.linear_cross_entropy %s12.x0, %s12.x1, %s12.x2 {reduction = #model.reduction<mean>, rows = 3 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s13.y0, %s13.z0 = model.linear_cross_entropy %s13.x0, %s13.x1, %s13.x2 {reduction = #model.reduction<sum>, rows = 3 : i64} : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s14.y0, %s14.z0 = model.linear_cross_entropy %s14.x0, %s14.x1, %s14.x2 {reduction = #model.reduction<sum>, rows = 3 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s15.y0, %s15.z0 = model.linear_cross_entropy %s15.x0, %s15.x1, %s15.x2 {reduction = #model.reduction<mean>, ignore_index = 1 : i64, rows = 2 : i64} : (tensor<8x3xf32>, tensor<4x3xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s16.y0, %s16.z0 = model.linear_cross_entropy %s16.x0, %s16.x1, %s16.x2 {reduction = #model.reduction<mean>, ignore_index = 1 : i64, rows = 2 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s17.y0, %s17.z0 = model.linear_cross_entropy %s17.x0, %s17.x1, %s17.x2 {reduction = #model.reduction<mean>, rows = 4 : i64} : (tensor<16x8xf32>, tensor<64x8xf32>, tensor<16xi32>) -> (tensor<f32>, tensor<16xf32>)
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0, %s12.y0, %s13.y0, %s14.y0, %s15.y0, %s16.y0, %s17.y0
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func @bf16(
      %s0.x0: tensor<8x3xbf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<4x3xbf16> {model.input = "bf16.s0.x1"},
      %s0.x2: tensor<8xi32> {model.input = "bf16.s0.x2"},
      %s1.x0: tensor<8x8xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<8x8xbf16> {model.input = "bf16.s1.x1"},
      %s1.x2: tensor<8xi32> {model.input = "bf16.s1.x2"},
      %s2.x0: tensor<8x3xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<4x3xbf16> {model.input = "bf16.s2.x1"},
      %s2.x2: tensor<8xi32> {model.input = "bf16.s2.x2"},
      %s3.x0: tensor<8x8xbf16> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<8x8xbf16> {model.input = "bf16.s3.x1"},
      %s3.x2: tensor<8xi32> {model.input = "bf16.s3.x2"},
      %s4.x0: tensor<8x3xbf16> {model.input = "bf16.s4.x0"},
      %s4.x1: tensor<4x3xbf16> {model.input = "bf16.s4.x1"},
      %s4.x2: tensor<8xi32> {model.input = "bf16.s4.x2"},
      %s5.x0: tensor<8x8xbf16> {model.input = "bf16.s5.x0"},
      %s5.x1: tensor<8x8xbf16> {model.input = "bf16.s5.x1"},
      %s5.x2: tensor<8xi32> {model.input = "bf16.s5.x2"},
      %s6.x0: tensor<16x8xbf16> {model.input = "bf16.s6.x0"},
      %s6.x1: tensor<64x8xbf16> {model.input = "bf16.s6.x1"},
      %s6.x2: tensor<16xi32> {model.input = "bf16.s6.x2"},
      %s7.x0: tensor<8x3xbf16> {model.input = "bf16.s7.x0"},
      %s7.x1: tensor<4x3xbf16> {model.input = "bf16.s7.x1"},
      %s7.x2: tensor<8xi32> {model.input = "bf16.s7.x2"},
      %s8.x0: tensor<8x8xbf16> {model.input = "bf16.s8.x0"},
      %s8.x1: tensor<8x8xbf16> {model.input = "bf16.s8.x1"},
      %s8.x2: tensor<8xi32> {model.input = "bf16.s8.x2"},
      %s9.x0: tensor<8x3xbf16> {model.input = "bf16.s9.x0"},
      %s9.x1: tensor<4x3xbf16> {model.input = "bf16.s9.x1"},
      %s9.x2: tensor<8xi32> {model.input = "bf16.s9.x2"},
      %s10.x0: tensor<8x8xbf16> {model.input = "bf16.s10.x0"},
      %s10.x1: tensor<8x8xbf16> {model.input = "bf16.s10.x1"},
      %s10.x2: tensor<8xi32> {model.input = "bf16.s10.x2"},
      %s11.x0: tensor<8x8xbf16> {model.input = "bf16.s11.x0"},
      %s11.x1: tensor<8x8xbf16> {model.input = "bf16.s11.x1"},
      %s11.x2: tensor<8xi32> {model.input = "bf16.s11.x2"},
      %s12.x0: tensor<8x3xbf16> {model.input = "bf16.s12.x0"},
      %s12.x1: tensor<4x3xbf16> {model.input = "bf16.s12.x1"},
      %s12.x2: tensor<8xi32> {model.input = "bf16.s12.x2"},
      %s13.x0: tensor<8x8xbf16> {model.input = "bf16.s13.x0"},
      %s13.x1: tensor<8x8xbf16> {model.input = "bf16.s13.x1"},
      %s13.x2: tensor<8xi32> {model.input = "bf16.s13.x2"},
      %s14.x0: tensor<8x3xbf16> {model.input = "bf16.s14.x0"},
      %s14.x1: tensor<4x3xbf16> {model.input = "bf16.s14.x1"},
      %s14.x2: tensor<8xi32> {model.input = "bf16.s14.x2"},
      %s15.x0: tensor<8x3xbf16> {model.input = "bf16.s15.x0"},
      %s15.x1: tensor<4x3xbf16> {model.input = "bf16.s15.x1"},
      %s15.x2: tensor<8xi32> {model.input = "bf16.s15.x2"},
      %s16.x0: tensor<8x8xbf16> {model.input = "bf16.s16.x0"},
      %s16.x1: tensor<8x8xbf16> {model.input = "bf16.s16.x1"},
      %s16.x2: tensor<8xi32> {model.input = "bf16.s16.x2"},
      %s17.x0: tensor<8x3xbf16> {model.input = "bf16.s17.x0"},
      %s17.x1: tensor<4x3xbf16> {model.input = "bf16.s17.x1"},
      %s17.x2: tensor<8xi32> {model.input = "bf16.s17.x2"},
      %s18.x0: tensor<8x8xbf16> {model.input = "bf16.s18.x0"},
      %s18.x1: tensor<8x8xbf16> {model.input = "bf16.s18.x1"},
      %s18.x2: tensor<8xi32> {model.input = "bf16.s18.x2"})
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
       tensor<f32> {model.output = "bf16.s11.y0"},
       tensor<f32> {model.output = "bf16.s12.y0"},
       tensor<f32> {model.output = "bf16.s13.y0"},
       tensor<f32> {model.output = "bf16.s14.y0"},
       tensor<f32> {model.output = "bf16.s15.y0"},
       tensor<f32> {model.output = "bf16.s16.y0"},
       tensor<f32> {model.output = "bf16.s17.y0"},
       tensor<f32> {model.output = "bf16.s18.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0, %s0.z0 = model.linear_cross_entropy %s0.x0, %s0.x1, %s0.x2 {reduction = #model.reduction<mean>, rows = 8 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s1.y0, %s1.z0 = model.linear_cross_entropy %s1.x0, %s1.x1, %s1.x2 {reduction = #model.reduction<mean>, rows = 8 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s2.y0, %s2.z0 = model.linear_cross_entropy %s2.x0, %s2.x1, %s2.x2 {reduction = #model.reduction<sum>, rows = 8 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s3.y0, %s3.z0 = model.linear_cross_entropy %s3.x0, %s3.x1, %s3.x2 {reduction = #model.reduction<sum>, rows = 8 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s4.y0, %s4.z0 = model.linear_cross_entropy %s4.x0, %s4.x1, %s4.x2 {reduction = #model.reduction<mean>, ignore_index = 1 : i64, rows = 8 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s5.y0, %s5.z0 = model.linear_cross_entropy %s5.x0, %s5.x1, %s5.x2 {reduction = #model.reduction<mean>, ignore_index = 1 : i64, rows = 8 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s6.y0, %s6.z0 = model.linear_cross_entropy %s6.x0, %s6.x1, %s6.x2 {reduction = #model.reduction<mean>, rows = 16 : i64} : (tensor<16x8xbf16>, tensor<64x8xbf16>, tensor<16xi32>) -> (tensor<f32>, tensor<16xf32>)
    %s7.y0, %s7.z0 = model.linear_cross_entropy %s7.x0, %s7.x1, %s7.x2 {reduction = #model.reduction<mean>, rows = 2 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s8.y0, %s8.z0 = model.linear_cross_entropy %s8.x0, %s8.x1, %s8.x2 {reduction = #model.reduction<mean>, rows = 2 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s9.y0, %s9.z0 = model.linear_cross_entropy %s9.x0, %s9.x1, %s9.x2 {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s10.y0, %s10.z0 = model.linear_cross_entropy %s10.x0, %s10.x1, %s10.x2 {reduction = #model.reduction<sum>, rows = 2 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s11.y0, %s11.z0 = model.linear_cross_entropy %s11.x0, %s11.x1, %s11.x2 {reduction = #model.reduction<mean>, rows = 3 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s12.y0, %s12.z0 = model.linear_cross_entropy %s12.x0, %s12.x1, %s12.x2 {reduction = #model.reduction<sum>, rows = 3 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s13.y0, %s13.z0 = model.linear_cross_entropy %s13.x0, %s13.x1, %s13.x2 {reduction = #model.reduction<sum>, rows = 3 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s14.y0, %s14.z0 = model.linear_cross_entropy %s14.x0, %s14.x1, %s14.x2 {reduction = #model.reduction<mean>, ignore_index = 1 : i64, rows = 2 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s15.y0, %s15.z0 = model.linear_cross_entropy %s15.x0, %s15.x1, %s15.x2 {reduction = #model.reduction<mean>, rows = 8 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s16.y0, %s16.z0 = model.linear_cross_entropy %s16.x0, %s16.x1, %s16.x2 {reduction = #model.reduction<mean>, rows = 8 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s17.y0, %s17.z0 = model.linear_cross_entropy %s17.x0, %s17.x1, %s17.x2 {reduction = #model.reduction<sum>, rows = 8 : i64} : (tensor<8x3xbf16>, tensor<4x3xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    %s18.y0, %s18.z0 = model.linear_cross_entropy %s18.x0, %s18.x1, %s18.x2 {reduction = #model.reduction<sum>, rows = 8 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0, %s12.y0, %s13.y0, %s14.y0, %s15.y0, %s16.y0, %s17.y0, %s18.y0
      : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
}
