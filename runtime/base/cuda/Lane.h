//===- Lane.h - one thread of a kernel, on a GPU or emulated --------------------------===//
//
// The body of every device kernel is a plain function `void body(const Args &args, Lane lane)`. nvcc compiles it for
// GPUs, where a Lane is only the built-in indices; a host compiler compiles the same source for tests, where a
// Lane is a fiber of an emulated block (test/cuda/Emulator.h). Blocks and their number have one dim; blocks are whole
// warps.
//
// Rules of a body that runs on both: sync() and the warp functions are reached by all threads of the block (of the
// warp), reduction orders are those stated here, and shared memory is what the launch asked for.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_LANE_H
#define SLUICE_RUNTIME_BASE_CUDA_LANE_H

#include <cstdint>

#ifdef __CUDACC__
#define SLUICE_DEVICE __device__ __forceinline__
#else
#define SLUICE_DEVICE inline
#endif

namespace sluice::cuda {

using Index = long long;

inline constexpr int warpSize = 32;

struct Add {
  template <typename T> SLUICE_DEVICE T operator()(T a, T b) const { return a + b; }
};
/// Keeps NaN.
struct Largest {
  template <typename T> SLUICE_DEVICE T operator()(T a, T b) const { return a != a || a > b ? a : b; }
};
struct Or {
  template <typename T> SLUICE_DEVICE T operator()(T a, T b) const { return a | b; }
};

#ifdef __CUDACC__

extern __shared__ __align__(16) unsigned char sluiceShared[];

struct Lane {
  SLUICE_DEVICE Index block() const { return blockIdx.x; }
  SLUICE_DEVICE Index blocks() const { return gridDim.x; }
  SLUICE_DEVICE int thread() const { return threadIdx.x; }
  SLUICE_DEVICE int threads() const { return blockDim.x; }
  SLUICE_DEVICE void sync() const { __syncthreads(); }
  SLUICE_DEVICE void syncWarp() const { __syncwarp(); }
  template <typename T> SLUICE_DEVICE T *shared() const { return reinterpret_cast<T *>(sluiceShared); }
  /// A butterfly: v[i] = op(v[i], v[i ^ 16]), then 8, 4, 2, 1. All lanes get the same for a commutative op.
  template <typename T, typename Op> SLUICE_DEVICE T warpReduce(T value, Op op) const {
    for (int step = warpSize / 2; step; step /= 2)
      value = op(value, __shfl_xor_sync(0xffffffffu, value, step));
    return value;
  }
  /// Bit i: the value of lane i.
  SLUICE_DEVICE unsigned ballot(bool value) const { return __ballot_sync(0xffffffffu, value); }
  /// The value of the warp's lane `from`.
  template <typename T> SLUICE_DEVICE T warpRead(T value, int from) const {
    return __shfl_sync(0xffffffffu, value, from);
  }
};

#else

/// The services of an emulated block for its fibers.
class EmulatedBlock {
public:
  virtual ~EmulatedBlock() = default;
  virtual void syncBlock(int thread) = 0;
  virtual void syncWarp(int thread) = 0;
  /// 32 places of `placeBytes` for the warp of `thread`, two sets in turn.
  static constexpr int placeBytes = 32;
  virtual unsigned char *places(int thread) = 0;
  virtual void *shared() = 0;
  /// Copies to shared memory that are under way until they are waited for (TensorCore.h): carried out at once or when
  /// waited for, as the launch runs its threads from first to last or from last to first.
  virtual void copy(int thread, void *to, const void *from, int bytes, int real) = 0;
  virtual void commitCopies(int thread) = 0;
  virtual void waitForCopies(int thread, int pending) = 0;
  /// True if `bytes` at `at` are in the launch's shared memory and aligned to their size; else the launch fails.
  virtual bool isShared(const void *at, int bytes) = 0;
};

class Lane {
public:
  Lane(EmulatedBlock *owner, Index block, Index blocks, int thread, int threads)
      : owner(owner), blockIndex(block), blockCount(blocks), threadIndex(thread), threadCount(threads) {}

  Index block() const { return blockIndex; }
  Index blocks() const { return blockCount; }
  int thread() const { return threadIndex; }
  int threads() const { return threadCount; }
  void sync() const { owner->syncBlock(threadIndex); }
  void syncWarp() const { owner->syncWarp(threadIndex); }
  template <typename T> T *shared() const { return static_cast<T *>(owner->shared()); }
  template <typename T, typename Op> T warpReduce(T value, Op op) const {
    T values[warpSize], next[warpSize];
    exchange(value, values);
    for (int step = warpSize / 2; step; step /= 2) {
      for (int i = 0; i < warpSize; ++i)
        next[i] = op(values[i], values[i ^ step]);
      for (int i = 0; i < warpSize; ++i)
        values[i] = next[i];
    }
    return values[threadIndex % warpSize];
  }
  unsigned ballot(bool value) const {
    bool values[warpSize];
    exchange(value, values);
    unsigned bits = 0;
    for (int i = 0; i < warpSize; ++i)
      bits |= static_cast<unsigned>(values[i]) << i;
    return bits;
  }
  template <typename T> T warpRead(T value, int from) const {
    T values[warpSize];
    exchange(value, values);
    return values[from];
  }
  /// The value of every lane of the warp.
  template <typename T> void exchange(T value, T *values) const {
    static_assert(sizeof(T) <= EmulatedBlock::placeBytes);
    unsigned char *places = owner->places(threadIndex);
    __builtin_memcpy(places + threadIndex % warpSize * EmulatedBlock::placeBytes, &value, sizeof value);
    owner->syncWarp(threadIndex);
    for (int i = 0; i < warpSize; ++i)
      __builtin_memcpy(&values[i], places + i * EmulatedBlock::placeBytes, sizeof value);
  }
  EmulatedBlock &emulator() const { return *owner; }

private:
  EmulatedBlock *owner;
  Index blockIndex, blockCount;
  int threadIndex, threadCount;
};

#endif

SLUICE_DEVICE unsigned countOfBits(unsigned bits) {
#ifdef __CUDACC__
  return static_cast<unsigned>(__popc(bits));
#else
  return static_cast<unsigned>(__builtin_popcount(bits));
#endif
}

/// Bytes at the start of shared memory that blockReduce uses.
inline constexpr int reduceBytes = 32 * 8;

/// Over the block: the warps by butterfly, then ((w0 + w1) + w2) + ...; all threads get the same.
template <typename T, typename Op> SLUICE_DEVICE T blockReduce(Lane lane, T value, Op op) {
  T *partial = lane.shared<T>();
  value = lane.warpReduce(value, op);
  if (lane.thread() % warpSize == 0)
    partial[lane.thread() / warpSize] = value;
  lane.sync();
  T result = partial[0];
  for (int w = 1; w < lane.threads() / warpSize; ++w)
    result = op(result, partial[w]);
  lane.sync();
  return result;
}

/// Combines load(0), load(1), .. over the block: thread t has every threads-th number from the t-th on, in order, then
/// blockReduce. Eight loads of a thread are in flight together.
template <typename T, typename Op, typename Load>
SLUICE_DEVICE T blockReduceOf(Lane lane, Index count, T identity, Op op, Load load) {
  constexpr int together = 8;
  const Index step = lane.threads();
  T result = identity;
  for (Index first = lane.thread(); first < count; first += together * step) {
    T values[together];
    for (int i = 0; i < together; ++i)
      values[i] = first + i * step < count ? load(first + i * step) : identity;
    for (int i = 0; i < together; ++i)
      result = op(result, values[i]);
  }
  return blockReduce(lane, result, op);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_BASE_CUDA_LANE_H
