//===- Images.cpp - the device code of this build --------------------------------------===//
#include "runtime/base/cuda/Table.h"

namespace sluice::cuda {

#ifdef SLUICE_CUDA_IMAGES

#define SLUICE_IMAGE(name) extern "C" const unsigned char sluice_image_##name[];
SLUICE_CUDA_IMAGES
#undef SLUICE_IMAGE

std::span<const Image> builtImages() {
  static const Image images[] = {
#define SLUICE_IMAGE(name) {#name, sluice_image_##name},
      SLUICE_CUDA_IMAGES
#undef SLUICE_IMAGE
  };
  return images;
}
std::string_view builtWithout() { return {}; }

#else

std::span<const Image> builtImages() { return {}; }
std::string_view builtWithout() { return "it was configured without nvcc of CUDA 13"; }

#endif

} // namespace sluice::cuda
