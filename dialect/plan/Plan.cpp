//===- Plan.cpp - the plan dialect and its view attribute -----------------------------===//
#include "dialect/plan/Plan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::plan_ir;

#include "dialect/plan/PlanDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/plan/PlanAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/plan/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/plan/PlanOps.cpp.inc"
      >();
}

int64_t ViewAttr::elementBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

int64_t ViewAttr::elements() const {
  int64_t count = 1;
  for (int64_t extent : getShape())
    count *= extent;
  return count;
}

int64_t ViewAttr::spanBytes() const {
  const int64_t bytes = elementBytes(getElementType());
  if (getStrides().empty() || elements() == 0)
    return elements() * bytes;
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip(getShape(), getStrides()))
    last += (extent - 1) * stride;
  return (last + 1) * bytes;
}

bool ViewAttr::isDense() const {
  if (getStrides().empty())
    return true;
  int64_t expected = 1;
  for (auto [extent, stride] : llvm::reverse(llvm::zip(getShape(), getStrides()))) {
    if (extent != 1 && stride != expected)
      return false;
    expected *= extent;
  }
  return true;
}

ViewAttr ViewAttr::onBuffer(FlatSymbolRefAttr other, int64_t newOffset) const {
  return ViewAttr::get(getContext(), other, getElementType(), getShape(), newOffset, getStrides(), getStep(),
                       getValid());
}

Attribute ViewAttr::parse(AsmParser &parser, Type) {
  StringAttr name;
  SmallVector<int64_t> shape, strides;
  Type elementType;
  int64_t offset = 0, step = 0;
  ValidAttr valid;
  if (parser.parseLess() || parser.parseSymbolName(name) || parser.parseColon() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType))
    return {};
  if (succeeded(parser.parseOptionalKeyword("offset")) && parser.parseInteger(offset))
    return {};
  if (succeeded(parser.parseOptionalKeyword("strides")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(strides.emplace_back()); }))
    return {};
  if (succeeded(parser.parseOptionalKeyword("step")) && parser.parseInteger(step))
    return {};
  if (succeeded(parser.parseOptionalKeyword("valid"))) {
    valid = llvm::dyn_cast_or_null<ValidAttr>(ValidAttr::parse(parser, {}));
    if (!valid)
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (!elementType.isIntOrFloat()) {
    parser.emitError(parser.getNameLoc(), "element type of a view, expected an integer or float but got ")
        << elementType;
    return {};
  }
  if (!strides.empty() && strides.size() != shape.size()) {
    parser.emitError(parser.getNameLoc(), "strides of a view, expected ")
        << shape.size() << " but got " << strides.size();
    return {};
  }
  return ViewAttr::get(parser.getContext(), FlatSymbolRefAttr::get(name), elementType, shape, offset, strides, step,
                       valid);
}

void ViewAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printSymbolName(getBuffer().getValue());
  printer << " : ";
  for (int64_t extent : getShape())
    printer << extent << "x";
  printer << getElementType();
  if (getOffset() != 0)
    printer << " offset " << getOffset();
  if (!getStrides().empty()) {
    printer << " strides [";
    llvm::interleaveComma(getStrides(), printer);
    printer << "]";
  }
  if (getStep() != 0)
    printer << " step " << getStep();
  if (getValid()) {
    printer << " valid ";
    getValid().print(printer);
  }
  printer << ">";
}
