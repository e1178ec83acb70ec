// RUN: sluice-opt %s -model-attach-recipe="set=gradient.microbatches=2,precision.compute=bf16,sharding.units={all='*'},optimizer.no_decay=['*.bias','b']" | FileCheck %s
// RUN: sluice-opt %s -model-attach-recipe="set=mesh.shard=1" | FileCheck %s --check-prefix=DEFAULT
// RUN: not sluice-opt %s -model-attach-recipe="set=mesh.shard=0" 2>&1 | FileCheck %s --check-prefix=BOUND
// RUN: not sluice-opt %s -model-attach-recipe="set=mesh.shrad=2" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not sluice-opt %s -model-attach-recipe="set=optimizer.momentum=0.9" 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: not sluice-opt %s -model-apply-optimizer="set=optimizer.momentum=0.9" 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: not sluice-opt %s -model-apply-optimizer="optimizer.name=sgd set=optimizer.nesterov=true" 2>&1 | FileCheck %s --check-prefix=NESTEROV
// RUN: sluice-opt %s -sluice-input="set=gradient.microbatches=2" | FileCheck %s --check-prefix=PHASE
// RUN: not sluice-opt %s -spmd-sink-waits="schedule.reduce_buffers=none" 2>&1 | FileCheck %s --check-prefix=OPTION

// Tests that settings are added to the module's recipe and are checked like all settings; that the pipelines of phases
// accept them; and that a pass checks its options.

// CHECK: module attributes {model.recipe = {gradient.microbatches = 2 : i64, mesh.shard = 4 : i64, optimizer.no_decay = ["*.bias", "b"], optimizer.weight_decay = 1.000000e-02 : f64, precision.compute = "bf16", sharding.units = {all = "*"}, target.isa = "avx2"}
// CHECK-SAME: model.recipe_origins = {gradient.microbatches = "option gradient.microbatches=2",
// DEFAULT: module attributes {model.recipe = {optimizer.weight_decay
// DEFAULT-NOT: mesh.shard
// BOUND: error: option mesh.shard=0: value of 'mesh.shard', expected an integer of at least 1 and at most 1048576 but got 0
// KEY: error: option mesh.shrad=2: unknown recipe key, expected 'mesh.shard' or another of the recipe's keys but got 'mesh.shrad'
// CONFLICT: error: option optimizer.momentum=0.9: 'optimizer.momentum' = 0.9, expected the optimizer "sgd" but got "adamw"
// NESTEROV: error: option optimizer.nesterov=true: 'optimizer.nesterov' = true, expected 'optimizer.momentum' above 0 but got 0
// PHASE: module attributes {model.recipe = {gradient.microbatches = 2 : i64, mesh.shard = 4 : i64,
// OPTION: error: option schedule.reduce_buffers=none: value of 'schedule.reduce_buffers', expected "auto" or an integer of at least 1 and at most 1024 but got "none"
module attributes {model.recipe = {mesh.shard = 4 : i64, target.isa = "avx2"}} {
  model.parameter @w : tensor<4xf32> ones
  func.func @f(%x: tensor<4xf32> {model.input = "x"}) -> (tensor<4xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w : tensor<4xf32>
    %y = model.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
