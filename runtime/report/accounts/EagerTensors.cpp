//===- EagerTensors.cpp - the tensors that PyTorch's ops keep ------------------------------===//
#include "runtime/report/accounts/EagerTensors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sluice {
namespace {

using plan::Phase;

/// Bytes in f32, or in the type of the storage if that is wider.
std::uint64_t wideBytes(const EagerStorage &storage) { return std::max(storage.bytes, 4 * storage.elements); }

class TensorReader {
public:
  TensorReader(const EagerProgram &program, bool hasLossInModel)
      : program(program), hasLossInModel(hasLossInModel),
        tensors{BytesOverTime(before(count())), BytesOverTime(before(count()))} {
    if (program.isCuda)
      findAttentionWeights();
    findLoss();
    findRepeated();
    addValues();
    for (std::uint32_t i = 0; i < count(); ++i)
      addHiddenTensors(i);
    addDropoutMasks();
    addCached();
  }
  EagerTensors take() { return std::move(tensors); }

private:
  std::uint32_t count() const { return std::uint32_t(program.ops.size()); }

  bool isNarrow() const {
    return std::ranges::any_of(program.parameters, [](const EagerParameter &own) {
      return own.compute == DType::bf16 || own.compute == DType::f16;
    });
  }

  /// Of an imported op: bytes of the tensors that PyTorch saves there and that are no values of the program; nullopt if
  /// the import does not state them.
  std::optional<std::vector<std::uint64_t>> savedBytes(const EagerOp &op) const {
    const auto saved = std::ranges::find(op.kind->attributes, "saved", [](const auto &one) { return one->name; });
    if (saved == op.kind->attributes.end())
      return std::nullopt;
    std::vector<std::uint64_t> bytes;
    // Pairs: with f32 compute, with 16-bit compute.
    for (std::size_t i = isNarrow() ? 1 : 0; i < (*saved)->list.size(); i += 2)
      bytes.push_back(std::uint64_t(std::max<std::int64_t>((*saved)->list[i], 0)));
    return bytes;
  }

  /// The loss of a module, in the type of its logits: PyTorch converts them to f32 only if the module does.
  void findLoss() {
    for (const EagerOp &op : program.ops)
      if (op.name == "cross_entropy" && op.readsFirst())
        if (const auto saved = savedBytes(op); saved && !saved->empty()) {
          const EagerStorage &logits = program.storage(op.operands[0]);
          if (saved->back() >= wideBytes(logits))
            continue;
          isLossNarrow = true;
          // The import computes the loss in f32.
          if (program.ops[logits.begin].name == "cast")
            casts.insert(&logits);
        }
  }
  std::uint64_t lossBytes(const EagerStorage &storage) const {
    return isLossNarrow ? 2 * storage.elements : wideBytes(storage);
  }

  /// Keys and values that are repeated for the heads that share them: PyTorch saves the repeated ones alone.
  void findRepeated() {
    for (std::uint32_t i = 0; i < count(); ++i) {
      const EagerOp &op = program.ops[i];
      if (op.name == "attention" && repeatsKeys(op))
        for (const std::uint32_t operand : {op.operands[1], op.operands[2]})
          if (&program.storage(operand) != &program.storage(op.operands[0]))
            repeated.emplace(&program.storage(operand), i);
    }
  }
  bool repeatsKeys(const EagerOp &op) const {
    return op.operands.size() > 2 && op.operands[0] != 0 && op.operands[1] != 0 && op.operands[2] != 0 &&
           program.storage(op.operands[1]).elements < program.storage(op.operands[0]).elements &&
           (!program.isCuda || savedBytes(op));
  }

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

