// RUN: sluice-opt %s -plan-choose-kernels="target.device=cuda target.arch=sm_90" | FileCheck %s --check-prefix=AUTO
// RUN: sluice-opt %s -plan-choose-kernels="target.device=cuda target.arch=sm_90 kernels.attention=own" | FileCheck %s --check-prefix=OWN
// RUN: sluice-opt %s -plan-choose-kernels="target.device=cuda" | FileCheck %s --check-prefix=OWN
// RUN: sluice-opt %s -plan-choose-kernels="target.device=cuda target.arch=sm_100" | FileCheck %s --check-prefix=OWN
// RUN: sluice-opt %s -plan-choose-kernels | FileCheck %s --check-prefix=OWN
// RUN: sluice-opt %s -plan-choose-kernels="target.device=cuda target.arch=sm_90" -plan-assign-streams="target.device=cuda" | FileCheck %s --check-prefix=BYTES
// RUN: not sluice-opt %s -plan-choose-kernels="target.device=cuda target.arch=sm_90 kernels.attention=cudnn" 2>&1 | FileCheck %s --check-prefix=REFUSED

// Tests that attention in bf16 is by cuDNN, with the rows that 2,064 MiB of workspace suffice for, and attention in f32, of
// padded operands and at odd addresses by Sluice's kernels.

// OWN-NOT: cudnn
plan.buffer @q : tensor<8x1024x12x64xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 12582912 : i64, entry = "f"}
plan.buffer @o : tensor<8x1024x12x64xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 12582912 : i64, entry = "f"}
plan.buffer @g : tensor<3x8x1024x12x64xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 37748736 : i64, entry = "f"}
plan.buffer @l : tensor<8x12x1024xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 393216 : i64, entry = "f"}
plan.buffer @big : tensor<4x4096x32x128xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 134217728 : i64, entry = "f"}
plan.buffer @bigl : tensor<4x32x4096xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 2097152 : i64, entry = "f"}
plan.buffer @wide : tensor<1x8x1x64xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 2048 : i64, entry = "f"}
plan.buffer @widel : tensor<1x1x8xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 32 : i64, entry = "f"}
plan.buffer @odd : tensor<1x8x1x72xbf16> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 1152 : i64, entry = "f"}
plan.entry @f {
  plan.section "main" repeat 1 {
    // AUTO: plan.launch "attention"
    // AUTO-SAME: {causal = 1 : i64, cudnn = 1 : i64}
    // BYTES: plan.launch "attention"
    // BYTES-SAME: workspace = 65536 : i64
    plan.launch "attention" ins [#plan.view<@q : 8x1024x12x64xbf16>, #plan.view<@q : 8x1024x12x64xbf16>, #plan.view<@q : 8x1024x12x64xbf16>] outs [#plan.view<@o : 8x1024x12x64xbf16>, #plan.view<@l : 8x12x1024xf32>] {causal = 1 : i64} {phase = #plan.phase<forward>}
    // AUTO: plan.launch "attention_grad"
    // AUTO-SAME: {causal = 1 : i64, cudnn = 1 : i64, rows = 8 : i64}
    // BYTES: plan.launch "attention_grad"
    // BYTES-SAME: workspace = 201720064 : i64
    plan.launch "attention_grad" ins [#plan.view<@o : 8x1024x12x64xbf16>, #plan.view<@q : 8x1024x12x64xbf16>, #plan.view<@q : 8x1024x12x64xbf16>, #plan.view<@q : 8x1024x12x64xbf16>, #plan.view<@o : 8x1024x12x64xbf16>, #plan.view<@l : 8x12x1024xf32>] outs [#plan.view<@g : 8x1024x12x64xbf16>, #plan.view<@g : 8x1024x12x64xbf16 offset 12582912>, #plan.view<@g : 8x1024x12x64xbf16 offset 25165824>] {causal = 1 : i64} {phase = #plan.phase<backward>}
    // AUTO: plan.launch "attention_grad"
    // AUTO-SAME: {cudnn = 1 : i64, rows = 2 : i64}
    // BYTES: plan.launch "attention_grad"
    // BYTES-SAME: workspace = 2148532480 : i64
    plan.launch "attention_grad" ins [#plan.view<@big : 4x4096x32x128xbf16>, #plan.view<@big : 4x4096x32x128xbf16>, #plan.view<@big : 4x4096x32x128xbf16>, #plan.view<@big : 4x4096x32x128xbf16>, #plan.view<@big : 4x4096x32x128xbf16>, #plan.view<@bigl : 4x32x4096xf32>] outs [#plan.view<@big : 4x4096x32x128xbf16>, #plan.view<@big : 4x4096x32x128xbf16>, #plan.view<@big : 4x4096x32x128xbf16>] {} {phase = #plan.phase<backward>}
    // AUTO: plan.launch "attention"
    // AUTO-NOT: cudnn
    // AUTO: plan.launch "attention"
    // REFUSED: error: cuDNN has no kernel for 'attention': element types of attention, expected bf16 or f16 throughout and statistics in f32
    // REFUSED: note: 'kernels.attention' = "auto" computes it with Sluice's kernel
    plan.launch "attention" ins [#plan.view<@wide : 1x8x1x64xf32>, #plan.view<@wide : 1x8x1x64xf32>, #plan.view<@wide : 1x8x1x64xf32>] outs [#plan.view<@wide : 1x8x1x64xf32>, #plan.view<@widel : 1x1x8xf32>] {} {phase = #plan.phase<forward>}
    // REFUSED: error: cuDNN has no kernel for 'attention': address and length of an operand, expected multiples of 16 bytes
    plan.launch "attention" ins [#plan.view<@odd : 1x8x1x64xbf16 offset 8 strides [576, 72, 72, 1]>, #plan.view<@odd : 1x8x1x64xbf16 strides [576, 72, 72, 1]>, #plan.view<@odd : 1x8x1x64xbf16 strides [576, 72, 72, 1]>] outs [#plan.view<@odd : 1x8x1x64xbf16 strides [576, 72, 72, 1]>, #plan.view<@widel : 1x1x8xf32>] {} {phase = #plan.phase<forward>}
    // AUTO: plan.launch "attention"
    // AUTO-NOT: cudnn
    // REFUSED: error: cuDNN has no kernel for 'attention': operands that are padded on some ranks
    plan.launch "attention" ins [#plan.view<@odd : 1x8x1x64xbf16 strides [576, 72, 72, 1] valid <dim = 1, chunk = 8, total = 12, axes = ["shard"]>>, #plan.view<@odd : 1x8x1x64xbf16 strides [576, 72, 72, 1]>, #plan.view<@odd : 1x8x1x64xbf16 strides [576, 72, 72, 1]>] outs [#plan.view<@odd : 1x8x1x64xbf16 strides [576, 72, 72, 1]>, #plan.view<@widel : 1x1x8xf32>] {} {phase = #plan.phase<forward>}
  }
}
