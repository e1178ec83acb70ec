//===- BufferAssignment.h - from values to memory -----------------------------------===//
//
// Decides for every value of an entry function where it lies: in a buffer of its own, in a window of another value's
// (views), or in the place of a value that it takes over (updates in place, donation, all_reduce). Where a place may not
// be shared, a copy is asked for. It asks the op interfaces and knows no op kinds of the model dialect. What collectives
// and copies move stands in PlacesOfMoves.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SCHEDULE_BUFFERASSIGNMENT_H
#define SLUICE_PASSES_SCHEDULE_BUFFERASSIGNMENT_H

#include "dialect/spmd/Spmd.h"
#include "passes/schedule/PlanBuffer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace sluice {

/// A strided window of a buffer.
struct Place {
  int buffer = -1;
  StridedLayout layout;
};

/// An operand that is copied before its op reads it.
struct OperandCopy {
  mlir::OpOperand *operand = nullptr;
  Place from, to;
};

/// A dense layout of that shape.
StridedLayout denseLayout(llvm::ArrayRef<int64_t> shape);

/// As the plan dialect writes the encoding of a shard's type; null for a whole tensor.
plan_ir::ValidAttr planValid(mlir::RankedTensorType type);

/// The value that a section's result stands for; other values are themselves.
mlir::Value behindSections(mlir::Value value);

class BufferAssignment {
public:
  BufferAssignment(mlir::func::FuncOp entry, PlanBuffers &buffers);

  /// Emits a diagnostic where an op has neither kernel nor view.
  llvm::LogicalResult run();

  const Place &placeOf(mlir::Value value) const;
  /// Where the op reads this operand: its place, or the copy's.
  const Place &placeOf(mlir::OpOperand &operand) const;
  /// The copies to make before the op, in order of operands.
  std::vector<OperandCopy> copiesBefore(mlir::Operation *op) const;
  /// Where a collective writes the chunks of a value, if not to the value's place.
  const Place *chunksOf(mlir::Value value) const {
    auto found = chunks.find(value);
    return found == chunks.end() ? nullptr : &found->second;
  }
  /// True where the op's results are windows of its operand and nothing is launched.
  bool isView(mlir::Operation *op) const { return views.contains(op); }
  /// The buffer whose memory function result `index` takes over; -1: none.
  int donated(unsigned index) const;

private:
  llvm::LogicalResult placeArguments();
  void findPaddedSources();
  void findDonations();
  llvm::LogicalResult place(mlir::Operation &op);
  llvm::LogicalResult placeKernel(KernelOpInterface op);
  bool placeViews(ViewOpInterface op);
  void placeWindows(DestinationOpInterface op);
  void placeStart(spmd::CollectiveOpInterface start);
  void placeSource(mlir::OpOperand &operand);
  void placeSourceChunks(mlir::OpOperand &operand, mlir::RankedTensorType chunk);
  void placeInPlace(mlir::OpOperand &operand);
  void placeWait(spmd::WaitOp op);
  void placeDestinationChunks(mlir::Value operand, mlir::Value value, mlir::RankedTensorType chunk,
                              spmd::CollectiveOpInterface start);
  void placeCopied(mlir::Value from, mlir::Value to);
  /// A dense buffer for the chunks of all ranks.
  Place newChunks(mlir::RankedTensorType shard, int64_t ranks, mlir::Location location);

  Place &newPlace(mlir::Value value, std::optional<BufferClass> bufferClass = std::nullopt);
  void copyOperand(mlir::OpOperand &operand, Place to);
  /// By value: the place may stand in the very map that grows here.
  void bind(mlir::Value value, Place place);
  /// True where something behind `position` reads the memory of a buffer.
  bool isReadAfter(int buffer, unsigned position) const;
  bool isReturnedTo(int buffer, mlir::Value value) const;
  void countAccesses();

  /// Ops are handles: asking them does not change them, but their accessors are not const.
  mutable mlir::func::FuncOp entry;
  PlanBuffers &buffers;
  std::string entryName;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::OpOperand *, Place> copies;
  llvm::DenseMap<mlir::Value, Place> chunks;
  llvm::DenseSet<mlir::Operation *> views;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<int, llvm::SmallVector<mlir::Value>> valuesIn;
  /// Rows that the buffer of a collective's source must have, padding included.
  llvm::DenseMap<mlir::Value, int64_t> paddedRows;
  /// By persistent buffer, the values that are given back as what it holds.
  llvm::DenseMap<int, llvm::SmallVector<mlir::Value>> returned;
  /// Values that are made right in the persistent memory that they take over.
  llvm::DenseMap<mlir::Value, int> targets;
};

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_BUFFERASSIGNMENT_H
