//===- DnnUse.cpp - which kernels of a run cuDNN computes ----------------------------------===//
#include "runtime/kernel/cuda/DnnUse.h"

namespace sluice::cuda {

void DnnUse::took(std::string_view kernel, std::int64_t engine, const std::string &version) {
  std::lock_guard lock(mutex);
  library = version;
  ++engines[std::string(kernel)][engine];
}

void DnnUse::left(std::string_view kernel, const std::string &why) {
  std::lock_guard lock(mutex);
  ++reasons[std::string(kernel)][why];
}

std::vector<std::string> DnnUse::notes() const {
  std::lock_guard lock(mutex);
  std::vector<std::string> lines;
  for (const auto &[kernel, byEngine] : engines) {
    std::string line = "kernel '" + kernel + "' by cudnn " + library + ":";
    for (const auto &[engine, count] : byEngine)
      line += std::string(&count == &byEngine.begin()->second ? " engine " : ", engine ") + std::to_string(engine) +
              " (" + std::to_string(count) + (count == 1 ? " launch)" : " launches)");
    lines.push_back(line);
  }
  for (const auto &[kernel, byReason] : reasons)
    for (const auto &[why, count] : byReason)
      lines.push_back("kernel '" + kernel + "' is not by cudnn (" + std::to_string(count) +
                      (count == 1 ? " launch): " : " launches): ") + why);
  return lines;
}

} // namespace sluice::cuda
