//===- Spmd.cpp - registration of the spmd dialect -------------------------------------===//

#include "dialect/spmd/Names.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::spmd;

#include "dialect/spmd/SpmdDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/spmd/SpmdAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/spmd/SpmdTypes.cpp.inc"

// The axes of a mesh: <replicate = 1, rows(shard) = 4>.
static ParseResult parseMeshAxes(OpAsmParser &parser, ArrayAttr &axes, ArrayAttr &roles, DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> names, ofAxes;
  SmallVector<std::int64_t> values;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name))
      return failure();
    FailureOr<sluice::AxisRole> role = sluice::parseRole(parser, name, sluice::impliedAxisRole(name));
    if (failed(role) || parser.parseEqual() || parser.parseInteger(values.emplace_back()))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
    ofAxes.push_back(AxisRoleAttr::get(parser.getContext(), *role));
    return success();
  };
  ParseResult result = parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseAxis);
  axes = parser.getBuilder().getArrayAttr(names);
  roles = parser.getBuilder().getArrayAttr(ofAxes);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(values);
  return result;
}

static void printMeshAxes(OpAsmPrinter &printer, MeshOp, ArrayAttr axes, ArrayAttr roles, DenseI64ArrayAttr sizes) {
  printer << '<';
  llvm::interleaveComma(llvm::zip(axes.getAsRange<StringAttr>(), roles.getAsRange<AxisRoleAttr>(), sizes.asArrayRef()),
                        printer, [&](auto axis) {
                          auto [name, role, size] = axis;
                          printer.printKeywordOrString(name);
                          sluice::printRole(printer, role.getValue(), sluice::impliedAxisRole(name));
                          printer << " = " << size;
                        });
  printer << '>';
}

// The root unit: @root, or @top(root).
static ParseResult parseRootUnit(OpAsmParser &parser, StringAttr name, UnitAttr &root) {
  bool isRoot = name.getValue() == sluice::spmd::rootUnit;
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseKeyword(sluice::spmd::rootUnit) || parser.parseRParen())
      return failure();
    isRoot = true;
  }
  if (isRoot)
    root = parser.getBuilder().getUnitAttr();
  return success();
}

static void printRootUnit(OpAsmPrinter &printer, UnitOp, StringAttr name, UnitAttr root) {
  if (root && name.getValue() != sluice::spmd::rootUnit)
    printer << '(' << sluice::spmd::rootUnit << ')';
}

// The kind of a section where its name implies another one: "step"(update).
static ParseResult parseSectionKind(OpAsmParser &parser, StringAttr name, SectionKindAttr &kind) {
  FailureOr<sluice::SectionKind> parsed =
      sluice::parseRole(parser, name, std::optional(sluice::impliedSectionKind(name)));
  if (succeeded(parsed))
    kind = SectionKindAttr::get(parser.getContext(), *parsed);
  return failure(failed(parsed));
}

static void printSectionKind(OpAsmPrinter &printer, SectionOp, StringAttr name, SectionKindAttr kind) {
  sluice::printRole(printer, kind.getValue(), std::optional(sluice::impliedSectionKind(name)));
}

#define GET_OP_CLASSES
#include "dialect/spmd/SpmdOps.cpp.inc"

void SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/spmd/SpmdAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/spmd/SpmdTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/spmd/SpmdOps.cpp.inc"
      >();
}