  /// The program has several ops for an attention with dropout: products, softmax, dropout. PyTorch on CUDA has one, of
  /// which neither scores nor weights nor their cotangents are tensors: the values between the products.
  void findAttentionWeights() {
    std::map<const EagerStorage *, std::vector<std::uint32_t>> uses;
    std::vector<const EagerStorage *> pending;
    const auto mark = [&](std::uint32_t value, std::uint64_t elements) {
      const EagerStorage *storage = value == 0 ? nullptr : &program.storage(value);
      if (storage && storage->elements == elements && attentionWeights.insert(storage).second)
        pending.push_back(storage);
    };
    for (std::uint32_t i = 0; i < count(); ++i) {
      const EagerOp &op = program.ops[i];
      for (const auto values : {op.operands, op.results})
        for (const std::uint32_t value : values)
          if (value != 0 && !op.name.starts_with("matmul"))
            uses[&program.storage(value)].push_back(i);
      if (op.name == "dropout" && op.readsFirst())
        if (const EagerStorage &weights = program.storage(op.operands[0]); program.ops[weights.begin].name == "softmax")
          mark(op.operands[0], weights.elements);
    }
    while (!pending.empty()) {
      const EagerStorage *storage = pending.back();
      pending.pop_back();
      for (const std::uint32_t i : uses[storage])
        for (const auto values : {program.ops[i].operands, program.ops[i].results})
          for (const std::uint32_t value : values)
            mark(value, storage->elements);
    }
  }

  void addValues() {
    const std::set<const EagerStorage *> results = modelResults();
    for (const EagerStorage &storage : program.storages) {
      if (!storage.bytes || storage.isGradient || storage.phase > Phase::backward ||
          attentionWeights.contains(&storage))
        continue;
      if (casts.contains(&storage))
        continue;
      const bool isResult = results.contains(&storage), isWide = storage.bytes == lossBytes(storage);
      // A loop holds the results until the end of the step, a model that computes the loss until it returns.
      const std::size_t held = hasLossInModel ? after(forwardEnd()) : after(count() - 1);
      const auto repeat = repeated.find(&storage);
      if (repeat != repeated.end())
        tensors.activations.add(during(storage.begin), during(repeat->second), storage.bytes);
      else if (!isResult)
        tensors.activations.add(during(storage.begin), during(storage.last), storage.bytes);
      else if (!isWide)
        tensors.activations.add(during(storage.begin), hasLossInModel ? held : during(storage.begin), storage.bytes);
      if (isResult)
        tensors.outputs.add(during(storage.begin), held, lossBytes(storage));
    }
  }

  std::uint32_t forwardEnd() const {
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < count(); ++i)
      if (program.ops[i].phase == Phase::forward)
        last = i;
    return last;
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
    if (op.name == "attention" && hasDropoutByOps(op) && op.results.size() > 1 && op.results[1] != 0)
      // The weights, the factors of dropout and their product.
      add(program.storage(op.results[1]).last, 3 * op.scores * dtypeBytesOf(first));
    if (op.name == "attention_grad" && hasDropoutByOps(op))
      add(i, 2 * op.scores * dtypeBytesOf(first)); // The cotangents of that product and of the weights.
    const std::optional<std::vector<std::uint64_t>> saved = savedBytes(op);
    if (saved && !op.name.ends_with("cross_entropy")) {
      std::uint32_t last = i;
      for (const std::uint32_t value : op.results)
        last = value == 0 ? last : std::max(last, program.storage(value).last);
      // The copy of a product's operand: the gradient of the weight reads it.
      if (op.name.starts_with("matmul"))
        last = std::max(last, first.last);
      for (const std::uint64_t bytes : *saved)
        add(last, bytes);
    }
    if (op.name == "rms_norm" && !saved && !program.isCuda && op.results.size() > 1 && op.results[1] != 0)
      add(program.storage(op.results[1]).last, first.bytes); // x / rms(x): one op only on CUDA.
    else if (op.name == "attention" && !saved && repeatsKeys(op))
      add(program.storage(op.operands[1]).last, 2 * first.bytes); // Keys and values, repeated for all heads.
    else if (op.name == "swiglu")
      // silu(gate), which the product saves, unless the op is computed again.
      add(isReadInBackward(op) ? first.last : i, first.bytes);
    else if (hasResidual(op))
      add(i, result); // The product, to which the residual is added.
    else if (op.name == "cross_entropy")
      add(first.last, lossBytes(first)); // Log-probabilities, which both ops of the loss save.
    else if (op.name == "cross_entropy_grad" && op.operands.size() > 1 && op.operands[1] != 0) {
      // The gradients of the log-probabilities and of the logits.
      const std::uint64_t both = 2 * lossBytes(program.storage(op.operands[1]));
      add(i, both - std::min(result, both));
    }
  }

