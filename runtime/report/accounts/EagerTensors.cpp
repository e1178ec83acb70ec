//===- EagerTensors.cpp - the tensors that PyTorch's ops keep ------------------------------===//
#include "runtime/report/accounts/EagerTensors.h"

#include <algorithm>
#include <map>
#include <set>

namespace sluice {
namespace {

using plan::Phase;

/// Bytes in f32, or in the type of the storage if that is wider.
std::uint64_t wideBytes(const EagerStorage &storage) { return std::max(storage.bytes, 4 * storage.elements); }

class TensorReader {
public:
  explicit TensorReader(const EagerProgram &program)
      : program(program), tensors{BytesOverTime(before(count())), BytesOverTime(before(count()))} {
    addValues();
    for (std::uint32_t i = 0; i < count(); ++i)
      addHiddenTensors(i);
    addDropoutMasks();
  }
  EagerTensors take() { return std::move(tensors); }

private:
  std::uint32_t count() const { return std::uint32_t(program.ops.size()); }

  /// The tensors that the loss reads.
  std::set<const EagerStorage *> modelResults() const {
    std::set<const EagerStorage *> results, visited;
    std::vector<const EagerOp *> pending;
    for (const EagerOp &op : program.ops)
      if (op.phase == Phase::loss)
        pending.push_back(&op);
    while (!pending.empty()) {
      const EagerOp &op = *pending.back();
      pending.pop_back();
      for (std::uint32_t operand : op.operands) {
        const EagerStorage *storage = operand == 0 ? nullptr : &program.storage(operand);
        if (!storage || !storage->bytes || storage->phase != Phase::forward || !visited.insert(storage).second)
          continue;
        // One number is a part of the loss, such as a sum before its cast.
        if (storage->elements == 1)
          pending.push_back(&program.ops[storage->begin]);
        else
          results.insert(storage);
      }
    }
    return results;
  }

  void addValues() {
    const std::set<const EagerStorage *> results = modelResults();
    for (const EagerStorage &storage : program.storages) {
      if (!storage.bytes || storage.isGradient || storage.phase > Phase::backward)
        continue;
      const bool isResult = results.contains(&storage), isWide = storage.bytes == wideBytes(storage);
      if (!isResult || !isWide)
        tensors.activations.add(during(storage.begin), during(isResult ? storage.begin : storage.last), storage.bytes);
      if (isResult)
        tensors.outputs.add(during(storage.begin), after(count() - 1), wideBytes(storage));
    }
  }

  void addHiddenTensors(std::uint32_t i) {
    const EagerOp &op = program.ops[i];
    if (op.phase > Phase::backward || !op.readsFirst())
      return;
    const EagerStorage &first = program.storage(op.operands[0]);
    const std::uint64_t result = op.results.empty() || op.results[0] == 0 ? 0 : program.storage(op.results[0]).bytes;
    const auto add = [&](std::uint32_t last, std::uint64_t bytes) {
      tensors.activations.add(during(i), during(last), bytes);
    };
    if (op.name == "rms_norm" && !program.isCuda && op.results.size() > 1 && op.results[1] != 0)
      add(program.storage(op.results[1]).last, first.bytes); // x / rms(x): one op only on CUDA.
    else if (op.name == "swiglu")
      add(first.last, first.bytes); // silu(gate), which the product saves.
    else if (op.name == "matmul" && hasResidual(op))
      add(i, result); // The product, to which the residual is added.
    else if (op.name == "cross_entropy")
      add(first.last, wideBytes(first)); // Log-probabilities, which both ops of the loss save.
    else if (op.name == "cross_entropy_grad" && op.operands.size() > 1 && op.operands[1] != 0)
      // The gradients of the log-probabilities and of the logits.
      add(i, 2 * wideBytes(program.storage(op.operands[1])) - result);
  }

  bool hasResidual(const EagerOp &op) const {
    const std::uint32_t last = op.operands.back();
    return op.operands.size() > 2 && last != 0 && program.storage(last).parameter < 0;
  }

  /// From the forward op, or the recomputed one, to that of the backward.
  void addDropoutMasks() {
    std::map<std::int64_t, std::vector<std::uint32_t>> byKey;
    for (std::uint32_t i = 0; i < count(); ++i)
      if (program.ops[i].name == "dropout" && program.ops[i].readsFirst())
        for (const auto &attribute : program.ops[i].kind->attributes)
          if (attribute->name == "key")
            byKey[attribute->integer].push_back(i);
    for (const auto &[key, ops] : byKey)
      if (ops.size() > 1) {
        const EagerStorage &cotangent = program.storage(program.ops[ops.back()].operands[0]);
        // A byte for each element on CUDA; the CPU keeps the factors.
        tensors.activations.add(during(ops[ops.size() - 2]), during(ops.back()),
                                program.isCuda ? cotangent.elements : cotangent.bytes);
      }
  }

  const EagerProgram &program;
  EagerTensors tensors;
};

} // namespace

std::size_t instantAfter(const EagerProgram &program, Phase phase) {
  const auto next = std::ranges::find_if(program.ops, [&](const EagerOp &op) { return op.phase > phase; });
  return next == program.ops.end() ? after(std::uint32_t(program.ops.size()) - 1)
                                   : before(std::uint32_t(next - program.ops.begin()));
}

EagerTensors eagerTensors(const EagerProgram &program) { return TensorReader(program).take(); }

} // namespace sluice
