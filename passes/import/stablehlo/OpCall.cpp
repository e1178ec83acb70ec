//===- OpCall.cpp - an op of StableHLO that is read, and the tables of ops ------------------===//

#include "passes/import/stablehlo/Translation.h"

#include "runtime/base/Text.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

void OpCall::refuse(std::string text, std::string remedyText) {
  if (!why.empty())
    return;
  why = std::move(text);
  toDo = std::move(remedyText);
}

const std::string &OpCall::operand(unsigned index) {
  if (index < operands.size())
    return operands[index];
  refuse(concat("it has ", operands.size(), " operands"));
  if (operands.empty())
    operands.push_back(graph.full(0, metaOf(ScalarType::f32, {})));
  return operands.front();
}

Attribute OpCall::attribute(llvm::StringRef name) const {
  if (auto properties = llvm::dyn_cast_or_null<DictionaryAttr>(op.getPropertiesAsAttribute()))
    if (Attribute found = properties.get(name))
      return found;
  return op.getDiscardableAttr(name);
}

std::optional<Sizes> OpCall::optionalIntegers(llvm::StringRef name) {
  Attribute found = attribute(name);
  if (!found)
    return std::nullopt;
  if (auto list = llvm::dyn_cast<DenseI64ArrayAttr>(found))
    return Sizes(list.asArrayRef());
  if (auto list = llvm::dyn_cast<DenseBoolArrayAttr>(found))
    return Sizes(list.asArrayRef().begin(), list.asArrayRef().end());
  if (auto list = llvm::dyn_cast<DenseIntElementsAttr>(found); list && list.getNumElements() <= 1024) {
    Sizes values;
    for (const llvm::APInt &each : list.getValues<llvm::APInt>())
      values.push_back(each.getBitWidth() <= 64 ? each.getSExtValue() : 0);
    return values;
  }
  refuse(concat("expected a list of integers in attribute '", name.str(), "'"));
  return Sizes();
}

Sizes OpCall::integers(llvm::StringRef name) {
  if (const std::optional<Sizes> found = optionalIntegers(name))
    return *found;
  refuse(concat("attribute '", name.str(), "' is missing"));
  return {};
}

std::int64_t OpCall::integer(llvm::StringRef name, std::int64_t absent) {
  return attribute(name) ? integer(name) : absent;
}

std::int64_t OpCall::integer(llvm::StringRef name) {
  auto found = llvm::dyn_cast_or_null<IntegerAttr>(attribute(name));
  if (found && found.getValue().getSignificantBits() <= 64)
    return found.getValue().getSExtValue();
  refuse(concat("attribute '", name.str(), "' is no integer"));
  return 0;
}

bool OpCall::areDims(llvm::ArrayRef<std::int64_t> dims, std::int64_t rank) {
  for (auto [index, dim] : llvm::enumerate(dims))
    if (dim < 0 || dim >= rank || llvm::is_contained(dims.take_front(index), dim)) {
      std::string text;
      for (std::int64_t each : dims)
        text += concat(text.empty() ? "" : ", ", each);
      refuse(concat("[", text, "] are no dims of a tensor of rank ", rank));
      return false;
    }
  return true;
}

Sizes OpCall::dims(llvm::StringRef name, std::int64_t rank) {
  Sizes found = integers(name);
  return areDims(found, rank) ? found : Sizes();
}

std::int64_t OpCall::dim(llvm::StringRef name, llvm::StringRef x) {
  const std::int64_t found = integer(name);
  return areDims({found}, graph.rank(x)) ? found : 0;
}

llvm::StringRef stablehlo::combinerOf(Operation &op) {
  if (op.getNumRegions() != 1 || !op.getRegion(0).hasOneBlock())
    return {};
  Block &block = op.getRegion(0).front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return {};
  Operation &combine = block.front(), &result = block.back();
  const bool isPlain = combine.getNumOperands() == 2 && combine.getNumResults() == 1 && result.getNumOperands() == 1 &&
                       result.getOperand(0) == combine.getResult(0) && combine.getOperand(0) != combine.getOperand(1) &&
                       llvm::all_of(combine.getOperands(), [&](Value value) {
                         auto argument = llvm::dyn_cast<BlockArgument>(value);
                         return argument && argument.getOwner() == &block;
                       });
  llvm::StringRef name = combine.getName().getStringRef();
  return isPlain && name.consume_front("stablehlo.") ? name : llvm::StringRef();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

llvm::ArrayRef<Family> stablehlo::families() {
  static const Family all[] = {{"elementwise", pointwiseOps()},
                               {"movement", shapeOps()},
                               {"reductions and windows", reductionOps()},
                               {"products", productOps()},
                               {"indices", indexOps()},
                               {"writes by index", scatterOps()},
                               {"markers of the Python helper", markerOps()}};
  return all;
}

const TableEntry *stablehlo::findOp(llvm::StringRef name) {
  static const llvm::StringMap<const TableEntry *> entries = [] {
    llvm::StringMap<const TableEntry *> made;
    for (const Family &family : families())
      for (const TableEntry &entry : family.ops)
        made[entry.name] = &entry;
    return made;
  }();
  return entries.lookup(name);
}
