//===- Optimizer.cpp - optimizer updates in one pass over memory --------------===//
//
// Parameters and states in f32, gradients in f32, bf16 or f16. Coefficients of the step are found in f64. All
// parameters of an update are cut into chunks, and threads share the chunks of all of them.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/OptimizerUpdate.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <algorithm>
#include <cstring>

namespace sluice::cpu {
namespace {

AdamStep adamStep(const OptimizerUpdate &u, const OptimizerUpdate::Step &step) {
  bool isDecoupled = u.kind == kernel::OptimizerKind::adamw;
  return {static_cast<float>(step.clip),
          isDecoupled ? static_cast<float>(1 - step.learningRate * u.weightDecay) : 1.f,
          static_cast<float>(1 - u.beta1),
          static_cast<float>(u.beta2),
          static_cast<float>(1 - u.beta2),
          static_cast<float>(1 / step.rootCorrection2),
          static_cast<float>(u.epsilon),
          static_cast<float>(step.learningRate / step.correction1),
          isDecoupled ? 0.f : static_cast<float>(u.weightDecay)};
}

SgdStep sgdStep(const OptimizerUpdate &u, const OptimizerUpdate::Step &step) {
  return {static_cast<float>(step.clip),         static_cast<float>(u.weightDecay),
          static_cast<float>(u.momentum),        static_cast<float>(step.first ? 1 : 1 - u.dampening),
          static_cast<float>(step.learningRate), u.nesterov};
}

/// One parameter of an update: where its operands begin, and its chunks among those of all.
struct Segment {
  std::size_t input, output;
  std::int64_t elements, columns;
  bool dense;
  std::int64_t firstChunk, chunks;
};

std::vector<Segment> segmentsOf(const OptimizerUpdate &u, const KernelRequest &request) {
  std::vector<Segment> segments;
  std::int64_t next = 0;
  for (std::size_t p = 0; p < u.parameters; ++p) {
    Segment segment{u.inputOf(p), u.outputOf(p), 0, 0, true, next, 0};
    for (std::size_t i = 0; i < 2 + static_cast<std::size_t>(u.states); ++i)
      segment.dense = segment.dense && request.inputs[segment.input + i].isDense();
    for (std::size_t i = 0; i < 1 + static_cast<std::size_t>(u.states); ++i)
      segment.dense = segment.dense && request.outputs[segment.output + i].isDense();
    const Rows rows(request.inputs[segment.input]);
    segment.elements = request.inputs[segment.input].elements();
    segment.columns = rows.columns;
    segment.chunks = segment.elements == 0 ? 0 : segment.dense ? (segment.elements + stretch - 1) / stretch : rows.rows;
    next += segment.chunks;
    if (segment.chunks != 0)
      segments.push_back(segment);
  }
  return segments;
}

/// The offset of a chunk of a segment in `operand`.
std::int64_t offsetIn(const Operand &operand, const Segment &segment, std::int64_t chunk) {
  return segment.dense ? chunk * stretch : Rows(operand).offset(chunk);
}

/// The address of a new value, usually that of the old one.
float *writtenFrom(const Operand &old, const Operand &written, const Segment &segment, std::int64_t chunk,
                   std::int64_t count) {
  const float *from = old.as<float>() + offsetIn(old, segment, chunk);
  float *to = written.as<float>() + offsetIn(written, segment, chunk);
  if (to != from)
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  return to;
}

template <typename G> Bound optimizerOf(const KernelRequest &request, const OptimizerUpdate &update) {
  return makeKernel(request, [&l = loops().of<G>(), u = update, segments = segmentsOf(update, request)](Call &call) {
    if (segments.empty() || !u.isAllowed(call))
      return Status::ok();
    const OptimizerUpdate::Step step = u.step(call);
    const AdamStep adam = adamStep(u, step);
    const SgdStep sgd = sgdStep(u, step);
    forEach(call.threads, segments.back().firstChunk + segments.back().chunks, [&](std::int64_t at) {
      auto next = std::upper_bound(segments.begin(), segments.end(), at,
                                   [](std::int64_t chunk, const Segment &s) { return chunk < s.firstChunk; });
      const Segment &segment = *std::prev(next);
      const std::int64_t chunk = at - segment.firstChunk;
      const std::int64_t count =
          segment.dense ? std::min(stretch, segment.elements - chunk * stretch) : segment.columns;
      const Operand *inputs = &call.inputs[segment.input], *outputs = &call.outputs[segment.output];
      const G *gradient = inputs[1].as<G>() + offsetIn(inputs[1], segment, chunk);
      float *parameter = writtenFrom(inputs[0], outputs[0], segment, chunk, count), *states[2] = {};
      for (int s = 0; s < u.states; ++s)
        states[s] = writtenFrom(inputs[2 + s], outputs[1 + s], segment, chunk, count);
      if (u.kind == kernel::OptimizerKind::sgd)
        l.sgd(sgd, parameter, gradient, states[0], count);
      else
        l.adam(adam, parameter, gradient, states[0], states[1], count);
    });
    return Status::ok();
  });
}

Bound optimizer(kernel::OptimizerKind kind, const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(OptimizerUpdate update, OptimizerUpdate::of(kind, request));
  const DType gradient = request.inputs[1].dtype;
  bool fits = hasLoops(gradient);
  for (std::size_t i = 0; i < update.scalars(); ++i) {
    const bool isGradient = i % update.inputOf(1) == 1;
    fits = fits && contiguousRows(request.inputs[i]) && request.inputs[i].dtype == (isGradient ? gradient : DType::f32);
  }
  for (const Operand &output : request.outputs)
    fits = fits && contiguousRows(output);
  if (!fits)
    return useReference();
  return withLoops(gradient, [&]<typename G>() { return optimizerOf<G>(request, update); });
}

} // namespace

Bound fast::sgd(const KernelRequest &request) { return optimizer(kernel::OptimizerKind::sgd, request); }
Bound fast::adam(const KernelRequest &request) { return optimizer(kernel::OptimizerKind::adam, request); }

Bound fast::adamw(const KernelRequest &request) { return optimizer(kernel::OptimizerKind::adamw, request); }

} // namespace sluice::cpu
