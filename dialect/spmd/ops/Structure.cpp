//===- Structure.cpp - the mesh, sections, micro-batches: verifiers and assembly -------===//

#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spmd.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sluice::spmd;

//===----------------------------------------------------------------------===//
// mesh
//===----------------------------------------------------------------------===//

// spmd.mesh @mesh <replicate = 1, shard = 4>
ParseResult MeshOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<Attribute> axes;
  SmallVector<std::int64_t> sizes;
  auto parseAxis = [&]() -> ParseResult {
    std::string axis;
    std::int64_t size = 0;
    if (parser.parseKeywordOrString(&axis) || parser.parseEqual() || parser.parseInteger(size))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(axis));
    sizes.push_back(size);
    return success();
  };
  if (parser.parseSymbolName(name, SymbolTable::getSymbolAttrName(), result.attributes) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseAxis) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  result.addAttribute(getAxesAttrName(result.name), parser.getBuilder().getArrayAttr(axes));
  result.addAttribute(getSizesAttrName(result.name), parser.getBuilder().getDenseI64ArrayAttr(sizes));
  return success();
}

void MeshOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " <";
  llvm::interleaveComma(llvm::zip(getAxes(), getSizes()), printer, [&](auto axis) {
    printer.printKeywordOrString(cast<StringAttr>(std::get<0>(axis)).getValue());
    printer << " = " << std::get<1>(axis);
  });
  printer << '>';
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {SymbolTable::getSymbolAttrName(), getAxesAttrName(), getSizesAttrName()});
}

LogicalResult MeshOp::verify() {
  // mesh_c1
  if (getAxes().size() != getSizes().size())
    return emitOpError() << "sizes, expected " << getAxes().size() << " but got " << getSizes().size();
  // mesh_c2
  std::int64_t ranks = 1;
  for (std::int64_t size : getSizes()) {
    if (__builtin_mul_overflow(ranks, size, &ranks))
      return emitOpError("number of ranks exceeds 63 bits");
  }
  // mesh_c3
  llvm::StringSet<> names;
  for (Attribute axis : getAxes())
    if (!names.insert(cast<StringAttr>(axis).getValue()).second)
      return emitOpError() << "axes, expected distinct names but got " << axis << " twice";
  // mesh_c4
  if (auto module = dyn_cast_or_null<ModuleOp>((*this)->getParentOp()))
    for (MeshOp other : module.getOps<MeshOp>()) {
      if (other == *this)
        break;
      return emitOpError("is the second mesh of the module");
    }
  return success();
}

//===----------------------------------------------------------------------===//
// unit
//===----------------------------------------------------------------------===//

LogicalResult UnitOp::verify() {
  // unit_c1
  llvm::StringSet<> names;
  for (Attribute parameter : getParameters()) {
    if (!names.insert(cast<FlatSymbolRefAttr>(parameter).getValue()).second)
      return emitOpError() << "parameters, expected distinct ones but got " << parameter << " twice";
  }
  // unit_c2
  if (getPiece() && !getReshardAfterForward())
    return emitOpError("'piece' requires 'reshard_after_forward'");
  // unit_c3
  if (getSync() && getSyncIn())
    return emitOpError("'sync' cannot be combined with 'sync_in'");
  return success();
}

//===----------------------------------------------------------------------===//
// section
//===----------------------------------------------------------------------===//

LogicalResult SectionOp::verify() {
  // section_c4
  if ((*this)->getParentOfType<SectionOp>())
    return emitOpError("is inside another section");
  // section_c2
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getValues().getTypes() != getResults().getTypes())
    return emitOpError() << "results, expected the types of what is yielded (" << yield.getValues().getTypes()
                         << ") but got (" << getResults().getTypes() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// accumulate
//===----------------------------------------------------------------------===//

LogicalResult AccumulateOp::verify() {
  // accumulate_c1
  Type from = getOperand().getType().getElementType(), to = getSum().getType().getElementType();
  if (from != to && !to.isF32())
    return emitOpError() << "sum, expected element type " << from << " or f32 but got " << to;
  return success();
}