  /// PyTorch has attention with dropout as one op only on CUDA.
  bool hasDropoutByOps(const EagerOp &op) const {
    return !program.isCuda &&
           std::ranges::any_of(op.kind->attributes, [](const auto &one) { return one->name == "dropout"; });
  }

  static std::uint64_t dtypeBytesOf(const EagerStorage &storage) {
    return storage.elements == 0 ? 0 : storage.bytes / storage.elements;
  }

  bool hasResidual(const EagerOp &op) const {
    const std::uint32_t last = op.operands.empty() ? 0 : op.operands.back();
    return op.name == "matmul" && op.operands.size() > 2 && last != 0 && program.storage(last).parameter < 0;
  }

  bool isReadInBackward(const EagerOp &op) const {
    return !op.results.empty() && op.results[0] != 0 && program.storage(op.results[0]).lastPhase == Phase::backward;
  }

  /// Selective checkpoints keep the results of all ops that are not computed again, also those that no op reads: until
  /// the backward of the block begins.
  void addCached() {
    if (!program.isSelective)
      return;
    const auto outermost = [](std::string_view block) { return block.substr(0, block.find('/')); };
    std::map<std::string_view, std::uint32_t> backward;
    // Kinds of ops whose results the backward of their block reads.
    std::set<std::pair<std::string_view, std::string_view>> kept;
    for (std::uint32_t i = 0; i < count(); ++i) {
      const EagerOp &op = program.ops[i];
      if (op.phase != Phase::backward || op.block.empty())
        continue;
      backward.try_emplace(outermost(op.block), i);
      for (const std::uint32_t operand : op.operands)
        if (operand != 0 && program.storage(operand).phase == Phase::forward)
          if (const EagerOp &source = program.ops[program.storage(operand).begin];
              outermost(source.block) == outermost(op.block))
            kept.emplace(source.block, source.name);
    }
    for (std::uint32_t i = 0; i < count(); ++i) {
      const EagerOp &op = program.ops[i];
      const auto next = backward.find(outermost(op.block));
      if (op.phase != Phase::forward || next == backward.end() || !kept.contains({op.block, op.name}) ||
          !op.readsFirst() || op.results.empty() || op.results[0] == 0)
        continue;
      // The sum with a residual is another tensor than the product.
      const EagerStorage &result = program.storage(op.results[0]);
      if (result.last < next->second || hasResidual(op))
        tensors.activations.add(during(i), during(next->second), result.bytes);
    }
  }

  /// From the forward op, or the recomputed one, to that of the backward.
  void addDropoutMasks() {
    std::map<std::int64_t, std::vector<std::uint32_t>> byKey;
    for (std::uint32_t i = 0; i < count(); ++i)
      if (program.ops[i].name == "dropout" && program.ops[i].readsFirst() &&
          !attentionWeights.contains(&program.storage(program.ops[i].operands[0])))
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
  const bool hasLossInModel;
  EagerTensors tensors;
  std::set<const EagerStorage *> attentionWeights;
  /// Logits in f32 that a narrow loss does not have.
  std::set<const EagerStorage *> casts;
  /// With the attention that repeats them.
  std::map<const EagerStorage *, std::uint32_t> repeated;
  bool isLossNarrow = false;
};

} // namespace

std::size_t instantAfter(const EagerProgram &program, Phase phase) {
  const auto next = std::ranges::find_if(program.ops, [&](const EagerOp &op) { return op.phase > phase; });
  return next == program.ops.end() ? after(std::uint32_t(program.ops.size()) - 1)
                                   : before(std::uint32_t(next - program.ops.begin()));
}

EagerTensors eagerTensors(const EagerProgram &program, bool hasLossInModel) {
  return TensorReader(program, hasLossInModel).take();
}

} // namespace sluice
