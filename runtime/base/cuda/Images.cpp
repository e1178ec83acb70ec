//===- Images.cpp - device code, in a library that is loaded at the first use of a device -----===//
#include "runtime/base/cuda/Images.h"

#include <dlfcn.h>
#include <filesystem>
#include <string>

namespace sluice::cuda {
namespace {

// Not defined in a build without nvcc.
#ifdef SLUICE_DEVICE_CODE
constexpr const char *tableName = SLUICE_DEVICE_CODE, *installed = SLUICE_LIBRARY_FOLDER;

Result<std::span<const Image>> load() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  constexpr const char *file = "libsluice-device-code.so";
  std::string reasons;
  for (const std::filesystem::path &folder : {program, program / "../lib/sluice", std::filesystem::path(installed)}) {
    const std::string path = (folder / file).string();
    void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char *reason = dlerror();
      reasons += (reasons.empty() ? "" : "; ") + std::string(reason ? reason : path);
    } else if (const void *table = dlsym(library, tableName)) {
      const auto *images = static_cast<const ImageTable *>(table);
      return std::span(images->images, images->count);
    } else {
      reasons += (reasons.empty() ? "" : "; ") + path + " is of another build";
    }
  }
  return refusedError("cuda device code, expected the library " + std::string(file) +
                      " of this build but got: " + reasons)
      .withNote("'ninja sluice_device_code' builds it next to the programs");
}
#else
Result<std::span<const Image>> load() {
  return refusedError("cuda device code, expected it in this build but it was configured without nvcc of CUDA 13");
}
#endif

} // namespace

Result<std::span<const Image>> deviceImages() {
  static const Result<std::span<const Image>> loaded = load();
  return loaded;
}

} // namespace sluice::cuda
