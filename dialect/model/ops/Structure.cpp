//===- Structure.cpp - parameters, modules, steps ------------------------------------===//

#include "dialect/model/ops/Helpers.h"

using namespace mlir;

namespace sluice::model {

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// The number of parameters of an initializer.
static unsigned initializerNumbers(InitializerKind init) {
  switch (init) {
  case InitializerKind::zeros:
  case InitializerKind::ones:
    return 0;
  case InitializerKind::constant:
    return 1;
  case InitializerKind::normal:
  case InitializerKind::uniform:
    return 2;
  }
  return 0;
}

static constexpr StringLiteral undefinedInitializer = "undefined";

static StringRef nameOfInitializer(std::optional<InitializerKind> init) {
  return init ? stringifyInitializerKind(*init) : StringRef(undefinedInitializer);
}

ParseResult parseInitializer(OpAsmParser &parser, InitializerKindAttr &init, FloatAttr &a, FloatAttr &b) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  if (word == undefinedInitializer)
    return success();
  std::optional<InitializerKind> kind = symbolizeInitializerKind(word);
  if (!kind)
    return parser.emitError(location)
           << "unknown initializer, expected zeros, ones, constant, normal, uniform or undefined but got '" << word
           << "'";
  init = InitializerKindAttr::get(parser.getContext(), *kind);
  const unsigned numbers = initializerNumbers(*kind);
  for (unsigned i = 0; i < numbers; ++i) {
    double value;
    if ((i == 0 ? parser.parseLParen() : parser.parseComma()) || parser.parseFloat(value))
      return failure();
    (i == 0 ? a : b) = parser.getBuilder().getF64FloatAttr(value);
  }
  return numbers ? parser.parseRParen() : success();
}

void printInitializer(OpAsmPrinter &printer, Operation *, InitializerKindAttr init, FloatAttr a, FloatAttr b) {
  if (!init) {
    printer << undefinedInitializer;
    return;
  }
  printer << stringifyInitializerKind(init.getValue());
  const unsigned numbers = initializerNumbers(init.getValue());
  for (unsigned i = 0; i < numbers; ++i) {
    printer << (i == 0 ? "(" : ", ");
    printer.printFloat((i == 0 ? a : b).getValue());
  }
  if (numbers)
    printer << ')';
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult ParameterOp::verify() {
  // parameter_c2
  double a = getA().convertToDouble(), b = getB().convertToDouble();
  if (getInit() == InitializerKind::normal && !(b >= 0))
    return emitOpError() << "standard deviation is out of range, expected at least 0 but got " << b;
  if (getInit() == InitializerKind::uniform && !(a <= b))
    return emitOpError() << "range is empty, expected low at most high but got " << a << " and " << b;
  // parameter_c3
  Type element = cast<RankedTensorType>(getType()).getElementType();
  if (!isState() && !isa<FloatType>(element))
    return emitOpError() << "element type, expected a float, or 'state' on the parameter, but got " << element;
  if (isState() && isRandom())
    return emitOpError() << "a state begins with one value, expected zeros, ones, constant or undefined but got "
                         << nameOfInitializer(getInit());
  // parameter_c4
  if (!getPadding())
    return success();
  auto table = cast<RankedTensorType>(getType());
  if (table.getRank() != 2 || !isRandom())
    return emitOpError() << "padding, expected rank 2 and initializer normal or uniform but got rank "
                         << table.getRank() << " and " << nameOfInitializer(getInit());
  // On a shard of the table only the shard's rows are known.
  const std::int64_t padding = getPaddingAttr().getInt();
  if (padding < 0 || (padding >= table.getDimSize(0) && !hasShardedTensor(*this)))
    return emitOpError() << "padding " << padding << " is not a row of the table, which has " << table.getDimSize(0)
                         << " rows";
  return success();
}

/// The parameter of that name in the closest module that has one.
static ParameterOp findParameter(Operation *op, FlatSymbolRefAttr name, SymbolTableCollection &symbols) {
  for (Operation *table = SymbolTable::getNearestSymbolTable(op); table;
       table = table->getParentOp() ? SymbolTable::getNearestSymbolTable(table->getParentOp()) : nullptr)
    if (auto parameter = symbols.lookupSymbolIn<ParameterOp>(table, name))
      return parameter;
  return {};
}

/// A read or write of a parameter or state has the parameter's shape and a float element type.
static LogicalResult verifyAccess(Operation *op, FlatSymbolRefAttr name, Value value, SymbolTableCollection &symbols) {
  ParameterOp parameter = findParameter(op, name, symbols);
  if (!parameter)
    return op->emitOpError() << "unknown parameter, expected a model.parameter but got " << name;
  auto declared = cast<RankedTensorType>(parameter.getType());
  bool isRead = parameter.isState() ? elementOf(value) == declared.getElementType() : isFloat(value);
  if (shapeOf(value) == declared.getShape() && isRead)
    return success();
  if (parameter.isState())
    return op->emitOpError() << "value has the wrong type, expected that of the state, " << declared << ", but got "
                             << value.getType();
  InFlightDiagnostic error = op->emitOpError() << "value has the wrong type, expected a float tensor of shape "
                                               << shapeText(declared.getShape()) << " but got " << value.getType();
  error.attachNote(parameter.getLoc()) << "parameter declared here";
  return error;
}

// read_c1, read_c2
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAccess(*this, getParameterAttr(), getValue(), symbols);
}

// write_c1, write_c2
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAccess(*this, getParameterAttr(), getValue(), symbols);
}

// gradient_c1, gradient_c2
LogicalResult GradientOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAccess(*this, getParameterAttr(), getLocal(), symbols);
}

LogicalResult YieldOp::verify() {
  // yield_c1
  Operation *parent = (*this)->getParentOp();
  if (typesAgree(getOperandTypes(), parent->getResultTypes()))
    return success();
  auto textOf = [](TypeRange types) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(types, os, [&](Type type) { os << "'" << type << "'"; });
    return text.empty() ? std::string("nothing") : text;
  };
  InFlightDiagnostic error = emitOpError()
                             << "values do not fit the region's results, expected " << textOf(parent->getResultTypes())
                             << " but got " << textOf(getOperandTypes());
  error.attachNote(parent->getLoc()) << "region of this op";
  return error;
}

} // namespace sluice::model
