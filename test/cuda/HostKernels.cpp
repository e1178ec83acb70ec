//===- HostKernels.cpp - device kernels compiled for the host ------------------------------===//
#include "runtime/collective/cuda/Reduce.h"
#include "runtime/kernel/cuda/device/AttentionTensorGrad.h"
#include "runtime/kernel/cuda/device/BatchNorm.h"
#include "runtime/kernel/cuda/device/Columns.h"
#include "runtime/kernel/cuda/device/Convolution.h"
#include "runtime/kernel/cuda/device/Dense.h"
#include "runtime/kernel/cuda/device/DenseNorms.h"
#include "runtime/kernel/cuda/device/DenseRope.h"
#include "runtime/kernel/cuda/device/DenseSoftmax.h"
#include "runtime/kernel/cuda/device/Indexed.h"
#include "runtime/kernel/cuda/device/LossAndGradient.h"
#include "runtime/kernel/cuda/device/Numbered.h"
#include "runtime/kernel/cuda/device/Optimizer.h"
#include "runtime/kernel/cuda/device/Pointwise.h"
#include "runtime/kernel/cuda/device/Pooling.h"
#include "runtime/kernel/cuda/device/Product.h"
#include "runtime/kernel/cuda/device/Reduce.h"
#include "runtime/kernel/cuda/device/Rows.h"
#include "runtime/kernel/cuda/device/SortedRows.h"
#include "test/cuda/Emulator.h"

namespace sluice::test {
namespace {

using namespace cuda;

#define SLUICE_BARRIERS(symbol, function, Args) bool symbol##Barriers = false;
#define SLUICE_HOST(symbol, function, Args)                                                                            \
  {#symbol, [](const void *args, Lane lane) { function(*static_cast<const Args *>(args), lane); }, sizeof(Args),       \
   &symbol##Barriers},

#define SLUICE_ALL(X)                                                                                                  \
  SLUICE_POINTWISE_KERNELS(X)                                                                                          \
  SLUICE_DENSE_KERNELS(X)                                                                                              \
  SLUICE_COLUMNS_KERNELS(X)                                                                                            \
  SLUICE_DENSE_NORM_KERNELS(X)                                                                                         \
  SLUICE_LOSS_AND_GRADIENT_KERNELS(X)                                                                                  \
  SLUICE_DENSE_LOSS_KERNELS(X)                                                                                         \
  SLUICE_DENSE_ROPE_KERNELS(X)                                                                                         \
  SLUICE_DENSE_SOFTMAX_KERNELS(X)                                                                                      \
  SLUICE_SORTED_ROWS_KERNELS(X)                                                                                        \
  SLUICE_ROWS_KERNELS(X)                                                                                               \
  SLUICE_ATTENTION_KERNELS(X)                                                                                          \
  SLUICE_ATTENTION_TENSOR_KERNELS(X)                                                                                   \
  SLUICE_ATTENTION_TENSOR_GRAD_KERNELS(X)                                                                              \
  SLUICE_REDUCE_KERNELS(X)                                                                                             \
  SLUICE_INDEXED_KERNELS(X)                                                                                            \
  SLUICE_NUMBERED_KERNELS(X)                                                                                           \
  SLUICE_OPTIMIZER_KERNELS(X)                                                                                          \
  SLUICE_PRODUCT_KERNELS(X)                                                                                            \
  SLUICE_CONVOLUTION_KERNELS(X)                                                                                        \
  SLUICE_POOLING_KERNELS(X)                                                                                            \
  SLUICE_BATCH_NORM_KERNELS(X)                                                                                         \
  SLUICE_COLLECTIVE_KERNELS(X)

SLUICE_ALL(SLUICE_BARRIERS)
const HostKernel kernels[] = {SLUICE_ALL(SLUICE_HOST)};

} // namespace

const HostKernel *findHostKernel(const std::string &name) {
  for (const HostKernel &kernel : kernels)
    if (name == kernel.name)
      return &kernel;
  return nullptr;
}

} // namespace sluice::test
