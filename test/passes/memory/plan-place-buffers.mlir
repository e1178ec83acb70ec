// RUN: sluice-opt %s -plan-place-buffers | FileCheck %s
// RUN: sluice-opt %s -plan-place-buffers -plan-place-buffers | FileCheck %s

// Two persistent buffers, then a region that both entry points share: @a and @b live one after another in @f, @c in @g.

plan.stream @compute on <device> {workspace = 640 : i64}
// CHECK: plan.arena <device> {alignment = 256 : i64, bytes = 912 : i64, peak_live = 432 : i64, persistent = 512 : i64, workspace = 640 : i64}
// CHECK: plan.arena <host> {alignment = 256 : i64, bytes = 16 : i64, peak_live = 16 : i64, persistent = 0 : i64, workspace = 0 : i64}
// CHECK: plan.buffer @w : {{.*}}offset = 0 : i64
plan.buffer @w : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16 : i64}
// CHECK: plan.buffer @v : {{.*}}offset = 256 : i64
plan.buffer @v : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 16 : i64}
// CHECK: plan.buffer @a : {{.*}}offset = 512 : i64
plan.buffer @a : tensor<100xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 400 : i64, entry = "f", begin = 0 : i64, end = 1 : i64}
// CHECK: plan.buffer @b : {{.*}}offset = 512 : i64
plan.buffer @b : tensor<100xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 400 : i64, entry = "f", begin = 1 : i64, end = 2 : i64}
// CHECK: plan.buffer @h : {{.*}}offset = 0 : i64
plan.buffer @h : tensor<4xf32> {space = #plan.space<host>, buffer_class = #plan.class<input>, bytes = 16 : i64, entry = "f", begin = 0 : i64, end = 2 : i64}
// CHECK: plan.buffer @c : {{.*}}offset = 512 : i64
plan.buffer @c : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "g", begin = 0 : i64, end = 1 : i64}
plan.entry @f {
  plan.section "main" repeat 1 {
    plan.fill <@a : 4xf32> with 0.0 on @compute {phase = #plan.phase<forward>}
    plan.fill <@b : 4xf32> with 0.0 on @compute {phase = #plan.phase<forward>}
  }
}
plan.entry @g {
  plan.section "main" repeat 1 {
    plan.fill <@c : 4xf32> with 0.0 on @compute {phase = #plan.phase<forward>}
  }
}
