//===- GraphImport.cpp - runs a program op by op, and builds the model's ops --------------===//

#include "passes/import/export/GraphImport.h"

#include "passes/import/export/SavedTensors.h"
#include "runtime/base/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

/// The number of a constant, on its placeholder.
static constexpr llvm::StringLiteral constantNumber = "constant";

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value GraphImport::materialize(const Tensor &tensor) {
  if (tensor.value)
    return tensor.value;
  Value &placeholder = placeholders[tensor.constant.get()];
  if (!placeholder) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(builder.getInsertionBlock());
    auto type = RankedTensorType::get(tensor.constant->shape, elementTypeOf(builder, tensor.constant->type));
    auto cast = UnrealizedConversionCastOp::create(builder, type, ValueRange());
    cast->setAttr(constantNumber, builder.getI64IntegerAttr(static_cast<std::int64_t>(constants.size())));
    constants.push_back(tensor.constant);
    placeholder = cast.getResult(0);
  }
  return placeholder;
}

ConstantPtr GraphImport::constantOf(Value value) {
  auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
  auto number = cast ? cast->getAttrOfType<IntegerAttr>(constantNumber) : IntegerAttr();
  return number ? constants[static_cast<std::size_t>(number.getInt())] : nullptr;
}

Value GraphImport::makeDropout(Value x, double rate) {
  rate = dropoutRate(rate);
  if (rate == 0)
    return x;
  ++dropouts;
  const RandomSource source = randomSource();
  return model::DropoutOp::create(builder, x, source.seed, source.step, source.row, builder.getF64FloatAttr(rate),
                                  builder.getI64IntegerAttr(source.key));
}

