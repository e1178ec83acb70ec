//===- Npy.h - the header of numpy's .npy files ------------------------------------===//
//
// The format: the magic, two bytes of version, the length of the header (2 bytes in version 1, 4 bytes in versions 2
// and 3), the header as a Python dictionary, and the elements.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_NPY_H
#define SLUICE_RUNTIME_TRAIN_NPY_H

#include "runtime/base/File.h"

namespace sluice {

inline constexpr std::string_view npyMagic = "\x93NUMPY";

struct NpyArray {
  /// Bytes before the first element, and bytes of one element.
  std::uint64_t begin = 0;
  std::uint64_t width = 0;
  bool isSigned = false;
  std::uint64_t count = 0;
};

/// Reads the header of an array of one dimension of uint16, uint32, int32 or int64, little-endian. Any other file is an
/// input error, also one whose size is not that of its header and elements.
Result<NpyArray> readNpyHeader(const InputFile &file);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_NPY_H
