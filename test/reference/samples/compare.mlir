module attributes {model.name = "compare"} {
  func.func @f32(
      %s0.x0: tensor<f32> {model.input = "f32.s0.x0"},
      %s0.x1: tensor<f32> {model.input = "f32.s0.x1"},
      %s1.x0: tensor<5xf32> {model.input = "f32.s1.x0"},
      %s1.x1: tensor<f32> {model.input = "f32.s1.x1"},
      %s2.x0: tensor<5x1xf32> {model.input = "f32.s2.x0"},
      %s2.x1: tensor<5xf32> {model.input = "f32.s2.x1"},
      %s3.x0: tensor<10x5xf32> {model.input = "f32.s3.x0"},
      %s3.x1: tensor<f32> {model.input = "f32.s3.x1"},
      %s4.x0: tensor<5x10x5xf32> {model.input = "f32.s4.x0"},
      %s4.x1: tensor<10x5xf32> {model.input = "f32.s4.x1"},
      %s5.x0: tensor<5x10x5xf32> {model.input = "f32.s5.x0"},
      %s5.x1: tensor<5x10x5xf32> {model.input = "f32.s5.x1"},
      %s6.x0: tensor<10x1x5xf32> {model.input = "f32.s6.x0"},
      %s6.x1: tensor<10x5xf32> {model.input = "f32.s6.x1"},
      %s7.x0: tensor<10x1x5xf32> {model.input = "f32.s7.x0"},
      %s7.x1: tensor<1x10x5xf32> {model.input = "f32.s7.x1"},
      %s8.x0: tensor<5x5xf32> {model.input = "f32.s8.x0"},
      %s8.x1: tensor<5x5xf32> {model.input = "f32.s8.x1"},
      %s9.x0: tensor<f32> {model.input = "f32.s9.x0"},
      %s9.x1: tensor<f32> {model.input = "f32.s9.x1"},
      %s10.x0: tensor<5xf32> {model.input = "f32.s10.x0"},
      %s10.x1: tensor<f32> {model.input = "f32.s10.x1"},
      %s11.x0: tensor<5x1xf32> {model.input = "f32.s11.x0"},
      %s11.x1: tensor<5xf32> {model.input = "f32.s11.x1"},
      %s12.x0: tensor<10x5xf32> {model.input = "f32.s12.x0"},
      %s12.x1: tensor<f32> {model.input = "f32.s12.x1"},
      %s13.x0: tensor<5x10x5xf32> {model.input = "f32.s13.x0"},
      %s13.x1: tensor<10x5xf32> {model.input = "f32.s13.x1"},
      %s14.x0: tensor<5x10x5xf32> {model.input = "f32.s14.x0"},
      %s14.x1: tensor<5x10x5xf32> {model.input = "f32.s14.x1"},
      %s15.x0: tensor<10x1x5xf32> {model.input = "f32.s15.x0"},
      %s15.x1: tensor<10x5xf32> {model.input = "f32.s15.x1"},
      %s16.x0: tensor<10x1x5xf32> {model.input = "f32.s16.x0"},
      %s16.x1: tensor<1x10x5xf32> {model.input = "f32.s16.x1"},
      %s17.x0: tensor<f32> {model.input = "f32.s17.x0"},
      %s17.x1: tensor<f32> {model.input = "f32.s17.x1"},
      %s18.x0: tensor<5xf32> {model.input = "f32.s18.x0"},
      %s18.x1: tensor<f32> {model.input = "f32.s18.x1"},
      %s19.x0: tensor<5x1xf32> {model.input = "f32.s19.x0"},
      %s19.x1: tensor<5xf32> {model.input = "f32.s19.x1"},
      %s20.x0: tensor<10x5xf32> {model.input = "f32.s20.x0"},
      %s20.x1: tensor<f32> {model.input = "f32.s20.x1"},
      %s21.x0: tensor<5x10x5xf32> {model.input = "f32.s21.x0"},
      %s21.x1: tensor<10x5xf32> {model.input = "f32.s21.x1"},
      %s22.x0: tensor<5x10x5xf32> {model.input = "f32.s22.x0"},
      %s22.x1: tensor<5x10x5xf32> {model.input = "f32.s22.x1"},
      %s23.x0: tensor<10x1x5xf32> {model.input = "f32.s23.x0"},
      %s23.x1: tensor<10x5xf32> {model.input = "f32.s23.x1"},
      %s24.x0: tensor<10x1x5xf32> {model.input = "f32.s24.x0"},
      %s24.x1: tensor<1x10x5xf32> {model.input = "f32.s24.x1"},
      %s25.x0: tensor<f32> {model.input = "f32.s25.x0"},
      %s25.x1: tensor<f32> {model.input = "f32.s25.x1"},
      %s26.x0: tensor<5xf32> {model.input = "f32.s26.x0"},
      %s26.x1: tensor<f32> {model.input = "f32.s26.x1"},
      %s27.x0: tensor<5x1xf32> {model.input = "f32.s27.x0"},
      %s27.x1: tensor<5xf32> {model.input = "f32.s27.x1"},
      %s28.x0: tensor<10x5xf32> {model.input = "f32.s28.x0"},
      %s28.x1: tensor<f32> {model.input = "f32.s28.x1"},
      %s29.x0: tensor<5x10x5xf32> {model.input = "f32.s29.x0"},
      %s29.x1: tensor<10x5xf32> {model.input = "f32.s29.x1"},
      %s30.x0: tensor<5x10x5xf32> {model.input = "f32.s30.x0"},
      %s30.x1: tensor<5x10x5xf32> {model.input = "f32.s30.x1"},
      %s31.x0: tensor<10x1x5xf32> {model.input = "f32.s31.x0"},
      %s31.x1: tensor<10x5xf32> {model.input = "f32.s31.x1"},
      %s32.x0: tensor<10x1x5xf32> {model.input = "f32.s32.x0"},
      %s32.x1: tensor<1x10x5xf32> {model.input = "f32.s32.x1"},
      %s33.x0: tensor<f32> {model.input = "f32.s33.x0"},
      %s33.x1: tensor<f32> {model.input = "f32.s33.x1"},
      %s34.x0: tensor<5xf32> {model.input = "f32.s34.x0"},
      %s34.x1: tensor<f32> {model.input = "f32.s34.x1"},
      %s35.x0: tensor<5x1xf32> {model.input = "f32.s35.x0"},
      %s35.x1: tensor<5xf32> {model.input = "f32.s35.x1"},
      %s36.x0: tensor<10x5xf32> {model.input = "f32.s36.x0"},
      %s36.x1: tensor<f32> {model.input = "f32.s36.x1"},
      %s37.x0: tensor<5x10x5xf32> {model.input = "f32.s37.x0"},
      %s37.x1: tensor<10x5xf32> {model.input = "f32.s37.x1"},
      %s38.x0: tensor<5x10x5xf32> {model.input = "f32.s38.x0"},
      %s38.x1: tensor<5x10x5xf32> {model.input = "f32.s38.x1"},
      %s39.x0: tensor<10x1x5xf32> {model.input = "f32.s39.x0"},
      %s39.x1: tensor<10x5xf32> {model.input = "f32.s39.x1"},
      %s40.x0: tensor<10x1x5xf32> {model.input = "f32.s40.x0"},
      %s40.x1: tensor<1x10x5xf32> {model.input = "f32.s40.x1"},
      %s41.x0: tensor<f32> {model.input = "f32.s41.x0"},
      %s41.x1: tensor<f32> {model.input = "f32.s41.x1"},
      %s42.x0: tensor<5xf32> {model.input = "f32.s42.x0"},
      %s42.x1: tensor<f32> {model.input = "f32.s42.x1"},
      %s43.x0: tensor<5x1xf32> {model.input = "f32.s43.x0"},
      %s43.x1: tensor<5xf32> {model.input = "f32.s43.x1"},
      %s44.x0: tensor<10x5xf32> {model.input = "f32.s44.x0"},
      %s44.x1: tensor<f32> {model.input = "f32.s44.x1"},
      %s45.x0: tensor<5x10x5xf32> {model.input = "f32.s45.x0"},
      %s45.x1: tensor<10x5xf32> {model.input = "f32.s45.x1"},
      %s46.x0: tensor<5x10x5xf32> {model.input = "f32.s46.x0"},
      %s46.x1: tensor<5x10x5xf32> {model.input = "f32.s46.x1"},
      %s47.x0: tensor<10x1x5xf32> {model.input = "f32.s47.x0"},
      %s47.x1: tensor<10x5xf32> {model.input = "f32.s47.x1"},
      %s48.x0: tensor<10x1x5xf32> {model.input = "f32.s48.x0"},
      %s48.x1: tensor<1x10x5xf32> {model.input = "f32.s48.x1"})
   -> (tensor<ui8> {model.output = "f32.s0.y0"},
       tensor<5xui8> {model.output = "f32.s1.y0"},
       tensor<5x5xui8> {model.output = "f32.s2.y0"},
       tensor<10x5xui8> {model.output = "f32.s3.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s4.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s5.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s6.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s7.y0"},
       tensor<5x5xui8> {model.output = "f32.s8.y0"},
       tensor<ui8> {model.output = "f32.s9.y0"},
       tensor<5xui8> {model.output = "f32.s10.y0"},
       tensor<5x5xui8> {model.output = "f32.s11.y0"},
       tensor<10x5xui8> {model.output = "f32.s12.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s13.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s14.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s15.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s16.y0"},
       tensor<ui8> {model.output = "f32.s17.y0"},
       tensor<5xui8> {model.output = "f32.s18.y0"},
       tensor<5x5xui8> {model.output = "f32.s19.y0"},
       tensor<10x5xui8> {model.output = "f32.s20.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s21.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s22.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s23.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s24.y0"},
       tensor<ui8> {model.output = "f32.s25.y0"},
       tensor<5xui8> {model.output = "f32.s26.y0"},
       tensor<5x5xui8> {model.output = "f32.s27.y0"},
       tensor<10x5xui8> {model.output = "f32.s28.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s29.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s30.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s31.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s32.y0"},
       tensor<ui8> {model.output = "f32.s33.y0"},
       tensor<5xui8> {model.output = "f32.s34.y0"},
       tensor<5x5xui8> {model.output = "f32.s35.y0"},
       tensor<10x5xui8> {model.output = "f32.s36.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s37.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s38.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s39.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s40.y0"},
       tensor<ui8> {model.output = "f32.s41.y0"},
       tensor<5xui8> {model.output = "f32.s42.y0"},
       tensor<5x5xui8> {model.output = "f32.s43.y0"},
       tensor<10x5xui8> {model.output = "f32.s44.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s45.y0"},
       tensor<5x10x5xui8> {model.output = "f32.s46.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s47.y0"},
       tensor<10x10x5xui8> {model.output = "f32.s48.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.compare %s0.x0, %s0.x1 {predicate = #model.predicate<eq>} : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    %s1.y0 = model.compare %s1.x0, %s1.x1 {predicate = #model.predicate<eq>} : (tensor<5xf32>, tensor<f32>) -> tensor<5xui8>
    %s2.y0 = model.compare %s2.x0, %s2.x1 {predicate = #model.predicate<eq>} : (tensor<5x1xf32>, tensor<5xf32>) -> tensor<5x5xui8>
    %s3.y0 = model.compare %s3.x0, %s3.x1 {predicate = #model.predicate<eq>} : (tensor<10x5xf32>, tensor<f32>) -> tensor<10x5xui8>
    %s4.y0 = model.compare %s4.x0, %s4.x1 {predicate = #model.predicate<eq>} : (tensor<5x10x5xf32>, tensor<10x5xf32>) -> tensor<5x10x5xui8>
    %s5.y0 = model.compare %s5.x0, %s5.x1 {predicate = #model.predicate<eq>} : (tensor<5x10x5xf32>, tensor<5x10x5xf32>) -> tensor<5x10x5xui8>
    %s6.y0 = model.compare %s6.x0, %s6.x1 {predicate = #model.predicate<eq>} : (tensor<10x1x5xf32>, tensor<10x5xf32>) -> tensor<10x10x5xui8>
    %s7.y0 = model.compare %s7.x0, %s7.x1 {predicate = #model.predicate<eq>} : (tensor<10x1x5xf32>, tensor<1x10x5xf32>) -> tensor<10x10x5xui8>
    %s8.y0 = model.compare %s8.x0, %s8.x1 {predicate = #model.predicate<eq>} : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xui8>
    %s9.y0 = model.compare %s9.x0, %s9.x1 {predicate = #model.predicate<ne>} : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    %s10.y0 = model.compare %s10.x0, %s10.x1 {predicate = #model.predicate<ne>} : (tensor<5xf32>, tensor<f32>) -> tensor<5xui8>
    %s11.y0 = model.compare %s11.x0, %s11.x1 {predicate = #model.predicate<ne>} : (tensor<5x1xf32>, tensor<5xf32>) -> tensor<5x5xui8>
    %s12.y0 = model.compare %s12.x0, %s12.x1 {predicate = #model.predicate<ne>} : (tensor<10x5xf32>, tensor<f32>) -> tensor<10x5xui8>
    %s13.y0 = model.compare %s13.x0, %s13.x1 {predicate = #model.predicate<ne>} : (tensor<5x10x5xf32>, tensor<10x5xf32>) -> tensor<5x10x5xui8>
    %s14.y0 = model.compare %s14.x0, %s14.x1 {predicate = #model.predicate<ne>} : (tensor<5x10x5xf32>, tensor<5x10x5xf32>) -> tensor<5x10x5xui8>
    %s15.y0 = model.compare %s15.x0, %s15.x1 {predicate = #model.predicate<ne>} : (tensor<10x1x5xf32>, tensor<10x5xf32>) -> tensor<10x10x5xui8>
    %s16.y0 = model.compare %s16.x0, %s16.x1 {predicate = #model.predicate<ne>} : (tensor<10x1x5xf32>, tensor<1x10x5xf32>) -> tensor<10x10x5xui8>
    %s17.y0 = model.compare %s17.x0, %s17.x1 {predicate = #model.predicate<lt>} : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    %s18.y0 = model.compare %s18.x0, %s18.x1 {predicate = #model.predicate<lt>} : (tensor<5xf32>, tensor<f32>) -> tensor<5xui8>
    %s19.y0 = model.compare %s19.x0, %s19.x1 {predicate = #model.predicate<lt>} : (tensor<5x1xf32>, tensor<5xf32>) -> tensor<5x5xui8>
    %s20.y0 = model.compare %s20.x0, %s20.x1 {predicate = #model.predicate<lt>} : (tensor<10x5xf32>, tensor<f32>) -> tensor<10x5xui8>
    %s21.y0 = model.compare %s21.x0, %s21.x1 {predicate = #model.predicate<lt>} : (tensor<5x10x5xf32>, tensor<10x5xf32>) -> tensor<5x10x5xui8>
    %s22.y0 = model.compare %s22.x0, %s22.x1 {predicate = #model.predicate<lt>} : (tensor<5x10x5xf32>, tensor<5x10x5xf32>) -> tensor<5x10x5xui8>
    %s23.y0 = model.compare %s23.x0, %s23.x1 {predicate = #model.predicate<lt>} : (tensor<10x1x5xf32>, tensor<10x5xf32>) -> tensor<10x10x5xui8>
    %s24.y0 = model.compare %s24.x0, %s24.x1 {predicate = #model.predicate<lt>} : (tensor<10x1x5xf32>, tensor<1x10x5xf32>) -> tensor<10x10x5xui8>
    %s25.y0 = model.compare %s25.x0, %s25.x1 {predicate = #model.predicate<le>} : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    %s26.y0 = model.compare %s26.x0, %s26.x1 {predicate = #model.predicate<le>} : (tensor<5xf32>, tensor<f32>) -> tensor<5xui8>
    %s27.y0 = model.compare %s27.x0, %s27.x1 {predicate = #model.predicate<le>} : (tensor<5x1xf32>, tensor<5xf32>) -> tensor<5x5xui8>
    %s28.y0 = model.compare %s28.x0, %s28.x1 {predicate = #model.predicate<le>} : (tensor<10x5xf32>, tensor<f32>) -> tensor<10x5xui8>
    %s29.y0 = model.compare %s29.x0, %s29.x1 {predicate = #model.predicate<le>} : (tensor<5x10x5xf32>, tensor<10x5xf32>) -> tensor<5x10x5xui8>
    %s30.y0 = model.compare %s30.x0, %s30.x1 {predicate = #model.predicate<le>} : (tensor<5x10x5xf32>, tensor<5x10x5xf32>) -> tensor<5x10x5xui8>
    %s31.y0 = model.compare %s31.x0, %s31.x1 {predicate = #model.predicate<le>} : (tensor<10x1x5xf32>, tensor<10x5xf32>) -> tensor<10x10x5xui8>
    %s32.y0 = model.compare %s32.x0, %s32.x1 {predicate = #model.predicate<le>} : (tensor<10x1x5xf32>, tensor<1x10x5xf32>) -> tensor<10x10x5xui8>
    %s33.y0 = model.compare %s33.x0, %s33.x1 {predicate = #model.predicate<gt>} : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    %s34.y0 = model.compare %s34.x0, %s34.x1 {predicate = #model.predicate<gt>} : (tensor<5xf32>, tensor<f32>) -> tensor<5xui8>
    %s35.y0 = model.compare %s35.x0, %s35.x1 {predicate = #model.predicate<gt>} : (tensor<5x1xf32>, tensor<5xf32>) -> tensor<5x5xui8>
    %s36.y0 = model.compare %s36.x0, %s36.x1 {predicate = #model.predicate<gt>} : (tensor<10x5xf32>, tensor<f32>) -> tensor<10x5xui8>
    %s37.y0 = model.compare %s37.x0, %s37.x1 {predicate = #model.predicate<gt>} : (tensor<5x10x5xf32>, tensor<10x5xf32>) -> tensor<5x10x5xui8>
    %s38.y0 = model.compare %s38.x0, %s38.x1 {predicate = #model.predicate<gt>} : (tensor<5x10x5xf32>, tensor<5x10x5xf32>) -> tensor<5x10x5xui8>
    %s39.y0 = model.compare %s39.x0, %s39.x1 {predicate = #model.predicate<gt>} : (tensor<10x1x5xf32>, tensor<10x5xf32>) -> tensor<10x10x5xui8>
    %s40.y0 = model.compare %s40.x0, %s40.x1 {predicate = #model.predicate<gt>} : (tensor<10x1x5xf32>, tensor<1x10x5xf32>) -> tensor<10x10x5xui8>
    %s41.y0 = model.compare %s41.x0, %s41.x1 {predicate = #model.predicate<ge>} : (tensor<f32>, tensor<f32>) -> tensor<ui8>
    %s42.y0 = model.compare %s42.x0, %s42.x1 {predicate = #model.predicate<ge>} : (tensor<5xf32>, tensor<f32>) -> tensor<5xui8>
    %s43.y0 = model.compare %s43.x0, %s43.x1 {predicate = #model.predicate<ge>} : (tensor<5x1xf32>, tensor<5xf32>) -> tensor<5x5xui8>
    %s44.y0 = model.compare %s44.x0, %s44.x1 {predicate = #model.predicate<ge>} : (tensor<10x5xf32>, tensor<f32>) -> tensor<10x5xui8>
    %s45.y0 = model.compare %s45.x0, %s45.x1 {predicate = #model.predicate<ge>} : (tensor<5x10x5xf32>, tensor<10x5xf32>) -> tensor<5x10x5xui8>
    %s46.y0 = model.compare %s46.x0, %s46.x1 {predicate = #model.predicate<ge>} : (tensor<5x10x5xf32>, tensor<5x10x5xf32>) -> tensor<5x10x5xui8>
    %s47.y0 = model.compare %s47.x0, %s47.x1 {predicate = #model.predicate<ge>} : (tensor<10x1x5xf32>, tensor<10x5xf32>) -> tensor<10x10x5xui8>
    %s48.y0 = model.compare %s48.x0, %s48.x1 {predicate = #model.predicate<ge>} : (tensor<10x1x5xf32>, tensor<1x10x5xf32>) -> tensor<10x10x5xui8>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0, %s12.y0, %s13.y0, %s14.y0, %s15.y0, %s16.y0, %s17.y0, %s18.y0, %s19.y0, %s20.y0, %s21.y0, %s22.y0, %s23.y0, %s24.y0, %s25.y0, %s26.y0, %s27.y0, %s28.y0, %s29.y0, %s30.y0, %s31.y0, %s32.y0, %s33.y0, %s34.y0, %s35.y0, %s36.y0, %s37.y0, %s38.y0, %s39.y0, %s40.y0, %s41.y0, %s42.y0, %s43.y0, %s44.y0, %s45.y0, %s46.y0, %s47.y0, %s48.y0
      : tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<5x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>
  }
  func.func @bf16(
      %s0.x0: tensor<bf16> {model.input = "bf16.s0.x0"},
      %s0.x1: tensor<bf16> {model.input = "bf16.s0.x1"},
      %s1.x0: tensor<5xbf16> {model.input = "bf16.s1.x0"},
      %s1.x1: tensor<bf16> {model.input = "bf16.s1.x1"},
      %s2.x0: tensor<5x1xbf16> {model.input = "bf16.s2.x0"},
      %s2.x1: tensor<5xbf16> {model.input = "bf16.s2.x1"},
      %s3.x0: tensor<10x5xbf16> {model.input = "bf16.s3.x0"},
      %s3.x1: tensor<bf16> {model.input = "bf16.s3.x1"},
      %s4.x0: tensor<5x10x5xbf16> {model.input = "bf16.s4.x0"},
      %s4.x1: tensor<10x5xbf16> {model.input = "bf16.s4.x1"},
      %s5.x0: tensor<5x10x5xbf16> {model.input = "bf16.s5.x0"},
      %s5.x1: tensor<5x10x5xbf16> {model.input = "bf16.s5.x1"},
      %s6.x0: tensor<10x1x5xbf16> {model.input = "bf16.s6.x0"},
      %s6.x1: tensor<10x5xbf16> {model.input = "bf16.s6.x1"},
      %s7.x0: tensor<10x1x5xbf16> {model.input = "bf16.s7.x0"},
      %s7.x1: tensor<1x10x5xbf16> {model.input = "bf16.s7.x1"},
      %s8.x0: tensor<5x5xbf16> {model.input = "bf16.s8.x0"},
      %s8.x1: tensor<5x5xbf16> {model.input = "bf16.s8.x1"},
      %s9.x0: tensor<bf16> {model.input = "bf16.s9.x0"},
      %s9.x1: tensor<bf16> {model.input = "bf16.s9.x1"},
      %s10.x0: tensor<5xbf16> {model.input = "bf16.s10.x0"},
      %s10.x1: tensor<bf16> {model.input = "bf16.s10.x1"},
      %s11.x0: tensor<5x1xbf16> {model.input = "bf16.s11.x0"},
      %s11.x1: tensor<5xbf16> {model.input = "bf16.s11.x1"},
      %s12.x0: tensor<10x5xbf16> {model.input = "bf16.s12.x0"},
      %s12.x1: tensor<bf16> {model.input = "bf16.s12.x1"},
      %s13.x0: tensor<5x10x5xbf16> {model.input = "bf16.s13.x0"},
      %s13.x1: tensor<10x5xbf16> {model.input = "bf16.s13.x1"},
      %s14.x0: tensor<5x10x5xbf16> {model.input = "bf16.s14.x0"},
      %s14.x1: tensor<5x10x5xbf16> {model.input = "bf16.s14.x1"},
      %s15.x0: tensor<10x1x5xbf16> {model.input = "bf16.s15.x0"},
      %s15.x1: tensor<10x5xbf16> {model.input = "bf16.s15.x1"},
      %s16.x0: tensor<10x1x5xbf16> {model.input = "bf16.s16.x0"},
      %s16.x1: tensor<1x10x5xbf16> {model.input = "bf16.s16.x1"},
      %s17.x0: tensor<bf16> {model.input = "bf16.s17.x0"},
      %s17.x1: tensor<bf16> {model.input = "bf16.s17.x1"},
      %s18.x0: tensor<5xbf16> {model.input = "bf16.s18.x0"},
      %s18.x1: tensor<bf16> {model.input = "bf16.s18.x1"},
      %s19.x0: tensor<5x1xbf16> {model.input = "bf16.s19.x0"},
      %s19.x1: tensor<5xbf16> {model.input = "bf16.s19.x1"},
      %s20.x0: tensor<10x5xbf16> {model.input = "bf16.s20.x0"},
      %s20.x1: tensor<bf16> {model.input = "bf16.s20.x1"},
      %s21.x0: tensor<5x10x5xbf16> {model.input = "bf16.s21.x0"},
      %s21.x1: tensor<10x5xbf16> {model.input = "bf16.s21.x1"},
      %s22.x0: tensor<5x10x5xbf16> {model.input = "bf16.s22.x0"},
      %s22.x1: tensor<5x10x5xbf16> {model.input = "bf16.s22.x1"},
      %s23.x0: tensor<10x1x5xbf16> {model.input = "bf16.s23.x0"},
      %s23.x1: tensor<10x5xbf16> {model.input = "bf16.s23.x1"},
      %s24.x0: tensor<10x1x5xbf16> {model.input = "bf16.s24.x0"},
      %s24.x1: tensor<1x10x5xbf16> {model.input = "bf16.s24.x1"},
      %s25.x0: tensor<bf16> {model.input = "bf16.s25.x0"},
      %s25.x1: tensor<bf16> {model.input = "bf16.s25.x1"},
      %s26.x0: tensor<5xbf16> {model.input = "bf16.s26.x0"},
      %s26.x1: tensor<bf16> {model.input = "bf16.s26.x1"},
      %s27.x0: tensor<5x1xbf16> {model.input = "bf16.s27.x0"},
      %s27.x1: tensor<5xbf16> {model.input = "bf16.s27.x1"},
      %s28.x0: tensor<10x5xbf16> {model.input = "bf16.s28.x0"},
      %s28.x1: tensor<bf16> {model.input = "bf16.s28.x1"},
      %s29.x0: tensor<5x10x5xbf16> {model.input = "bf16.s29.x0"},
      %s29.x1: tensor<10x5xbf16> {model.input = "bf16.s29.x1"},
      %s30.x0: tensor<5x10x5xbf16> {model.input = "bf16.s30.x0"},
      %s30.x1: tensor<5x10x5xbf16> {model.input = "bf16.s30.x1"},
      %s31.x0: tensor<10x1x5xbf16> {model.input = "bf16.s31.x0"},
      %s31.x1: tensor<10x5xbf16> {model.input = "bf16.s31.x1"},
      %s32.x0: tensor<10x1x5xbf16> {model.input = "bf16.s32.x0"},
      %s32.x1: tensor<1x10x5xbf16> {model.input = "bf16.s32.x1"},
      %s33.x0: tensor<bf16> {model.input = "bf16.s33.x0"},
      %s33.x1: tensor<bf16> {model.input = "bf16.s33.x1"},
      %s34.x0: tensor<5xbf16> {model.input = "bf16.s34.x0"},
      %s34.x1: tensor<bf16> {model.input = "bf16.s34.x1"},
      %s35.x0: tensor<5x1xbf16> {model.input = "bf16.s35.x0"},
      %s35.x1: tensor<5xbf16> {model.input = "bf16.s35.x1"},
      %s36.x0: tensor<10x5xbf16> {model.input = "bf16.s36.x0"},
      %s36.x1: tensor<bf16> {model.input = "bf16.s36.x1"},
      %s37.x0: tensor<5x10x5xbf16> {model.input = "bf16.s37.x0"},
      %s37.x1: tensor<10x5xbf16> {model.input = "bf16.s37.x1"},
      %s38.x0: tensor<5x10x5xbf16> {model.input = "bf16.s38.x0"},
      %s38.x1: tensor<5x10x5xbf16> {model.input = "bf16.s38.x1"},
      %s39.x0: tensor<10x1x5xbf16> {model.input = "bf16.s39.x0"},
      %s39.x1: tensor<10x5xbf16> {model.input = "bf16.s39.x1"},
      %s40.x0: tensor<10x1x5xbf16> {model.input = "bf16.s40.x0"},
      %s40.x1: tensor<1x10x5xbf16> {model.input = "bf16.s40.x1"},
      %s41.x0: tensor<bf16> {model.input = "bf16.s41.x0"},
      %s41.x1: tensor<bf16> {model.input = "bf16.s41.x1"},
      %s42.x0: tensor<5xbf16> {model.input = "bf16.s42.x0"},
      %s42.x1: tensor<bf16> {model.input = "bf16.s42.x1"},
      %s43.x0: tensor<5x1xbf16> {model.input = "bf16.s43.x0"},
      %s43.x1: tensor<5xbf16> {model.input = "bf16.s43.x1"},
      %s44.x0: tensor<10x5xbf16> {model.input = "bf16.s44.x0"},
      %s44.x1: tensor<bf16> {model.input = "bf16.s44.x1"},
      %s45.x0: tensor<5x10x5xbf16> {model.input = "bf16.s45.x0"},
      %s45.x1: tensor<10x5xbf16> {model.input = "bf16.s45.x1"},
      %s46.x0: tensor<5x10x5xbf16> {model.input = "bf16.s46.x0"},
      %s46.x1: tensor<5x10x5xbf16> {model.input = "bf16.s46.x1"},
      %s47.x0: tensor<10x1x5xbf16> {model.input = "bf16.s47.x0"},
      %s47.x1: tensor<10x5xbf16> {model.input = "bf16.s47.x1"},
      %s48.x0: tensor<10x1x5xbf16> {model.input = "bf16.s48.x0"},
      %s48.x1: tensor<1x10x5xbf16> {model.input = "bf16.s48.x1"})
   -> (tensor<ui8> {model.output = "bf16.s0.y0"},
       tensor<5xui8> {model.output = "bf16.s1.y0"},
       tensor<5x5xui8> {model.output = "bf16.s2.y0"},
       tensor<10x5xui8> {model.output = "bf16.s3.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s4.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s5.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s6.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s7.y0"},
       tensor<5x5xui8> {model.output = "bf16.s8.y0"},
       tensor<ui8> {model.output = "bf16.s9.y0"},
       tensor<5xui8> {model.output = "bf16.s10.y0"},
       tensor<5x5xui8> {model.output = "bf16.s11.y0"},
       tensor<10x5xui8> {model.output = "bf16.s12.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s13.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s14.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s15.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s16.y0"},
       tensor<ui8> {model.output = "bf16.s17.y0"},
       tensor<5xui8> {model.output = "bf16.s18.y0"},
       tensor<5x5xui8> {model.output = "bf16.s19.y0"},
       tensor<10x5xui8> {model.output = "bf16.s20.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s21.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s22.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s23.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s24.y0"},
       tensor<ui8> {model.output = "bf16.s25.y0"},
       tensor<5xui8> {model.output = "bf16.s26.y0"},
       tensor<5x5xui8> {model.output = "bf16.s27.y0"},
       tensor<10x5xui8> {model.output = "bf16.s28.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s29.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s30.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s31.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s32.y0"},
       tensor<ui8> {model.output = "bf16.s33.y0"},
       tensor<5xui8> {model.output = "bf16.s34.y0"},
       tensor<5x5xui8> {model.output = "bf16.s35.y0"},
       tensor<10x5xui8> {model.output = "bf16.s36.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s37.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s38.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s39.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s40.y0"},
       tensor<ui8> {model.output = "bf16.s41.y0"},
       tensor<5xui8> {model.output = "bf16.s42.y0"},
       tensor<5x5xui8> {model.output = "bf16.s43.y0"},
       tensor<10x5xui8> {model.output = "bf16.s44.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s45.y0"},
       tensor<5x10x5xui8> {model.output = "bf16.s46.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s47.y0"},
       tensor<10x10x5xui8> {model.output = "bf16.s48.y0"})
      attributes {model.entry = #model.entry<forward>} {
    %s0.y0 = model.compare %s0.x0, %s0.x1 {predicate = #model.predicate<eq>} : (tensor<bf16>, tensor<bf16>) -> tensor<ui8>
    %s1.y0 = model.compare %s1.x0, %s1.x1 {predicate = #model.predicate<eq>} : (tensor<5xbf16>, tensor<bf16>) -> tensor<5xui8>
    %s2.y0 = model.compare %s2.x0, %s2.x1 {predicate = #model.predicate<eq>} : (tensor<5x1xbf16>, tensor<5xbf16>) -> tensor<5x5xui8>
    %s3.y0 = model.compare %s3.x0, %s3.x1 {predicate = #model.predicate<eq>} : (tensor<10x5xbf16>, tensor<bf16>) -> tensor<10x5xui8>
    %s4.y0 = model.compare %s4.x0, %s4.x1 {predicate = #model.predicate<eq>} : (tensor<5x10x5xbf16>, tensor<10x5xbf16>) -> tensor<5x10x5xui8>
    %s5.y0 = model.compare %s5.x0, %s5.x1 {predicate = #model.predicate<eq>} : (tensor<5x10x5xbf16>, tensor<5x10x5xbf16>) -> tensor<5x10x5xui8>
    %s6.y0 = model.compare %s6.x0, %s6.x1 {predicate = #model.predicate<eq>} : (tensor<10x1x5xbf16>, tensor<10x5xbf16>) -> tensor<10x10x5xui8>
    %s7.y0 = model.compare %s7.x0, %s7.x1 {predicate = #model.predicate<eq>} : (tensor<10x1x5xbf16>, tensor<1x10x5xbf16>) -> tensor<10x10x5xui8>
    %s8.y0 = model.compare %s8.x0, %s8.x1 {predicate = #model.predicate<eq>} : (tensor<5x5xbf16>, tensor<5x5xbf16>) -> tensor<5x5xui8>
    %s9.y0 = model.compare %s9.x0, %s9.x1 {predicate = #model.predicate<ne>} : (tensor<bf16>, tensor<bf16>) -> tensor<ui8>
    %s10.y0 = model.compare %s10.x0, %s10.x1 {predicate = #model.predicate<ne>} : (tensor<5xbf16>, tensor<bf16>) -> tensor<5xui8>
    %s11.y0 = model.compare %s11.x0, %s11.x1 {predicate = #model.predicate<ne>} : (tensor<5x1xbf16>, tensor<5xbf16>) -> tensor<5x5xui8>
    %s12.y0 = model.compare %s12.x0, %s12.x1 {predicate = #model.predicate<ne>} : (tensor<10x5xbf16>, tensor<bf16>) -> tensor<10x5xui8>
    %s13.y0 = model.compare %s13.x0, %s13.x1 {predicate = #model.predicate<ne>} : (tensor<5x10x5xbf16>, tensor<10x5xbf16>) -> tensor<5x10x5xui8>
    %s14.y0 = model.compare %s14.x0, %s14.x1 {predicate = #model.predicate<ne>} : (tensor<5x10x5xbf16>, tensor<5x10x5xbf16>) -> tensor<5x10x5xui8>
    %s15.y0 = model.compare %s15.x0, %s15.x1 {predicate = #model.predicate<ne>} : (tensor<10x1x5xbf16>, tensor<10x5xbf16>) -> tensor<10x10x5xui8>
    %s16.y0 = model.compare %s16.x0, %s16.x1 {predicate = #model.predicate<ne>} : (tensor<10x1x5xbf16>, tensor<1x10x5xbf16>) -> tensor<10x10x5xui8>
    %s17.y0 = model.compare %s17.x0, %s17.x1 {predicate = #model.predicate<lt>} : (tensor<bf16>, tensor<bf16>) -> tensor<ui8>
    %s18.y0 = model.compare %s18.x0, %s18.x1 {predicate = #model.predicate<lt>} : (tensor<5xbf16>, tensor<bf16>) -> tensor<5xui8>
    %s19.y0 = model.compare %s19.x0, %s19.x1 {predicate = #model.predicate<lt>} : (tensor<5x1xbf16>, tensor<5xbf16>) -> tensor<5x5xui8>
    %s20.y0 = model.compare %s20.x0, %s20.x1 {predicate = #model.predicate<lt>} : (tensor<10x5xbf16>, tensor<bf16>) -> tensor<10x5xui8>
    %s21.y0 = model.compare %s21.x0, %s21.x1 {predicate = #model.predicate<lt>} : (tensor<5x10x5xbf16>, tensor<10x5xbf16>) -> tensor<5x10x5xui8>
    %s22.y0 = model.compare %s22.x0, %s22.x1 {predicate = #model.predicate<lt>} : (tensor<5x10x5xbf16>, tensor<5x10x5xbf16>) -> tensor<5x10x5xui8>
    %s23.y0 = model.compare %s23.x0, %s23.x1 {predicate = #model.predicate<lt>} : (tensor<10x1x5xbf16>, tensor<10x5xbf16>) -> tensor<10x10x5xui8>
    %s24.y0 = model.compare %s24.x0, %s24.x1 {predicate = #model.predicate<lt>} : (tensor<10x1x5xbf16>, tensor<1x10x5xbf16>) -> tensor<10x10x5xui8>
    %s25.y0 = model.compare %s25.x0, %s25.x1 {predicate = #model.predicate<le>} : (tensor<bf16>, tensor<bf16>) -> tensor<ui8>
    %s26.y0 = model.compare %s26.x0, %s26.x1 {predicate = #model.predicate<le>} : (tensor<5xbf16>, tensor<bf16>) -> tensor<5xui8>
    %s27.y0 = model.compare %s27.x0, %s27.x1 {predicate = #model.predicate<le>} : (tensor<5x1xbf16>, tensor<5xbf16>) -> tensor<5x5xui8>
    %s28.y0 = model.compare %s28.x0, %s28.x1 {predicate = #model.predicate<le>} : (tensor<10x5xbf16>, tensor<bf16>) -> tensor<10x5xui8>
    %s29.y0 = model.compare %s29.x0, %s29.x1 {predicate = #model.predicate<le>} : (tensor<5x10x5xbf16>, tensor<10x5xbf16>) -> tensor<5x10x5xui8>
    %s30.y0 = model.compare %s30.x0, %s30.x1 {predicate = #model.predicate<le>} : (tensor<5x10x5xbf16>, tensor<5x10x5xbf16>) -> tensor<5x10x5xui8>
    %s31.y0 = model.compare %s31.x0, %s31.x1 {predicate = #model.predicate<le>} : (tensor<10x1x5xbf16>, tensor<10x5xbf16>) -> tensor<10x10x5xui8>
    %s32.y0 = model.compare %s32.x0, %s32.x1 {predicate = #model.predicate<le>} : (tensor<10x1x5xbf16>, tensor<1x10x5xbf16>) -> tensor<10x10x5xui8>
    %s33.y0 = model.compare %s33.x0, %s33.x1 {predicate = #model.predicate<gt>} : (tensor<bf16>, tensor<bf16>) -> tensor<ui8>
    %s34.y0 = model.compare %s34.x0, %s34.x1 {predicate = #model.predicate<gt>} : (tensor<5xbf16>, tensor<bf16>) -> tensor<5xui8>
    %s35.y0 = model.compare %s35.x0, %s35.x1 {predicate = #model.predicate<gt>} : (tensor<5x1xbf16>, tensor<5xbf16>) -> tensor<5x5xui8>
    %s36.y0 = model.compare %s36.x0, %s36.x1 {predicate = #model.predicate<gt>} : (tensor<10x5xbf16>, tensor<bf16>) -> tensor<10x5xui8>
    %s37.y0 = model.compare %s37.x0, %s37.x1 {predicate = #model.predicate<gt>} : (tensor<5x10x5xbf16>, tensor<10x5xbf16>) -> tensor<5x10x5xui8>
    %s38.y0 = model.compare %s38.x0, %s38.x1 {predicate = #model.predicate<gt>} : (tensor<5x10x5xbf16>, tensor<5x10x5xbf16>) -> tensor<5x10x5xui8>
    %s39.y0 = model.compare %s39.x0, %s39.x1 {predicate = #model.predicate<gt>} : (tensor<10x1x5xbf16>, tensor<10x5xbf16>) -> tensor<10x10x5xui8>
    %s40.y0 = model.compare %s40.x0, %s40.x1 {predicate = #model.predicate<gt>} : (tensor<10x1x5xbf16>, tensor<1x10x5xbf16>) -> tensor<10x10x5xui8>
    %s41.y0 = model.compare %s41.x0, %s41.x1 {predicate = #model.predicate<ge>} : (tensor<bf16>, tensor<bf16>) -> tensor<ui8>
    %s42.y0 = model.compare %s42.x0, %s42.x1 {predicate = #model.predicate<ge>} : (tensor<5xbf16>, tensor<bf16>) -> tensor<5xui8>
    %s43.y0 = model.compare %s43.x0, %s43.x1 {predicate = #model.predicate<ge>} : (tensor<5x1xbf16>, tensor<5xbf16>) -> tensor<5x5xui8>
    %s44.y0 = model.compare %s44.x0, %s44.x1 {predicate = #model.predicate<ge>} : (tensor<10x5xbf16>, tensor<bf16>) -> tensor<10x5xui8>
    %s45.y0 = model.compare %s45.x0, %s45.x1 {predicate = #model.predicate<ge>} : (tensor<5x10x5xbf16>, tensor<10x5xbf16>) -> tensor<5x10x5xui8>
    %s46.y0 = model.compare %s46.x0, %s46.x1 {predicate = #model.predicate<ge>} : (tensor<5x10x5xbf16>, tensor<5x10x5xbf16>) -> tensor<5x10x5xui8>
    %s47.y0 = model.compare %s47.x0, %s47.x1 {predicate = #model.predicate<ge>} : (tensor<10x1x5xbf16>, tensor<10x5xbf16>) -> tensor<10x10x5xui8>
    %s48.y0 = model.compare %s48.x0, %s48.x1 {predicate = #model.predicate<ge>} : (tensor<10x1x5xbf16>, tensor<1x10x5xbf16>) -> tensor<10x10x5xui8>
    return %s0.y0, %s1.y0, %s2.y0, %s3.y0, %s4.y0, %s5.y0, %s6.y0, %s7.y0, %s8.y0, %s9.y0, %s10.y0, %s11.y0, %s12.y0, %s13.y0, %s14.y0, %s15.y0, %s16.y0, %s17.y0, %s18.y0, %s19.y0, %s20.y0, %s21.y0, %s22.y0, %s23.y0, %s24.y0, %s25.y0, %s26.y0, %s27.y0, %s28.y0, %s29.y0, %s30.y0, %s31.y0, %s32.y0, %s33.y0, %s34.y0, %s35.y0, %s36.y0, %s37.y0, %s38.y0, %s39.y0, %s40.y0, %s41.y0, %s42.y0, %s43.y0, %s44.y0, %s45.y0, %s46.y0, %s47.y0, %s48.y0
      : tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<5x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>, tensor<ui8>, tensor<5xui8>, tensor<5x5xui8>, tensor<10x5xui8>, tensor<5x10x5xui8>, tensor<5x10x5xui8>, tensor<10x10x5xui8>, tensor<10x10x5xui8>
  }
}
