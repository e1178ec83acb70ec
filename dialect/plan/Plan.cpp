//===- Plan.cpp - the plan dialect and its view attribute -----------------------------===//
#include "dialect/plan/Plan.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::plan_ir;

#include "dialect/plan/PlanDialect.cpp.inc"

/// `4x64xf32`
static ParseResult parseDims(AsmParser &parser, SmallVector<int64_t> &shape, Type &elementType) {
  return failure(parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType));
}

static void printDims(AsmPrinter &printer, llvm::ArrayRef<int64_t> shape, Type elementType) {
  for (int64_t extent : shape)
    printer << extent << 'x';
  printer << elementType;
}

#define GET_ATTRDEF_CLASSES
#include "dialect/plan/PlanAttrs.cpp.inc"

/// Each of these is in parentheses where the name does not imply it.
template <typename KindAttr, typename Kind>
static ParseResult parseRoleAttr(OpAsmParser &parser, StringAttr name, std::optional<Kind> implied, KindAttr &kind) {
  FailureOr<Kind> parsed = sluice::parseRole(parser, name, implied);
  if (succeeded(parsed))
    kind = KindAttr::get(parser.getContext(), *parsed);
  return failure(failed(parsed));
}

static ParseResult parseStreamKind(OpAsmParser &parser, StringAttr name, StreamKindAttr &kind) {
  return parseRoleAttr(parser, name, sluice::symbolizeStreamKind(name), kind);
}
static void printStreamKind(OpAsmPrinter &printer, StreamOp, StringAttr name, StreamKindAttr kind) {
  sluice::printRole(printer, kind.getValue(), sluice::symbolizeStreamKind(name));
}

static ParseResult parseSectionKind(OpAsmParser &parser, StringAttr name, SectionKindAttr &kind) {
  return parseRoleAttr(parser, name, std::optional(sluice::impliedSectionKind(name)), kind);
}
static void printSectionKind(OpAsmPrinter &printer, SectionOp, StringAttr name, SectionKindAttr kind) {
  sluice::printRole(printer, kind.getValue(), std::optional(sluice::impliedSectionKind(name)));
}

static ParseResult parsePortRole(OpAsmParser &parser, PortDirectionAttr direction, StringAttr name,
                                 PortRoleAttr &role) {
  return parseRoleAttr(parser, name, std::optional(sluice::impliedPortRole(direction.getValue(), name)), role);
}
static void printPortRole(OpAsmPrinter &printer, PortOp, PortDirectionAttr direction, StringAttr name,
                          PortRoleAttr role) {
  sluice::printRole(printer, role.getValue(), std::optional(sluice::impliedPortRole(direction.getValue(), name)));
}

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

sluice::DType sluice::plan_ir::dtypeOf(Type type) {
  if (type.isF64())
    return DType::f64;
  if (type.isBF16())
    return DType::bf16;
  if (type.isF16())
    return DType::f16;
  if (type.isF32())
    return DType::f32;
  const unsigned width = type.getIntOrFloatBitWidth();
  return width == 64 ? DType::i64 : width == 32 ? DType::i32 : DType::u8;
}

int64_t ViewAttr::elementBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

int64_t ViewAttr::elements() const { return computeProduct(getShape()); }

int64_t ViewAttr::spanBytes() const {
  const int64_t bytes = elementBytes(getElementType());
  if (elements() == 0)
    return 0;
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip(getShape(), getOrComputeStrides()))
    last += (extent - 1) * stride;
  return (last + 1) * bytes;
}

llvm::SmallVector<int64_t> ViewAttr::getOrComputeStrides() const {
  return getStrides().empty() ? computeSuffixProduct(getShape()) : llvm::SmallVector<int64_t>(getStrides());
}

bool ViewAttr::isDense() const {
  return llvm::all_of(llvm::zip(getShape(), getOrComputeStrides(), computeSuffixProduct(getShape())), [](auto dim) {
    auto [extent, stride, expected] = dim;
    return extent == 1 || stride == expected;
  });
}

ViewAttr ViewAttr::onBuffer(FlatSymbolRefAttr other, int64_t newOffset) const {
  return ViewAttr::get(getContext(), other, getElementType(), getShape(), newOffset, getStrides(), getStep(),
                       getValid());
}

llvm::LogicalResult ViewAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, FlatSymbolRefAttr,
                                     Type elementType, llvm::ArrayRef<int64_t> shape, int64_t,
                                     llvm::ArrayRef<int64_t> strides, int64_t, ValidAttr) {
  if (!elementType.isIntOrFloat())
    return emitError() << "element type of a view, expected an integer or float but got " << elementType;
  if (!strides.empty() && strides.size() != shape.size())
    return emitError() << "strides of a view, expected " << shape.size() << " but got " << strides.size();
  return success();
}
