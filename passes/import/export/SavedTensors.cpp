//===- SavedTensors.cpp - what PyTorch saves for the backward of an archive's program -----===//

#include "passes/import/export/SavedTensors.h"

#include "passes/import/export/Call.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

//===----------------------------------------------------------------------===//
// Rules of autograd
//===----------------------------------------------------------------------===//

namespace {

/// An operand, or "result", that an op saves for the gradient of an operand.
struct SavedOperand {
  llvm::StringRef saved, gradient;
};

struct SavedRule {
  /// Without overload.
  llvm::StringRef op;
  std::array<SavedOperand, 4> operands;
};

/// derivatives.yaml of PyTorch 2.15. Other ops save nothing that counts: indices, statistics, or operands that ops of
/// the model save too.
constexpr SavedRule rules[] = {
    {"abs", {{{"self", "self"}}}},
    {"addmm", {{{"mat1", "mat2"}, {"mat2", "mat1"}}}},
    {"baddbmm", {{{"batch1", "batch2"}, {"batch2", "batch1"}}}},
    {"bmm", {{{"self", "mat2"}, {"mat2", "self"}}}},
    {"conv1d", {{{"input", "weight"}}}},
    {"conv2d", {{{"input", "weight"}}}},
    {"cos", {{{"self", "self"}}}},
    {"div", {{{"other", "self"}, {"self", "other"}, {"other", "other"}}}},
    {"erf", {{{"self", "self"}}}},
    {"exp", {{{"result", "self"}}}},
    {"gelu", {{{"self", "self"}}}},
    {"group_norm", {{{"input", "input"}}}},
    {"layer_norm", {{{"input", "input"}}}},
    {"linear", {{{"input", "weight"}}}},
    {"log", {{{"self", "self"}}}},
    {"masked_fill", {{{"mask", "self"}}}},
    {"matmul", {{{"self", "other"}, {"other", "self"}}}},
    {"mm", {{{"self", "mat2"}, {"mat2", "self"}}}},
    {"mul", {{{"self", "other"}, {"other", "self"}}}},
    {"pow", {{{"self", "self"}}}},
    {"reciprocal", {{{"result", "self"}}}},
    {"relu", {{{"result", "self"}}}},
    {"rms_norm", {{{"input", "input"}}}},
    {"rsqrt", {{{"result", "self"}}}},
    {"scaled_dot_product_attention", {{{"query", "query"}, {"key", "query"}, {"value", "query"}, {"result", "query"}}}},
    {"sigmoid", {{{"result", "self"}}}},
    {"silu", {{{"self", "self"}}}},
    {"sin", {{{"self", "self"}}}},
    {"softmax", {{{"result", "self"}}}},
    {"softplus", {{{"self", "self"}}}},
    {"sqrt", {{{"result", "self"}}}},
    {"tanh", {{{"result", "self"}}}},
    {"where", {{{"condition", "self"}, {"condition", "other"}}}},
};

std::int64_t elementsOf(llvm::ArrayRef<std::int64_t> sizes) {
  // An archive may state anything.
  std::uint64_t count = 1;
  for (std::int64_t size : sizes)
    count = llvm::SaturatingMultiply(count, static_cast<std::uint64_t>(size));
  return static_cast<std::int64_t>(std::min<std::uint64_t>(count, std::uint64_t(1) << 56));
}

/// True if a view of the strided tensor can have other sizes: each run of dims whose strides join them to one is that
/// of consecutive new dims.
bool isViewable(const TensorMeta &from, llvm::ArrayRef<std::int64_t> sizes) {
  if (from.sizes.empty() || elementsOf(from.sizes) == 0)
    return true;
  std::size_t dim = sizes.size();
  std::int64_t step = from.strides.back(), run = 1, viewed = 1;
  for (std::size_t d = from.sizes.size(); d-- > 0;) {
    run *= from.sizes[d];
    if (d > 0 && (from.sizes[d - 1] == 1 || from.strides[d - 1] == run * step))
      continue;
    while (dim > 0 && (viewed < run || sizes[dim - 1] == 1))
      viewed *= sizes[--dim];
    if (viewed != run)
      return false;
    step = d > 0 ? from.strides[d - 1] : 0;
    run = viewed = 1;
  }
  return dim == 0;
}

//===----------------------------------------------------------------------===//
// The program with PyTorch's memory
//===----------------------------------------------------------------------===//

/// With f32 compute, and with 16-bit compute.
constexpr std::size_t computes = 2;

class Autograd {
public:
  explicit Autograd(const Program &program) {
    for (const InputSpec &input : program.inputs) {
      auto meta = program.graph.tensors.find(input.value);
      if (meta == program.graph.tensors.end())
        continue;
      Known &known = names[input.value];
      known.meta = &meta->second;
      known.hasGradient = input.kind == InputSpec::Kind::parameter && !input.isFrozen;
      // FSDP2 does not cast buffers.
      known.isWide = input.kind == InputSpec::Kind::buffer || input.kind == InputSpec::Kind::constant;
      for (std::size_t &storage : known.storages)
        storage = addStorage({});
    }
    run(program.graph, true);
  }

