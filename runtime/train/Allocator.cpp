//===- Allocator.cpp - how the C library's allocator treats what a library takes ------===//
#include "runtime/train/Allocator.h"

#include <cstdlib>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/auxv.h>
#include <unistd.h>
#endif

namespace sluice {

#if defined(__GLIBC__)

// glibc's manual, "Memory Allocation Tunables".
static const char variable[] = "GLIBC_TUNABLES";
static const char setting[] = "glibc.malloc.tcache_count";

static std::string tunables() {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

static bool hasThreadCaches() { return tunables().find(std::string(setting) + "=0") == std::string::npos; }

void restartWithoutThreadCaches(char **arguments) {
  const bool isSet = std::getenv(variable);
  const std::string before = tunables();
  // What follows the equals sign is somebody's choice. A program that its loader was asked to run is not its own
  // executable, which that loader is; it has no other.
  if (before.find(setting) != std::string::npos || getauxval(AT_BASE) == 0)
    return;
  const std::string after = before + (before.empty() ? "" : ":") + setting + "=0";
  if (setenv(variable, after.c_str(), 1) != 0)
    return;
  execv("/proc/self/exe", arguments);
  // No /proc, or no leave: the setting would be taken for one that holds.
  isSet ? setenv(variable, before.c_str(), 1) : unsetenv(variable);
}

void returnFreedMemory() {
  // Setting it also stops its growth with the sizes that are freed.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

void keepFreedMemory() {
  if (hasThreadCaches())
    return;
  // The most that the library takes.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

#else

void restartWithoutThreadCaches(char **) {}
void returnFreedMemory() {}
void keepFreedMemory() {}

#endif

} // namespace sluice
