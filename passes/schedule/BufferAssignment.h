//===- BufferAssignment.h - memory of the values of an entry function ---------------===//
//
// Assigns memory to every value of an entry function: a separate buffer, a window of another value's buffer (views), or
// the memory of another value (updates in place, donation, all_reduce). A value whose memory cannot be shared is
// copied. The class uses the op interfaces and no op kinds of the model dialect. DestinationPlacement.cpp has the part
// for collectives and copies.
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

/// The encoding of a shard's type in the plan dialect; null for an unsharded tensor.
plan_ir::ValidAttr planValid(mlir::RankedTensorType type);

class BufferAssignment {
public:
  /// `alignsRows`: rows of values that library products read or write in half precision begin at multiples of 16 bytes.
  BufferAssignment(mlir::func::FuncOp entry, PlanBuffers &buffers, bool alignsRows);

  /// Emits a diagnostic where an op has neither kernel nor view.
  llvm::LogicalResult run();

  const Place &placeOf(mlir::Value value) const;
  /// The place at which the op reads this operand: that of the value or of its copy.
  const Place &placeOf(mlir::OpOperand &operand) const;
  /// The copies before the op, in order of operands.
  std::vector<OperandCopy> copiesBefore(mlir::Operation *op) const;
  /// The place of a value's chunks in a collective, if it differs from the value's.
  const Place *chunksOf(mlir::Value value) const {
    auto found = chunks.find(value);
    return found == chunks.end() ? nullptr : &found->second;
  }
  /// True if the op's results are windows of its operand and nothing is launched.
  bool isView(mlir::Operation *op) const { return views.contains(op); }
  /// The buffer that function result `index` reuses; -1: none.
  int donated(unsigned index) const;

private:
  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  llvm::LogicalResult placeArguments();
  void findPaddedSources();
  void findAlignedRows();
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
  /// Takes the place by value: a reference may point into the map that grows here.
  void bind(mlir::Value value, Place place);
  /// True if an op after `position` reads the buffer.
  bool isReadAfter(int buffer, unsigned position) const;
  bool isReturnedTo(int buffer, mlir::Value value) const;
  void countAccesses();

  /// Ops are handles whose accessors are not const.
  mutable mlir::func::FuncOp entry;
  PlanBuffers &buffers;
  std::string entryName;
  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseMap<mlir::OpOperand *, Place> copies;
  llvm::DenseMap<mlir::Value, Place> chunks;
  llvm::DenseSet<mlir::Operation *> views;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<int, llvm::SmallVector<mlir::Value>> valuesIn;
  /// Rows of the buffer of a collective's source, padding included.
  llvm::DenseMap<mlir::Value, int64_t> paddedRows;
  bool alignsRows;
  /// Elements from row to row of a value whose rows are aligned.
  llvm::DenseMap<mlir::Value, int64_t> rowPitch;
  /// For each persistent buffer, the values that are returned as its new value.
  llvm::DenseMap<int, llvm::SmallVector<mlir::Value>> returned;
  /// Values that are computed directly in the persistent buffer that they update.
  llvm::DenseMap<mlir::Value, int> targets;
};

} // namespace sluice

#endif // SLUICE_PASSES_SCHEDULE_BUFFERASSIGNMENT_H
