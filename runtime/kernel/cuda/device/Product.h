//===- Product.h - matrix products that the library does not take ------------------------------------===//
//
// Any strides: one thread per result, along k upwards. For layouts in which no dim of a matrix is dense, and empty
// products.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_PRODUCT_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_PRODUCT_H

#include "runtime/base/cuda/Element.h"

namespace sluice::cuda {

struct ProductArgs {
  View a, b, c, bias, residual;
  Index m = 0, n = 0, k = 0;
  Index aM = 0, aK = 0, bK = 0, bN = 0, cM = 0, cN = 0, rM = 0, rN = 0, biasN = 0;
  int batchRank = 0, hasBias = 0, hasResidual = 0;
  Index batchExtent[viewRank] = {}, aBatch[viewRank] = {}, bBatch[viewRank] = {}, cBatch[viewRank] = {},
        rBatch[viewRank] = {};
  Index batches = 1;
};

template <typename E> SLUICE_DEVICE void product(const ProductArgs &args, Lane lane) {
  using T = typename E::Real;
  const Index total = args.batches * args.m * args.n, step = lane.blocks() * lane.threads();
  for (Index i = lane.block() * lane.threads() + lane.thread(); i < total; i += step) {
    const Index column = i % args.n, row = i / args.n % args.m;
    Index batch = i / args.n / args.m, a = row * args.aM, b = column * args.bN, c = row * args.cM + column * args.cN;
    Index r = row * args.rM + column * args.rN;
    for (int d = args.batchRank - 1; d >= 0; --d) {
      const Index at = batch % args.batchExtent[d];
      batch /= args.batchExtent[d];
      a += at * args.aBatch[d];
      b += at * args.bBatch[d];
      c += at * args.cBatch[d];
      r += at * args.rBatch[d];
    }
    T sum = 0;
    for (Index k = 0; k < args.k; ++k)
      sum += E::read(args.a, a + k * args.aK) * E::read(args.b, b + k * args.bK);
    if (args.hasBias)
      sum += E::read(args.bias, column * args.biasN);
    if (args.hasResidual)
      sum += E::read(args.residual, r);
    E::write(args.c, c, sum);
  }
}

} // namespace sluice::cuda

#define SLUICE_PRODUCT_KERNELS(X) SLUICE_POLICIES(X, product, ProductArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_PRODUCT_H