  std::vector<SavedTensor> saved() const {
    std::vector<SavedTensor> result;
    // The storages of one tensor in both computes are one entry.
    llvm::MapVector<std::pair<const Node *, const void *>, SavedTensor> tensors;
    for (const Storage &storage : storages) {
      if (!storage.isSaved || !storage.node)
        continue;
      SavedTensor &tensor = tensors[{storage.node, storage.tensor}];
      tensor.node = storage.node;
      tensor.isInternal = storage.isInternal;
      tensor.bytes[storage.compute] += storage.bytes;
    }
    for (const auto &[key, tensor] : tensors)
      result.push_back(tensor);
    return result;
  }

private:
  struct Storage {
    /// Null: of an input.
    const Node *node = nullptr;
    /// Identity of the tensor in its node.
    const void *tensor = nullptr;
    std::size_t compute = 0;
    std::int64_t bytes = 0;
    bool isInternal = false, isSaved = false;
  };
  /// The tensor of a name.
  struct Known {
    const TensorMeta *meta = nullptr;
    std::array<std::size_t, computes> storages = {};
    /// f32 also with 16-bit compute.
    bool isWide = false;
    bool hasGradient = false;
    /// Of a conversion to f32: the name of its operand, and its module. The archive has the name of the result also
    /// where other modules read the operand, as the two were one tensor.
    std::string converted, module;
  };

  /// The tensor that a node reads by the name; null if it is unknown.
  const Known *seenBy(const Node &node, llvm::StringRef name) const {
    auto found = names.find(name);
    while (found != names.end() && !found->second.converted.empty() && found->second.module != Modules::pathOf(node))
      found = names.find(found->second.converted);
    return found == names.end() || !found->second.meta ? nullptr : &found->second;
  }

  std::size_t addStorage(Storage storage) {
    storages.push_back(storage);
    return storages.size() - 1;
  }

  static std::int64_t bytesOf(const TensorMeta &meta, bool isWide, std::size_t compute) {
    const std::int64_t element = meta.type == ScalarType::boolean || meta.type == ScalarType::u8 ? 1
                                 : meta.type == ScalarType::i64 || meta.type == ScalarType::f64  ? 8
                                 : meta.type == ScalarType::f32 && compute == 1 && !isWide       ? 2
                                 : meta.type == ScalarType::f32 || meta.type == ScalarType::i32  ? 4
                                                                                                 : 2;
    return element * elementsOf(meta.sizes);
  }

  const Known *find(const Node &node, llvm::StringRef argument) const {
    const Argument *given = node.find(argument);
    if (!given || given->kind != Argument::Kind::tensor || given->names.empty())
      return nullptr;
    return seenBy(node, given->names.front());
  }

  void run(const Graph &graph, bool hasGradients) {
    for (const Node &node : graph.nodes) {
      const bool isRegion = node.inputs.size() >= 2 && node.inputs[0].second.kind == Argument::Kind::boolean &&
                            node.inputs[1].second.graph;
      if (isRegion)
        runRegion(node, hasGradients);
      else if (llvm::StringRef(node.target).starts_with("aten.") && !node.givesSizes)
        runNode(graph, node, hasGradients);
    }
  }

  void runRegion(const Node &node, bool hasGradients) {
    const Graph &graph = *node.inputs[1].second.graph;
    const auto copyNames = [&](const std::string &from, const std::string &to, bool keepsGradient) {
      if (auto found = names.find(from); found != names.end()) {
        Known copy = found->second;
        copy.hasGradient = copy.hasGradient && keepsGradient;
        names[to] = copy;
      }
    };
    for (auto [input, given] : llvm::zip(graph.inputs, llvm::drop_begin(node.inputs, 2)))
      if (!input.names.empty() && !given.second.names.empty())
        copyNames(given.second.names.front(), input.names.front(), true);
    const bool hasInner = hasGradients && node.inputs[0].second.integers.front() != 0;
    run(graph, hasInner);
    for (auto [output, given] : llvm::zip(node.outputs, graph.outputs))
      if (!output.empty() && !given.names.empty())
        copyNames(given.names.front(), output, hasInner);
  }

