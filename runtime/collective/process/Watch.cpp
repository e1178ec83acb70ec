//===- Watch.cpp - processes that are alive, and the progress of each --------------===//
#include "runtime/collective/process/Watch.h"
#include "runtime/base/Sha256.h"

#include <cstdio>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace sluice::process {

Hello ownHello() {
  // The boot of the kernel and the namespace of process ids: the host name would be the same in two containers.
  std::string text;
  if (std::FILE *file = std::fopen("/proc/sys/kernel/random/boot_id", "r")) {
    char line[64];
    if (std::fgets(line, sizeof line, file))
      text += line;
    std::fclose(file);
  }
  char space[64];
  if (const ssize_t count = readlink("/proc/self/ns/pid", space, sizeof space); count > 0)
    text.append(space, static_cast<std::size_t>(count));
  const Digest digest = sha256(std::span(reinterpret_cast<const std::uint8_t *>(text.data()), text.size()));
  Hello hello;
  std::memcpy(&hello.machine, digest.data(), sizeof hello.machine);
  hello.process = static_cast<std::uint64_t>(getpid());
  return hello;
}

ProcessWatch::ProcessWatch(std::uint64_t process) {
#ifdef SYS_pidfd_open
  descriptor = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)));
#endif
}

bool ProcessWatch::hasEnded() const {
  pollfd one{descriptor.get(), POLLIN, 0};
  return descriptor.isOpen() && poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
}

double secondsSinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string describeProgress(const Heartbeat &heartbeat, const ProgressNames &names) {
  if (heartbeat.entry == ~std::uint32_t(0))
    return heartbeat.count == 0 ? "it has run no instruction" : "it was reading or writing files";
  return "its last instruction was " + (names ? names(heartbeat.entry, heartbeat.instruction)
                                              : "number " + std::to_string(heartbeat.instruction) + " of entry point " +
                                                    std::to_string(heartbeat.entry));
}

} // namespace sluice::process
