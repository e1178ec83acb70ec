//===- EagerTensors.h - the tensors that PyTorch's ops keep --------------------------------===//
//
// Values of the program that autograd saves, results of the model, and tensors of PyTorch's ops that are no values of
// the program: the ops are those of torch.nn.functional, one for each op of the program before fusion.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERTENSORS_H
#define SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERTENSORS_H

#include "runtime/report/accounts/EagerProgram.h"

namespace sluice {

/// Four instants for each op of the program: before it, its hooks (gather, copy), the op itself, after it (reshard,
/// reduce-scatter).
inline std::size_t before(std::uint32_t op) { return std::size_t(op) * 4; }
inline std::size_t hooks(std::uint32_t op) { return before(op) + 1; }
inline std::size_t during(std::uint32_t op) { return before(op) + 2; }
inline std::size_t after(std::uint32_t op) { return before(op) + 3; }

/// Between the last op of `phase` or of a phase before it and the next op. The program has ops.
std::size_t instantAfter(const EagerProgram &program, plan::Phase phase);

struct EagerTensors {
  /// Over the instants; without gradients of parameters. `outputs`: the tensors that the loss reads, as f32 or wider,
  /// which variables of the training loop hold until the end of the step.
  BytesOverTime activations, outputs;
};

/// `hasLossInModel`: the loss is computed within the model, whose results no variable of the loop holds.
EagerTensors eagerTensors(const EagerProgram &program, bool hasLossInModel = false);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_ACCOUNTS_EAGERTENSORS_H
