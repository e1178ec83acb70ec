//===- Safetensors.h - reading the reference numbers --------------------------===//
//
// The part of the format that valid files of the tests need: an 8-byte little-endian header length, the JSON header,
// the data. Tests that a reader refuses bad files belong to the runtime's reader.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_KERNEL_SAFETENSORS_H
#define SLUICE_TEST_UNIT_KERNEL_SAFETENSORS_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace sluice::test {

struct StoredTensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<char> bytes;
};

inline std::map<std::string, StoredTensor> readSafetensors(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::map<std::string, StoredTensor> tensors;
  if (all.size() < 8)
    return tensors;
  std::uint64_t header;
  std::memcpy(&header, all.data(), 8);
  auto described = nlohmann::json::parse(all.begin() + 8, all.begin() + 8 + static_cast<std::ptrdiff_t>(header));
  for (auto &[name, entry] : described.items()) {
    if (name == "__metadata__")
      continue;
    auto begin = all.begin() + 8 + static_cast<std::ptrdiff_t>(header);
    std::int64_t from = entry["data_offsets"][0], to = entry["data_offsets"][1];
    tensors[name] = {entry["dtype"], entry["shape"], std::vector<char>(begin + from, begin + to)};
  }
  return tensors;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_KERNEL_SAFETENSORS_H
