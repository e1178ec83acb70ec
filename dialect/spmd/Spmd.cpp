//===- Spmd.cpp - registration of the spmd dialect -------------------------------------===//

#include "dialect/spmd/Spmd.h"

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

// The axes of a mesh: <replicate = 1, shard = 4>.
static ParseResult parseMeshAxes(OpAsmParser &parser, ArrayAttr &axes, DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> names;
  SmallVector<std::int64_t> values;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    ParseResult result = failure(parser.parseKeywordOrString(&name) || parser.parseEqual() ||
                                 parser.parseInteger(values.emplace_back()));
    names.push_back(parser.getBuilder().getStringAttr(name));
    return result;
  };
  ParseResult result = parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseAxis);
  axes = parser.getBuilder().getArrayAttr(names);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(values);
  return result;
}

static void printMeshAxes(OpAsmPrinter &printer, MeshOp, ArrayAttr axes, DenseI64ArrayAttr sizes) {
  printer << '<';
  llvm::interleaveComma(llvm::zip(axes.getAsRange<StringAttr>(), sizes.asArrayRef()), printer, [&](auto axis) {
    printer.printKeywordOrString(std::get<0>(axis));
    printer << " = " << std::get<1>(axis);
  });
  printer << '>';
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
