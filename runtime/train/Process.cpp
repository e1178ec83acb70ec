//===- Process.cpp - memory of this process, from the operating system -------------===//
#include "runtime/train/Process.h"

#include <cstdio>

namespace sluice {

std::uint64_t processHighWater() {
  std::FILE *file = std::fopen("/proc/self/status", "r");
  if (!file)
    return 0;
  char line[256];
  unsigned long long kibibytes = 0;
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "VmHWM: %llu", &kibibytes) == 1)
      break;
  std::fclose(file);
  return kibibytes * 1024;
}

} // namespace sluice