  void runNode(const Graph &graph, const Node &node, bool hasGradients) {
    llvm::StringRef name = llvm::StringRef(node.target).drop_front(llvm::StringRef("aten.").size());
    llvm::StringRef packet = name.split('.').first;
    const AtenOp *op = findAtenOp(name);
    const bool isInPlace = !op && packet.ends_with("_") && !packet.starts_with("__");
    if (isInPlace)
      packet = packet.drop_back();
    bool isWide = true, hasGradient = false, hasOperand = false;
    const Known *first = nullptr;
    for (const auto &[key, argument] : node.inputs)
      for (const std::string &each : argument.names)
        if (const Known *known = seenBy(node, each)) {
          const Known &operand = *known;
          first = first ? first : &operand;
          hasGradient |= operand.hasGradient;
          if (!isFloat(operand.meta->type))
            continue;
          isWide = hasOperand ? isWide || operand.isWide : operand.isWide;
          hasOperand = true;
        }
    hasGradient &= hasGradients && packet != "detach";
    // `to.dtype_layout` moves a tensor to a device.
    const bool isConversion = name == "to.dtype" || packet == "_to_copy";
    const std::optional<Known> operand = first ? std::optional(*first) : std::nullopt;
    for (const std::string &output : node.outputs) {
      auto meta = graph.tensors.find(output);
      if (output.empty() || meta == graph.tensors.end())
        continue;
      Known &result = names[output];
      result = Known();
      result.meta = &meta->second;
      result.hasGradient = hasGradient && isFloat(meta->second.type);
      result.isWide = isWide;
      bool isView = operand && (isInPlace || sharesMemory(node, op, *operand, meta->second));
      if (isConversion && operand && isFloat(operand->meta->type)) {
        result.isWide = !operand->isWide;
        if (result.isWide) {
          result.converted = node.inputs.front().second.names.front();
          result.module = Modules::pathOf(node);
        }
      }
      for (std::size_t compute = 0; compute < computes; ++compute) {
        const bool differs = compute == 1 && isConversion && operand && result.isWide != operand->isWide;
        result.storages[compute] =
            isView && !differs
                ? operand->storages[compute]
                : addStorage({&node, &output, compute, bytesOf(meta->second, result.isWide, compute), false, false});
      }
      if (result.hasGradient)
        save(node, packet, result);
    }
  }

  /// True if the result is a view of the first operand.
  static bool sharesMemory(const Node &node, const AtenOp *op, const Known &operand, const TensorMeta &result) {
    switch (op ? op->memory : Memory::fresh) {
    case Memory::fresh:
      return false;
    case Memory::view:
      return true;
    case Memory::viewIfSame: {
      const Argument *rate = node.find("p"), *isTraining = node.find("train");
      const bool drops = rate && (rate->numbers.empty() ? !rate->integers.empty() && rate->integers.front() != 0
                                                        : rate->numbers.front() != 0);
      if (rate)
        return !drops || (isTraining && !isTraining->integers.empty() && isTraining->integers.front() == 0);
      return operand.meta->type == result.type && operand.meta->sizes == result.sizes;
    }
    case Memory::viewIfContiguous:
      // Contiguous is what one dim can view.
      return isViewable(*operand.meta, elementsOf(result.sizes));
    case Memory::viewIfContiguousElseUnknown:
      return isViewable(*operand.meta, result.sizes);
    }
    llvm_unreachable("covered");
  }

  void save(const Node &node, llvm::StringRef packet, const Known &result) {
    const auto keep = [&](const Known &known) {
      for (std::size_t storage : known.storages)
        storages[storage].isSaved = true;
    };
    const auto rule = llvm::find_if(rules, [&](const SavedRule &each) { return each.op == packet; });
    if (rule != std::end(rules))
      for (const SavedOperand &each : rule->operands)
        if (const Known *reason = each.gradient.empty() ? nullptr : find(node, each.gradient);
            reason && reason->hasGradient)
          if (const Known *saved = each.saved == "result" ? &result : find(node, each.saved))
            keep(*saved);
    const auto keepInternal = [&](const TensorMeta &meta, bool isWide) {
      for (std::size_t compute = 0; compute < computes; ++compute)
        addStorage({&node, &meta, compute, bytesOf(meta, isWide, compute), true, true});
    };
    if (packet == "cross_entropy_loss") {
      // The log-probabilities, in the type of the logits.
      if (const Known *logits = find(node, "self"))
        keepInternal(*logits->meta, logits->isWide);
    } else if (packet == "scaled_dot_product_attention") {
      // A mask of booleans becomes one of the type of the queries, with -infinity where no key is seen.
      const Known *mask = find(node, "attn_mask"), *query = find(node, "query");
      if (mask && query && isFloat(mask->meta->type)) {
        keep(*mask);
      } else if (mask && query) {
        masks.push_back(std::make_unique<TensorMeta>(*mask->meta));
        masks.back()->type = query->meta->type;
        keepInternal(*masks.back(), query->isWide);
      }
    }
  }

  /// By name of the graph; names are unique in the program and its regions, as far as they matter.
  llvm::StringMap<Known> names;
  std::vector<Storage> storages;
  std::vector<std::unique_ptr<TensorMeta>> masks;
};

} // namespace

std::vector<SavedTensor> exported::savedTensors(const Program &program) { return Autograd(program).saved(); }
