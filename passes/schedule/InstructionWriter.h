//===- InstructionWriter.h - instructions of the ops of an entry point -----------===//
//
// Creates the instructions of an entry point at the builder's insertion point: an op of the spmd phase becomes
// launches, copies, fills, collectives, their waits and releases, with views of the buffers of BufferAssignment. The
// order of the calls is the order of issue.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SCHEDULE_INSTRUCTIONWRITER_H
#define SLUICE_PASSES_SCHEDULE_INSTRUCTIONWRITER_H

#include "passes/schedule/BufferAssignment.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Sharding.h"
#include "dialect/spmd/Units.h"

namespace sluice {

class InstructionWriter {
public:
  InstructionWriter(mlir::func::FuncOp function, const BufferAssignment &assignment, PlanBuffers &buffers,
                    mlir::OpBuilder &builder);

  /// Writes an op of a section.
  void write(mlir::Operation &op);
  void writeCopy(mlir::Location location, plan_ir::ViewAttr source, plan_ir::ViewAttr destination) {
    finish(makeCopy(location, source, destination), nullptr);
  }
  /// The instructions from here on are in the phase of the op, if it has one. The entry point `init` has one phase.
  void setPhaseOf(mlir::Operation &op) {
    if (op.hasAttr(model::phaseName) && !isInit)
      phase = model::phaseOf(&op);
  }

  plan_ir::ViewAttr view(const Place &place, mlir::RankedTensorType type, int64_t step = 0) const;
  plan_ir::ViewAttr view(mlir::Value value) const { return view(assignment.placeOf(value), typeOf(value)); }
  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }

private:
  /// True if some rank has less than its chunk.
  bool hasPadding(plan_ir::ValidAttr valid) const;
  plan_ir::ValidAttr validFor(const Place &place, mlir::RankedTensorType type) const;
  static plan_ir::ViewAttr withValid(plan_ir::ViewAttr view, plan_ir::ValidAttr valid) {
    return plan_ir::ViewAttr::get(view.getContext(), view.getBuffer(), view.getElementType(), view.getShape(),
                                  view.getOffset(), view.getStrides(), view.getStep(), valid);
  }
  /// The view, with the offset of its part if the sharding rule requires it: `index` counts operands, then results.
  static plan_ir::ViewAttr placed(plan_ir::ViewAttr view, mlir::Operation *op, std::size_t index) {
    auto shardings = op->getAttrOfType<mlir::ArrayAttr>(spmd::localShardingsName);
    auto place = spmd::shardedDim(shardings ? llvm::cast<spmd::ShardingAttr>(shardings[index]) : spmd::ShardingAttr());
    return place ? withValid(view, plan_ir::ValidAttr::get(view.getContext(), place->dim, view.getShape()[place->dim],
                                                           place->total, place->axes))
                 : view;
  }
  mlir::FlatSymbolRefAttr symbol(int buffer) const { return buffers[buffer].symbol; }
  /// An instruction without attributes. finish() sets those that all instructions have.
  template <typename Op> Op make(mlir::Location location) {
    return mlir::cast<Op>(builder.create(mlir::OperationState(location, Op::getOperationName())));
  }
  plan_ir::LaunchOp makeLaunch(mlir::Location location, llvm::StringRef kernel, llvm::ArrayRef<mlir::Attribute> inputs,
                               llvm::ArrayRef<mlir::Attribute> outputs, mlir::DictionaryAttr settings) {
    auto launch = make<plan_ir::LaunchOp>(location);
    launch.setKernel(kernel);
    launch.setInputsAttr(builder.getArrayAttr(inputs));
    launch.setOutputsAttr(builder.getArrayAttr(outputs));
    launch.setSettingsAttr(settings);
    return launch;
  }
  plan_ir::CopyOp makeCopy(mlir::Location location, plan_ir::ViewAttr source, plan_ir::ViewAttr destination) {
    auto copy = make<plan_ir::CopyOp>(location);
    copy.setSourceAttr(source);
    copy.setDestinationAttr(destination);
    return copy;
  }
  /// Fills with zeros.
  plan_ir::FillOp makeFill(mlir::Location location, plan_ir::ViewAttr destination) {
    auto fill = make<plan_ir::FillOp>(location);
    fill.setDestinationAttr(destination);
    fill.setValueAttr(builder.getF64FloatAttr(0.0));
    return fill;
  }
  template <typename Op> static void setWhen(Op instruction, When when) {
    if (when.isAll())
      instruction.removeWhenAttr();
    else
      instruction.setWhen(when);
  }
  /// Sets the attributes of all instructions.
  template <typename Op> Op finish(Op instruction, mlir::Operation *from);
  void writeKernel(KernelOpInterface op);
  plan_ir::LaunchOp makeCopyLaunch(mlir::Location location, plan_ir::ViewAttr from, plan_ir::ViewAttr to, int64_t id);
  void writeCopyLaunch(const OperandCopy &copy, mlir::Operation *op);
  void writeAccumulate(spmd::AccumulateOp op);
  /// Copies between a tensor and its chunks, in either direction.
  void writeChunkCopies(const Place &tensor, const Place &chunks, mlir::RankedTensorType shard, int64_t id,
                        mlir::Operation *op, bool gathers);
  /// Copies between memory spaces.
  void writeCopies(spmd::CollectiveOpInterface start);
  void writeCollective(spmd::CollectiveOpInterface start);
  /// A token for the instructions of a start and the await of its wait.
  mlir::IntegerAttr addToken(spmd::CollectiveOpInterface start);
  void writePadding(mlir::Operation &op, mlir::Value value, plan_ir::ViewAttr padded);

  mutable mlir::func::FuncOp function;
  const BufferAssignment &assignment;
  PlanBuffers &buffers;
  mlir::OpBuilder &builder;
  bool isInit = false;
  Phase phase;
  spmd::UnitBlocks units;
  llvm::DenseMap<mlir::Value, int64_t> tokens;
};

template <typename Op> Op InstructionWriter::finish(Op instruction, mlir::Operation *from) {
  if (from) {
    setPhaseOf(*from);
    setWhen(instruction, spmd::whenOf(from));
    instruction.setInvocation(model::invocationOf(from));
    if (from->hasAttr(model::recomputeName))
      instruction.setRecompute(true);
    if (std::optional<StreamKind> stream = spmd::streamOf(from))
      instruction.setStream(stringifyStreamKind(*stream));
    llvm::StringRef unit = spmd::unitOf(from);
    // The unit of a collective is that of its attribute.
    if (unit.empty() && from->hasAttr(model::blockName) && !std::is_same_v<Op, plan_ir::CollectiveOp>)
      if (llvm::StringRef block = units.innermost(model::blockOf(from)); !units.isRoot(block) || units.hasRoot())
        unit = block;
    if (!unit.empty())
      instruction.setUnit(unit);
  }
  instruction.setPhase(phase);
  return instruction;
}

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_INSTRUCTIONWRITER_H
