// RUN: sluice-opt %s -plan-place-buffers -split-input-file -verify-diagnostics

// Sizes above the limit are an error of the input, reported before the checker runs.
// expected-error @+1 {{memory of one rank, expected at most 256 TiB in space 'device' but got 422212465065984 bytes; fewer rows or tokens, or more ranks, take less of each}}
module {
  plan.buffer @a : tensor<35184372088832xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 140737488355328 : i64}
  plan.buffer @b : tensor<35184372088832xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 140737488355328 : i64, entry = "f", begin = 0 : i64, end = 2 : i64}
  plan.buffer @c : tensor<35184372088832xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 140737488355328 : i64, entry = "f", begin = 1 : i64, end = 2 : i64}
  plan.entry @f {
  }
}

// -----

// At the limit.
module {
  plan.buffer @a : tensor<35184372088832xf32> {space = #plan.space<device>, buffer_class = #plan.class<parameter>, bytes = 140737488355328 : i64}
  plan.buffer @b : tensor<35184372088832xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 140737488355328 : i64, entry = "f", begin = 0 : i64, end = 1 : i64}
  plan.buffer @c : tensor<35184372088832xf32> {space = #plan.space<device>, buffer_class = #plan.class<activation>, bytes = 140737488355328 : i64, entry = "f", begin = 1 : i64, end = 2 : i64}
  plan.entry @f {
  }
}