Location GraphImport::locationOf(const Node &node) {
  Location place = builder.getUnknownLoc();
  if (node.origin.line > 0)
    place = FileLineColLoc::get(builder.getStringAttr(node.origin.file), static_cast<unsigned>(node.origin.line), 0);
  place = withNode(place, node);
  const std::string path = Modules::pathOf(node);
  return path.empty() ? place : Location(NameLoc::get(builder.getStringAttr(path), place));
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

void GraphImport::bind(Scope &scope, llvm::StringRef name, std::shared_ptr<Storage> storage) {
  Binding binding;
  binding.value = storage->value;
  binding.version = storage->version;
  binding.storage = std::move(storage);
  scope[name] = std::move(binding);
}

exported::Tensor GraphImport::resolve(Binding &binding) {
  if (binding.version == binding.storage->version)
    return binding.value;
  Tensor value = binding.storage->value;
  for (const Binding::Step &each : binding.steps) {
    llvm::StringMap<Tensor> operands;
    operands[each.node->inputs.front().second.names.front()] = value;
    std::vector<Tensor> results = compute(*each.node, each.op->name, each.op, operands, each.metas);
    if (results.size() <= each.result)
      return {};
    value = results[each.result];
  }
  binding.value = value;
  binding.version = binding.storage->version;
  return value;
}

exported::Tensor GraphImport::get(Scope &scope, llvm::StringRef name, std::set<std::size_t> &problems) {
  auto found = scope.find(name);
  if (found == scope.end())
    return {};
  problems.insert(found->second.storage->problems.begin(), found->second.storage->problems.end());
  return found->second.storage->problems.empty() ? resolve(found->second) : Tensor();
}

llvm::StringMap<exported::Tensor> GraphImport::operandsOf(const Node &node, Scope &scope,
                                                          std::set<std::size_t> &problems) {
  llvm::StringMap<Tensor> operands;
  for (const auto &[name, argument] : node.inputs)
    if (argument.kind == Argument::Kind::tensor || argument.kind == Argument::Kind::tensors)
      for (const std::string &each : argument.names)
        if (!each.empty() && !operands.contains(each)) {
          const Tensor value = get(scope, each, problems);
          if (value)
            operands[each] = value;
          else if (problems.empty())
            problems.insert(addProblem(node, concat("'", each, "' has no value"), ""));
        }
  return operands;
}

std::size_t GraphImport::addProblem(const Node &node, std::string why, std::string remedy) {
  const std::string op = !node.spelling.empty()                              ? node.spelling
                         : llvm::StringRef(node.target).starts_with("aten.") ? node.target
                                                                             : concat("torch.ops.", node.target);
  for (auto [index, problem] : llvm::enumerate(found))
    if (problem.op == op && problem.why == why && problem.origin.file == node.origin.file &&
        problem.origin.line == node.origin.line) {
      ++problem.count;
      return index;
    }
  found.push_back({node.origin, op, std::move(why), std::move(remedy)});
  return found.size() - 1;
}

void GraphImport::fail(const Node &node, Scope &scope, std::set<std::size_t> problems) {
  for (const std::string &output : node.outputs) {
    auto storage = std::make_shared<Storage>();
    storage->problems = problems;
    bind(scope, output, std::move(storage));
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void GraphImport::run(const Graph &graph, Scope &scope) {
  for (const Node &node : graph.nodes)
    runNode(graph, node, scope);
}

/// All that a constant follows from.
static std::string keyOf(const Node &node, llvm::StringRef op, const llvm::StringMap<exported::Tensor> &operands,
                         const TensorMeta &meta) {
  std::string key = concat(op.str(), " ", static_cast<int>(meta.type), " ", formatShape(meta.sizes));
  for (const auto &[name, argument] : node.inputs) {
    key += concat(" ", name, "=", static_cast<int>(argument.kind));
    for (const std::string &each : argument.names)
      key += concat(",", reinterpret_cast<std::uintptr_t>(operands.lookup(each).constant.get()));
    for (std::int64_t each : argument.integers)
      key += concat(",", each);
    for (double each : argument.numbers)
      key += concat(",", formatNumber(each));
    key += argument.text;
  }
  return key;
}

std::vector<exported::Tensor> GraphImport::compute(const Node &node, llvm::StringRef op, const AtenOp *entry,
                                                   const llvm::StringMap<Tensor> &operands,
                                                   llvm::ArrayRef<const TensorMeta *> metas) {
  builder.setLoc(locationOf(node));
  const auto failed = [&](const Call &call) {
    addProblem(node, call.problem(), call.remedy());
    return std::vector<Tensor>();
  };
  const bool isConstant =
      llvm::all_of(operands, [](const auto &operand) { return operand.second.constant != nullptr; });
  // A product of pairs is no product of their elements.
  const bool isProduct = metas.front()->isComplex && op == "mul.Tensor";
  if (isConstant && !isProduct) {
    Call call(*this, builder, node, op, operands, metas);
    ConstantPtr &known = evaluated[keyOf(node, op, operands, *metas.front())];
    if (!known)
      known = evaluate(call, op);
    if (known && call.problem().empty())
      return {Tensor{{}, known}};
  }
  if (!entry) {
    addProblem(node, "it is not supported", remedyOf(op).str());
    return {};
  }
  Call call(*this, builder, node, op, operands, metas);
  entry->build(call);
  if (!call.problem().empty())
    return failed(call);
  std::vector<Tensor> results = call.results();
  for (auto [index, result] : llvm::enumerate(results))
    if (index < metas.size() && metas[index] && result.shape() != llvm::ArrayRef<std::int64_t>(metas[index]->sizes)) {
      addProblem(node,
                 concat("its result has the shape ", formatShape(result.shape()), ", but the archive states ",
                        formatShape(metas[index]->sizes)),
                 "");
      return {};
    }
  argumentWrites.assign(call.writes().begin(), call.writes().end());
  return results;
}

void GraphImport::runNode(const Graph &graph, const Node &node, Scope &scope) {
  const llvm::StringRef target = node.target;
  if (node.givesSizes) {
    // Sizes follow from the sizes of inputs. A number that is read from data does not.
    if (target.starts_with("aten.item") || target.starts_with("aten._local_scalar_dense") ||
        target.starts_with("aten.nonzero"))
      alwaysBlocking.insert(addProblem(node, "a number or a size that depends on data", "keep it a tensor"));
    return;
  }
  if (!node.problem.empty())
    return fail(node, scope, {addProblem(node, node.problem, node.remedy)});
  if (target.starts_with("aten._assert") || target.starts_with("aten.sym_constrain"))
    return;
  if (target == "higher_order.wrap_with_set_grad_enabled")
    return runRegion(node, scope);
  if (!target.starts_with("aten.")) {
    const std::string remedy =
        target.contains("autocast") ? "remove torch.autocast from the module and set precision.compute in the recipe"
        : target.starts_with("higher_order.") ? "write the module without data-dependent control flow"
                                              : "write the module with ops of torch alone";
    return fail(node, scope, {addProblem(node, "it is not supported", remedy)});
  }
  const llvm::StringRef name = target.drop_front(llvm::StringRef("aten.").size());
  const AtenOp *op = findAtenOp(name);
  if (!op) {
    // "mul_.Tensor" is "mul.Tensor" in place.
    const auto [packet, overload] = name.split('.');
    const std::string functional = name == "bernoulli_.float"  ? "bernoulli.p"
                                   : name == "normal_.default" ? "normal_functional.default"
                                                               : (packet.drop_back() + "." + overload).str();
    if (packet.ends_with("_") && !packet.starts_with("__"))
      if (const AtenOp *entry = findAtenOp(functional))
        return runInPlace(graph, node, *entry, scope);
  }
  std::set<std::size_t> problems;
  const llvm::StringMap<Tensor> operands = operandsOf(node, scope, problems);
  if (!problems.empty())
    return fail(node, scope, std::move(problems));
  llvm::SmallVector<const TensorMeta *> metas;
  for (const std::string &output : node.outputs) {
    auto meta = graph.tensors.find(output);
    metas.push_back(meta == graph.tensors.end() ? nullptr : &meta->second);
  }
  if (metas.empty() || llvm::is_contained(metas, nullptr))
    return fail(node, scope, {addProblem(node, "it has a result of unknown type", "")});
  const std::size_t before = found.size();
  const std::vector<Tensor> results = compute(node, name, op, operands, metas);
  if (results.empty())
    return fail(node, scope, {found.size() > before ? found.size() - 1 : addProblem(node, "it is not supported", "")});
  if (!argumentWrites.empty() && !applyWrites(node, scope, std::exchange(argumentWrites, {})))
    return fail(node, scope, {found.size() - 1});
  const std::string first = !node.inputs.empty() && node.inputs.front().second.kind == Argument::Kind::tensor
                                ? node.inputs.front().second.names.front()
                                : "";
  const Sharing sharing =
      first.empty() ? Sharing::no : sharingOf(graph, node, op, operands.lookup(first), results.front());
  for (auto [index, output] : llvm::enumerate(node.outputs)) {
    if (output.empty() || index >= results.size())
      continue;
    Binding binding;
    if (sharing == Sharing::yes) {
      const Binding &base = scope[first];
      binding.storage = base.storage;
      binding.steps = base.steps;
      binding.steps.push_back({&node, op, static_cast<unsigned>(index), metas});
    } else {
      binding.storage = std::make_shared<Storage>();
      binding.storage->value = results[index];
      binding.storage->mayBeShared = sharing == Sharing::unknown;
      binding.storage->depth = withoutGradient;
    }
    binding.value = results[index];
    binding.version = binding.storage->version;
    scope[output] = std::move(binding);
  }
}

GraphImport::Sharing GraphImport::sharingOf(const Graph &graph, const Node &node, const AtenOp *op,
                                            const Tensor &operand, const Tensor &result) {
  const auto isContiguous = [&] {
    auto meta = graph.tensors.find(node.inputs.front().second.names.front());
    if (meta == graph.tensors.end())
      return false;
    std::int64_t step = 1;
    for (std::size_t dim = meta->second.sizes.size(); dim-- > 0; step *= meta->second.sizes[dim])
      if (meta->second.sizes[dim] != 1 && meta->second.strides[dim] != step)
        return false;
    return true;
  };
  switch (op ? op->memory : Memory::fresh) {
  case Memory::fresh:
    return Sharing::no;
  case Memory::view:
    return Sharing::yes;
  case Memory::viewIfSame:
    return operand.value == result.value && operand.constant == result.constant ? Sharing::yes : Sharing::no;
  case Memory::viewIfContiguous:
    return isContiguous() ? Sharing::yes : Sharing::no;
  case Memory::viewIfContiguousElseUnknown:
    return isContiguous() ? Sharing::yes : Sharing::unknown;
  }
  llvm_unreachable("covered");
}

bool GraphImport::applyWrites(const Node &node, Scope &scope,
                              const std::vector<std::pair<std::string, Value>> &writes) {
  for (const auto &[name, value] : writes) {
    Binding &binding = scope[node.find(name)->names.front()];
    Storage &storage = *binding.storage;
    if (storage.kind != Storage::Kind::buffer || !binding.steps.empty()) {
      storage.problems.insert(
          addProblem(node, concat("argument '", name, "' is no buffer, and the op writes to it"), ""));
      return false;
    }
    storage.value = {value, nullptr};
    ++storage.version;
  }
  return true;
}

void GraphImport::runInPlace(const Graph &graph, const Node &node, const AtenOp &op, Scope &scope) {
  std::set<std::size_t> problems;
  llvm::StringMap<Tensor> operands = operandsOf(node, scope, problems);
  if (!problems.empty())
    return fail(node, scope, std::move(problems));
  if (node.inputs.empty() || node.inputs.front().second.kind != Argument::Kind::tensor || node.outputs.size() != 1)
    return fail(node, scope, {addProblem(node, "it is not supported", "")});
  const std::string target = node.inputs.front().second.names.front();
  if (!scope.contains(target))
    return fail(node, scope, {addProblem(node, concat("'", target, "' has no value"), "")});
  auto meta = graph.tensors.find(node.outputs.front());
  if (meta == graph.tensors.end())
    return fail(node, scope, {addProblem(node, "it has a result of unknown type", "")});
  Binding &binding = scope[target];
  Storage &storage = *binding.storage;
  // Whatever reads the storage would miss the write.
  const auto failWrite = [&](std::set<std::size_t> why) {
    storage.problems.insert(why.begin(), why.end());
    fail(node, scope, std::move(why));
  };
  if (storage.kind == Storage::Kind::parameter || storage.kind == Storage::Kind::input)
    return failWrite(
        {addProblem(node,
                    concat("it writes to the ", storage.kind == Storage::Kind::input ? "input" : "parameter", " '",
                           printable(storage.name), "'"),
                    "write the result to a new tensor")});
  // torch changes the value and keeps the gradient of the earlier value.
  if (storage.kind == Storage::Kind::plain && withoutGradient > storage.depth)
    return failWrite({addProblem(node, "it writes without gradient to a tensor that was computed with gradient",
                                 "write the result to a new tensor")});
  if (storage.mayBeShared)
    return failWrite(
        {addProblem(node, "it writes to a reshape of a tensor that is not contiguous, which may be a copy or not",
                    "write the result to a new tensor")});
  const TensorMeta *metas[] = {&meta->second};
  std::size_t before = found.size();
  const std::vector<Tensor> results = compute(node, op.name, &op, operands, metas);
  if (results.empty())
    return failWrite({found.size() > before ? found.size() - 1 : addProblem(node, "it is not supported", "")});
  Tensor written = results.front();
  const bool isStopped = withoutGradient > 0 && written.value &&
                         isa<FloatType>(cast<RankedTensorType>(written.value.getType()).getElementType());
  if (isStopped)
    written.value = model::StopGradientOp::create(builder, written.value);

  // The values of the views from the storage to the target; then the write goes back through them.
  std::vector<Tensor> values = {storage.value};
  for (const Binding::Step &each : binding.steps) {
    llvm::StringMap<Tensor> first;
    first[each.node->inputs.front().second.names.front()] = values.back();
    std::vector<Tensor> made = compute(*each.node, each.op->name, each.op, first, each.metas);
    if (made.size() <= each.result)
      return failWrite({addProblem(node, "it writes to a view that is not supported", "")});
    values.push_back(made[each.result]);
  }
  const Tensor whole = written;
  for (std::size_t i = binding.steps.size(); i-- > 0;) {
    const Binding::Step &each = binding.steps[i];
    builder.setLoc(locationOf(node));
    llvm::StringMap<Tensor> first;
    first[each.node->inputs.front().second.names.front()] = values[i];
    Call call(*this, builder, *each.node, each.op->name, first, each.metas);
    if (!each.op->writeBack)
      return failWrite({addProblem(node, concat("it writes to a view by '", each.op->name.str(), "'"),
                                   "write the result to a new tensor")});
    written = {each.op->writeBack(call, materialize(values[i]), materialize(written), each.result), nullptr};
    if (!call.problem().empty())
      return failWrite({addProblem(node, call.problem(), call.remedy())});
  }
  storage.value = written;
  ++storage.version;
  binding.value = whole;
  binding.version = storage.version;
  Binding copy = binding;
  scope[node.outputs.front()] = std::move(copy);
}

void GraphImport::runRegion(const Node &node, Scope &scope) {
  const bool isComplete =
      node.inputs.size() >= 2 && node.inputs[0].second.kind == Argument::Kind::boolean && node.inputs[1].second.graph;
  if (!isComplete)
    return fail(node, scope, {addProblem(node, "it is not as the schema says", "")});
  const bool hasGradient = node.inputs[0].second.integers.front() != 0;
  const Graph &graph = *node.inputs[1].second.graph;
  Scope inner;
  if (graph.inputs.size() != node.inputs.size() - 2 || graph.outputs.size() < node.outputs.size())
    return fail(node, scope, {addProblem(node, "it is not as the schema says", "")});
  for (auto [input, given] : llvm::zip_equal(graph.inputs, llvm::drop_begin(node.inputs, 2)))
    if (!input.names.empty() && !given.second.names.empty())
      if (auto found = scope.find(given.second.names.front()); found != scope.end())
        inner[input.names.front()] = found->second;
  withoutGradient += hasGradient ? 0 : 1;
  run(graph, inner);
  withoutGradient -= hasGradient ? 0 : 1;
  for (auto [index, output] : llvm::enumerate(node.outputs)) {
    if (output.empty())
      continue;
    const std::vector<std::string> &names = graph.outputs[index].names;
    // A buffer that the region writes and returns is the buffer after it.
    if (auto found = names.empty() ? inner.end() : inner.find(names.front());
        found != inner.end() && found->second.storage->kind == Storage::Kind::buffer) {
      Binding same = found->second;
      scope[output] = std::move(same);
      continue;
    }
    auto storage = std::make_shared<Storage>();
    if (!names.empty())
      storage->value = get(inner, names.front(), storage->problems);
    if (!storage->value && storage->problems.empty())
      storage->problems.insert(addProblem(node, "a result has no value", ""));
    builder.setLoc(locationOf(node));
    if (!hasGradient && storage->value.value &&
        isa<FloatType>(cast<RankedTensorType>(storage->value.value.getType()).getElementType()))
      storage->value.value = model::StopGradientOp::create(builder, storage->value.value);
    bind(scope, output, std::move(storage));
  }
}

//===----------------------------------------------------------------------===//
// Inputs and constants of the whole graph
//===----------------------------------------------------------------------===//

static void findWritten(const Graph &graph, std::map<std::string, std::string> &roots, std::set<std::string> &written) {
  for (const Node &node : graph.nodes) {
    if (!node.inputs.empty() && node.inputs[0].second.kind == Argument::Kind::boolean && node.inputs.size() >= 2 &&
        node.inputs[1].second.graph) {
      const Graph &inner = *node.inputs[1].second.graph;
      std::map<std::string, std::string> innerRoots;
      for (auto [input, given] : llvm::zip(inner.inputs, llvm::drop_begin(node.inputs, 2)))
        if (!input.names.empty() && !given.second.names.empty())
          if (auto root = roots.find(given.second.names.front()); root != roots.end())
            innerRoots[input.names.front()] = root->second;
      findWritten(inner, innerRoots, written);
      for (auto [output, given] : llvm::zip(node.outputs, inner.outputs))
        if (!output.empty() && !given.names.empty())
          if (auto root = innerRoots.find(given.names.front()); root != innerRoots.end())
            roots[output] = root->second;
      continue;
    }
    if (node.inputs.empty() || node.inputs[0].second.kind != Argument::Kind::tensor)
      continue;
    llvm::StringRef name = node.target;
    name.consume_front("aten.");
    const llvm::StringRef packet = name.split('.').first;
    const AtenOp *op = findAtenOp(name);
    const Argument *training = node.find("training");
    if (op && !(training && training->kind == Argument::Kind::boolean && training->integers.front() == 0))
      for (llvm::StringRef argument : op->written)
        if (const Argument *given = argument.empty() ? nullptr : node.find(argument); given && !given->names.empty())
          if (const auto root = roots.find(given->names.front()); root != roots.end())
            written.insert(root->second);
    const bool isInPlace = packet.ends_with("_") && !packet.starts_with("__");
    const auto root = roots.find(node.inputs[0].second.names.front());
    if (root == roots.end() || !(isInPlace || (op && op->memory != Memory::fresh)))
      continue;
    if (isInPlace)
      written.insert(root->second);
    for (const std::string &output : node.outputs)
      roots[output] = root->second;
  }
}

std::set<std::string> exported::writtenInputs(const Graph &graph) {
  std::map<std::string, std::string> roots;
  for (const Argument &input : graph.inputs)
    for (const std::string &name : input.names)
      roots[name] = name;
  std::set<std::string> written;
  findWritten(graph, roots, written);
  return written;
}
