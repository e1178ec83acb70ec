//===- Structure.cpp - the mesh, sections, micro-batches: verifiers and assembly -------===//

#include "dialect/spmd/Mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace sluice::spmd;

//===----------------------------------------------------------------------===//
// mesh
//===----------------------------------------------------------------------===//

// spmd.mesh @mesh <replicate = 1, shard = 4>
LogicalResult MeshOp::verify() {
  // mesh_c1
  if (getAxes().size() != getSizes().size())
    return emitOpError() << "sizes, expected " << getAxes().size() << " but got " << getSizes().size();
  if (getAxes().size() != getRoles().size())
    return emitOpError() << "roles, expected " << getAxes().size() << " but got " << getRoles().size();
  // mesh_c2
  std::int64_t ranks = 1;
  for (std::int64_t size : getSizes()) {
    if (__builtin_mul_overflow(ranks, size, &ranks))
      return emitOpError("number of ranks exceeds 63 bits");
  }
  // mesh_c3
  if (failed(verifyDistinct(*this, "axis", getAxes())))
    return failure();
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
  if (failed(verifyDistinct(*this, "parameter", getParameters())))
    return failure();
  // unit_c2
  if (getKeptAxes() && !getReshardAfterForward())
    return emitOpError("'kept_axes' requires 'reshard_after_forward'");
  // unit_c3
  if (getSync() && getSyncIn())
    return emitOpError("'sync' cannot be combined with 'sync_in'");
  // unit_c4: the first unit checks all.
  auto module = dyn_cast_or_null<ModuleOp>((*this)->getParentOp());
  if (!module || *module.getOps<UnitOp>().begin() != *this)
    return success();
  llvm::SmallDenseSet<StringAttr> names;
  for (UnitOp unit : module.getOps<UnitOp>())
    if (!names.insert(unit.getNameAttr()).second)
      return unit.emitOpError("has the name of another unit: '") << unit.getName() << "'";
  // unit_c5
  const auto roots = llvm::make_filter_range(module.getOps<UnitOp>(), [](UnitOp unit) { return unit.getRoot(); });
  if (llvm::hasNItemsOrMore(roots, 2))
    return (*std::next(roots.begin())).emitOpError("is the second root unit, expected at most one");
  return success();
}

//===----------------------------------------------------------------------===//
// section
//===----------------------------------------------------------------------===//

Value sluice::spmd::yieldedValue(Value value) {
  while (auto section = value.getDefiningOp<SectionOp>())
    value = section.getYield()->getOperand(cast<OpResult>(value).getResultNumber());
  return value;
}

YieldOp SectionOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

Value SectionOp::resultFor(Value yielded) { return getResult(llvm::find(getYield().getValues(), yielded).getIndex()); }

SectionOp SectionOp::replaceYields(ArrayRef<Value> values) {
  OpBuilder builder(*this);
  auto replaced = create(builder, getLoc(), ValueRange(values).getTypes(), getName(), getKind(), getRepeat());
  replaced->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  const SmallVector<Value> before(getYield().getValues());
  getYield()->setOperands(values);
  replaced.getBody().takeBody(getBody());
  for (auto [result, yielded] : llvm::zip(getResults(), before))
    if (!result.use_empty())
      result.replaceAllUsesWith(replaced.resultFor(yielded));
  erase();
  return replaced;
}

LogicalResult SectionOp::verify() {
  // section_c4
  if ((*this)->getParentOfType<SectionOp>())
    return emitOpError("is inside another section");
  // section_c2
  if (getYield().getValues().getTypes() != getResults().getTypes())
    return emitOpError() << "results, expected types (" << getYield().getValues().getTypes() << ") but got ("
                         << getResults().getTypes() << ")";
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
