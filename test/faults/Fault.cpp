//===- Fault.cpp - a rank that dies or stops on purpose ----------------------------===//
#include "test/faults/Fault.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace sluice {
namespace {

class Fault final : public DelayInjector {
public:
  Fault(char how, std::uint32_t instruction, std::uint64_t times)
      : how(how), instruction(instruction), left(static_cast<std::int64_t>(times)) {}

  void before(std::string_view, std::uint32_t at, std::uint32_t) override {
    if (at != instruction || --left != 0)
      return;
    if (how == 'e')
      _exit(9);
    kill(getpid(), how == 's' ? SIGSTOP : SIGKILL);
  }

private:
  const char how;
  const std::uint32_t instruction;
  std::atomic<std::int64_t> left;
};

} // namespace

Result<std::unique_ptr<DelayInjector>> readFault(const char *value, int rank) {
  if (!value || !*value)
    return std::unique_ptr<DelayInjector>();
  char word[8] = "";
  int which = -1, end = 0;
  unsigned instruction = 0;
  unsigned long long times = 0;
  const bool read = std::sscanf(value, "%7[a-z]:%d:%u:%llu%n", word, &which, &instruction, &times, &end) == 4;
  const std::string how = word;
  if (!read || value[end] != '\0' || (how != "kill" && how != "stop" && how != "exit"))
    return Status(StatusCode::usage,
                  "environment variable SLUICE_FAULT, expected kill, stop or exit:RANK:INSTRUCTION:TIMES but got '" +
                      std::string(value) + "'");
  if (which != rank)
    return std::unique_ptr<DelayInjector>();
  return std::unique_ptr<DelayInjector>(std::make_unique<Fault>(how[0], instruction, times));
}

} // namespace sluice
