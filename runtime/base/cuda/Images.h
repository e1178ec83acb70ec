//===- Images.h - device code, in a library that is loaded at the first use of a device -------===//
#ifndef SLUICE_RUNTIME_BASE_CUDA_IMAGES_H
#define SLUICE_RUNTIME_BASE_CUDA_IMAGES_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace sluice::cuda {

/// What nvcc compiled from one file, for every architecture of the build.
struct Image {
  std::string_view name;
  const void *data = nullptr;
};

/// The export of libsluice-device-code.so.
struct ImageTable {
  const Image *images;
  std::size_t count;
};

/// The device code of this build: of the library next to the program, or in the folder of the installation. The library
/// stays loaded. StatusCode::refused if the library is missing, or of another build. Thread-safe.
Result<std::span<const Image>> deviceImages();

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_BASE_CUDA_IMAGES_H
