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

/// True where the elements are random.
static bool isDrawn(InitializerKind init) {
  return init == InitializerKind::normal || init == InitializerKind::uniform;
}

// @name : type init [(a [, b])] [aliases [...]] [frozen] [state] [attributes]
ParseResult ParameterOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  Type type;
  StringRef word;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) || parser.parseColonType(type))
    return failure();
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<InitializerKind> init = symbolizeInitializerKind(word);
  if (!init)
    return parser.emitError(place) << "unknown initializer, expected zeros, ones, constant, normal or uniform but got '"
                                   << word << "'";
  const unsigned numbers = initializerNumbers(*init);
  Builder &builder = parser.getBuilder();
  result.addAttribute("type", TypeAttr::get(type));
  result.addAttribute("init", builder.getAttr<InitializerKindAttr>(*init));
  static constexpr StringRef slots[] = {"a", "b"};
  if (numbers && parser.parseLParen())
    return failure();
  for (unsigned i = 0; i < numbers; ++i) {
    double value;
    if ((i && parser.parseComma()) || parser.parseFloat(value))
      return failure();
    result.addAttribute(slots[i], builder.getF64FloatAttr(value));
  }
  if (numbers && parser.parseRParen())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("aliases"))) {
    ArrayAttr aliases;
    if (parser.parseAttribute(aliases))
      return failure();
    result.addAttribute("aliases", aliases);
  }
  if (succeeded(parser.parseOptionalKeyword("frozen")))
    result.addAttribute("frozen", builder.getUnitAttr());
  if (succeeded(parser.parseOptionalKeyword("state")))
    result.addAttribute("state", builder.getUnitAttr());
  return parser.parseOptionalAttrDict(result.attributes);
}

void ParameterOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " : " << getType() << ' ' << stringifyInitializerKind(getInit());
  unsigned numbers = initializerNumbers(getInit());
  if (numbers) {
    printer << '(';
    printer.printFloat(getA());
    if (numbers > 1) {
      printer << ", ";
      printer.printFloat(getB());
    }
    printer << ')';
  }
  if (getAliases())
    printer << " aliases " << *getAliases();
  if (getFrozen())
    printer << " frozen";
  if (isState())
    printer << " state";
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"sym_name", "type", "init", "a", "b", "aliases", "frozen", "state"});
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
  if (isState() && isDrawn(getInit()))
    return emitOpError() << "a state begins with one value, expected zeros, ones or constant but got "
                         << stringifyInitializerKind(getInit());
  // parameter_c4
  if (!getPadding())
    return success();
  auto table = cast<RankedTensorType>(getType());
  if (table.getRank() != 2 || !isDrawn(getInit()))
    return emitOpError() << "padding, expected rank 2 and initializer normal or uniform but got rank "
                         << table.getRank() << " and " << stringifyInitializerKind(getInit());
  // On a shard of the table only the shard's rows are known.
  const std::int64_t padding = getPaddingAttr().getInt();
  if (padding < 0 || (padding >= table.getDimSize(0) && !hasShardedTensor(*this)))
    return emitOpError() << "padding is out of range, expected 0 to " << table.getDimSize(0) - 1 << " but got "
                         << padding;
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
