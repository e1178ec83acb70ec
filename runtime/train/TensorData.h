//===- TensorData.h - inputs from safetensors files ----------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_TENSORDATA_H
#define SLUICE_RUNTIME_TRAIN_TENSORDATA_H

#include "runtime/train/InputData.h"

namespace sluice {

/// Files with a tensor for each port, by its name; index i along the first dim is sample i, and files follow one
/// another. Floats are converted to a float port's type, integers to an integer port's; integers are compared with the
/// port's limit when they are read. Tensors without a port are ignored.
Result<std::unique_ptr<InputData>> openTensorData(const std::vector<std::string> &paths,
                                                  const std::vector<const plan::PortT *> &ports);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_TENSORDATA_H
