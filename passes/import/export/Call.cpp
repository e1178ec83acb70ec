//===- Call.cpp - the call of an op, for the builders of the ATen tables -----------------===//

#include "passes/import/export/Call.h"

#include "runtime/base/Text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

llvm::ArrayRef<std::int64_t> exported::Tensor::shape() const {
  return constant ? llvm::ArrayRef<std::int64_t>(constant->shape) : cast<RankedTensorType>(value.getType()).getShape();
}

std::optional<MaskKind> Importer::maskKind(const ConstantPtr &mask, std::int64_t queries, std::int64_t keys) {
  auto [known, isNew] = masks.try_emplace(mask.get(), mask, std::nullopt);
  if (isNew)
    known->second.second = classifyMask(*mask, queries, keys);
  return known->second.second;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void Call::refuse(const std::string &text, const std::string &remedy) {
  if (!why.empty())
    return;
  why = text;
  toDo = remedy;
}

const Argument *Call::argument(llvm::StringRef name) {
  if (const Argument *given = node.find(name))
    return given;
  if (const Argument *value = schemaDefault(op, name))
    return value;
  static const Argument none;
  refuse(concat("argument '", name.str(), "' is missing"));
  return &none;
}

bool Call::isNone(llvm::StringRef name) { return argument(name)->kind == Argument::Kind::none; }
bool Call::isTensor(llvm::StringRef name) { return argument(name)->kind == Argument::Kind::tensor; }

exported::Tensor Call::tensor(llvm::StringRef name) {
  const Argument *given = argument(name);
  if (given->kind != Argument::Kind::tensor || given->names.empty())
    return {};
  return operands.lookup(given->names.front());
}

Value Call::value(llvm::StringRef name) {
  const Tensor found = tensor(name);
  if (!found) {
    refuse(concat("argument '", name.str(), "' is no tensor"));
    return anyScalar();
  }
  return importer.materialize(found);
}

Value Call::optionalValue(llvm::StringRef name) {
  const Tensor found = tensor(name);
  return found ? importer.materialize(found) : Value();
}

std::vector<exported::Tensor> Call::tensors(llvm::StringRef name) {
  std::vector<Tensor> list;
  for (const std::string &each : argument(name)->names)
    list.push_back(operands.lookup(each));
  return list;
}

llvm::SmallVector<Value> Call::values(llvm::StringRef name) {
  llvm::SmallVector<Value> list;
  for (const Tensor &each : tensors(name)) {
    if (!each) {
      refuse(concat("argument '", name.str(), "' has an absent tensor"));
      return {};
    }
    list.push_back(importer.materialize(each));
  }
  if (list.empty())
    refuse(concat("argument '", name.str(), "' is an empty list"));
  return list;
}

std::optional<double> Call::optionalNumber(llvm::StringRef name) {
  const Argument *given = argument(name);
  switch (given->kind) {
  case Argument::Kind::number:
    return given->numbers.front();
  case Argument::Kind::integer:
  case Argument::Kind::boolean:
    return static_cast<double>(given->integers.front());
  case Argument::Kind::none:
    return std::nullopt;
  default:
    refuse(concat("argument '", name.str(), "' is no number"));
    return std::nullopt;
  }
}

double Call::number(llvm::StringRef name) {
  const std::optional<double> value = optionalNumber(name);
  if (!value)
    refuse(concat("argument '", name.str(), "' is None"));
  return value.value_or(0);
}

std::int64_t Call::integer(llvm::StringRef name) {
  const Argument *given = argument(name);
  if (given->kind == Argument::Kind::integer || given->kind == Argument::Kind::boolean ||
      given->kind == Argument::Kind::scalarType)
    return given->integers.front();
  refuse(concat("argument '", name.str(), "' is no integer"));
  return 0;
}

llvm::SmallVector<std::int64_t> Call::integers(llvm::StringRef name) {
  const Argument *given = argument(name);
  if (given->kind == Argument::Kind::integer || given->kind == Argument::Kind::integers)
    return llvm::SmallVector<std::int64_t>(given->integers.begin(), given->integers.end());
  if (given->kind != Argument::Kind::none)
    refuse(concat("argument '", name.str(), "' is no list of integers"));
  return {};
}

llvm::SmallVector<double> Call::numbers(llvm::StringRef name) {
  const Argument *given = argument(name);
  if (given->kind == Argument::Kind::numbers)
    return llvm::SmallVector<double>(given->numbers.begin(), given->numbers.end());
  if (given->kind == Argument::Kind::integers)
    return llvm::SmallVector<double>(given->integers.begin(), given->integers.end());
  if (given->kind != Argument::Kind::none)
    refuse(concat("argument '", name.str(), "' is no list of numbers"));
  return {};
}

bool Call::flag(llvm::StringRef name) { return integer(name) != 0; }

std::string Call::text(llvm::StringRef name) {
  const Argument *given = argument(name);
  if (given->kind != Argument::Kind::text && given->kind != Argument::Kind::none)
    refuse(concat("argument '", name.str(), "' is no string"));
  return given->text;
}

std::int64_t Call::dim(llvm::StringRef name, std::int64_t rank) {
  const std::int64_t given = integer(name), dim = given < 0 ? given + rank : given;
  if (dim >= 0 && dim < std::max<std::int64_t>(rank, 1))
    return dim;
  refuse(concat("argument '", name.str(), "' is ", given, " for a tensor of rank ", rank));
  return 0;
}

llvm::SmallVector<std::int64_t> Call::dims(llvm::StringRef name, std::int64_t rank) {
  llvm::SmallVector<std::int64_t> list = integers(name);
  // torch takes a scalar as a vector of one element, whose reduction is the scalar.
  if (rank == 0 && llvm::all_of(list, [](std::int64_t dim) { return dim == 0 || dim == -1; }))
    return {};
  if (list.empty())
    for (std::int64_t dim = 0; dim < rank; ++dim)
      list.push_back(dim);
  for (std::int64_t &dim : list) {
    if (dim < -rank || dim >= rank)
      refuse(concat("argument '", name.str(), "' is ", dim, " for a tensor of rank ", rank));
    dim = dim < 0 ? dim + rank : dim;
  }
  llvm::sort(list);
  return list;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Type exported::elementTypeOf(Builder &builder, ScalarType type) {
  switch (type) {
  case ScalarType::u8:
  case ScalarType::boolean:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case ScalarType::i32:
    return builder.getI32Type();
  case ScalarType::i64:
    return builder.getI64Type();
  case ScalarType::f16:
    return builder.getF16Type();
  case ScalarType::f32:
    return builder.getF32Type();
  case ScalarType::f64:
    return builder.getF64Type();
  case ScalarType::bf16:
    return builder.getBF16Type();
  }
  llvm_unreachable("covered");
}

RankedTensorType Call::resultType(unsigned index) {
  return RankedTensorType::get(result(index).sizes, elementType(result(index).type));
}

void Call::set(ValueRange values) {
  made.clear();
  for (Value value : values)
    made.push_back({value, nullptr});
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

llvm::SmallVector<Value> Call::makeAll(llvm::StringRef op, ValueRange operands, llvm::ArrayRef<Named> attributes,
                                       TypeRange types, Prepare prepare) {
  if (!why.empty())
    return {};
  NamedAttrList list;
  for (const auto &[key, attribute] : attributes)
    if (attribute)
      list.append(key, attribute);
  std::string rejected;
  ScopedDiagnosticHandler handler(builder.getContext(), [&](Diagnostic &diagnostic) {
    if (rejected.empty())
      rejected = diagnostic.str();
    return success();
  });
  OperationState state(builder.getLoc(), op);
  state.addOperands(operands);
  state.addTypes(types);
  if (succeeded(prepare(state, list.getDictionary(builder.getContext())))) {
    Operation *made = builder.create(state);
    if (succeeded(verify(made)))
      return llvm::to_vector_of<Value>(made->getResults());
    made->erase();
  }
  refuse(rejected);
  return {};
}

Value Call::anyScalar() {
  return model::ConstantOp::create(builder, RankedTensorType::get({}, builder.getF32Type()),
                                   builder.getF64FloatAttr(0));
}

std::int64_t Call::extentOf(Value value, std::int64_t dim) {
  if (dim < rankOf(value))
    return shapeOf(value)[static_cast<std::size_t>(dim)];
  refuse("it takes a part of a scalar");
  return 1;
}

RankedTensorType Call::typeLike(Value value, llvm::ArrayRef<std::int64_t> shape) {
  return RankedTensorType::get(shape, mlir::cast<RankedTensorType>(value.getType()).getElementType());
}

Value Call::reshape(Value value, llvm::ArrayRef<std::int64_t> shape) {
  return shapeOf(value) == shape ? value : make<model::ReshapeOp>(value, {}, typeLike(value, shape));
}

Value Call::transpose(Value value, llvm::ArrayRef<std::int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<std::int64_t>(0, rankOf(value))))
    return value;
  return make<model::TransposeOp>(value, {{"permutation", builder.getDenseI64ArrayAttr(permutation)}});
}

Value Call::swap(Value value, std::int64_t a, std::int64_t b) {
  const std::int64_t rank = rankOf(value);
  // Dim 0 of a scalar, as torch counts.
  if (rank == 0 && a == 0 && b == 0)
    return value;
  if (std::min(a, b) < 0 || std::max(a, b) >= rank) {
    refuse(concat("it exchanges dims ", a, " and ", b, " of a tensor of rank ", rank));
    return value;
  }
  llvm::SmallVector<std::int64_t> permutation = llvm::to_vector(llvm::seq<std::int64_t>(0, rank));
  std::swap(permutation[static_cast<std::size_t>(a)], permutation[static_cast<std::size_t>(b)]);
  return transpose(value, permutation);
}

Value Call::broadcast(Value value, llvm::ArrayRef<std::int64_t> shape) {
  return shapeOf(value) == shape ? value : make<model::BroadcastOp>(value, {}, typeLike(value, shape));
}

Value Call::cast(Value value, Type element) {
  if (mlir::cast<RankedTensorType>(value.getType()).getElementType() == element)
    return value;
  return make<model::CastOp>(value, {}, RankedTensorType::get(shapeOf(value), element));
}

Value Call::slice(Value value, std::int64_t dim, std::int64_t start, std::int64_t limit, std::int64_t step) {
  llvm::SmallVector<std::int64_t> starts(shapeOf(value).size(), 0), limits(shapeOf(value)), steps(starts.size(), 1);
  const auto at = static_cast<std::size_t>(dim);
  (void)extentOf(value, dim);
  if (!why.empty())
    return value;
  if (start == 0 && limit == limits[at] && step == 1)
    return value;
  starts[at] = start, limits[at] = limit, steps[at] = step;
  return make<model::SliceOp>(value, {{"start", builder.getDenseI64ArrayAttr(starts)},
                                      {"limit", builder.getDenseI64ArrayAttr(limits)},
                                      {"step", builder.getDenseI64ArrayAttr(steps)}});
}

Value Call::scalar(double value, Value like) {
  return make<model::ConstantOp>({}, {{"value", builder.getF64FloatAttr(value)}}, typeLike(like, {}));
}

Value Call::scale(Value value, double factor) {
  return factor == 1 ? value : make<model::ScaleOp>(value, {{"factor", builder.getF64FloatAttr(factor)}});
}

Value Call::compare(Value a, ComparePredicate predicate, Value b) {
  return make<model::CompareOp>({a, b}, {{"predicate", builder.getAttr<model::ComparePredicateAttr>(predicate)}});
}

Value Call::select(Value condition, Value a, Value b) { return make<model::SelectOp>({condition, a, b}); }

Value Call::product(Value a, Value b, bool transposeB) {
  return make<model::MatmulOp>({a, b}, {{"transpose_rhs", transposeB ? builder.getUnitAttr() : UnitAttr()},
                                        {"operandSegmentSizes", builder.getDenseI32ArrayAttr({1, 1, 0, 0})}});
}

Value Call::pad(Value value, llvm::ArrayRef<std::int64_t> low, llvm::ArrayRef<std::int64_t> high, double fill) {
  const llvm::SmallVector<std::int64_t> step(low.size(), 1);
  return make<model::PadOp>({value}, {{"low", builder.getDenseI64ArrayAttr(low)},
                                      {"high", builder.getDenseI64ArrayAttr(high)},
                                      {"step", builder.getDenseI64ArrayAttr(step)},
                                      {"value", builder.getF64FloatAttr(fill)}});
}

Value Call::join(llvm::ArrayRef<Value> values, std::int64_t dim) {
  return values.size() == 1 ? values.front() : make<model::ConcatOp>(values, {{"dim", builder.getI64IntegerAttr(dim)}});
}
