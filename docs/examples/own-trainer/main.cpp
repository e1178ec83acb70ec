// A trainer that links the runtime only: loads a plan, writes batches, sets the learning rate, reads losses.
#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Reader.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

static int fail(const sluice::Status &status) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  for (const std::string &note : status.notes())
    std::fprintf(stderr, "note: %s\n", note.c_str());
  return static_cast<int>(status.code());
}

int main(int argc, char **argv) {
  if (argc < 3)
    return fail({sluice::StatusCode::usage, "arguments, expected FILE.plan STEPS [TEXT]"});
  auto file = sluice::readCheckedPlan(argv[1]);
  if (!file.isOk())
    return fail(file.status());
  auto group = sluice::RankGroup::create(file->plan);
  if (!group.isOk())
    return fail(group.status());
  sluice::RankGroup &ranks = **group;
  for (const char *name : {"tokens", "targets", "lr", "step"}) // a plan of another model may have others
    if (auto port = ranks.executor(0).input("train_step", name); !port.isOk())
      return fail(port.status());
  auto loss = ranks.executor(0).output("train_step", "loss");
  if (!loss.isOk())
    return fail(loss.status());
  std::ifstream stream(argc > 3 ? argv[3] : "", std::ios::binary); // no text: rows that count up
  const std::vector<unsigned char> text(std::istreambuf_iterator<char>(stream), {});
  std::mt19937_64 random(1);
  sluice::Status status = ranks.runEntry("init");
  for (int step = 0; status.isOk() && step < std::atoi(argv[2]); ++step) {
    for (int r = 0; r < ranks.size(); ++r) {
      auto port = [&](const char *name) { return *ranks.executor(r).input("train_step", name); };
      *port("lr").as<float>() = 1e-3f * std::min(1.0f, static_cast<float>(step + 1) / 5.0f);
      *port("step").as<std::int64_t>() = step + 1;
      const sluice::PortMemory tokens = port("tokens"), targets = port("targets");
      const auto rows = static_cast<std::size_t>(tokens.shape[0]), length = static_cast<std::size_t>(tokens.shape[1]);
      for (std::uint32_t m = 0; m < tokens.repetitions; ++m)
        for (std::size_t row = 0; row < rows; ++row) {
          const std::size_t at = text.size() > length ? random() % (text.size() - length) : random() % 64;
          for (std::size_t t = 0; t < length; ++t) {
            auto token = [&](auto i) { return std::int32_t((text.size() > length ? text[i] : i) % tokens.limit); };
            tokens.as<std::int32_t>(m)[row * length + t] = token(at + t);
            targets.as<std::int32_t>(m)[row * length + t] = token(at + t + 1);
          }
        }
    }
    if (status = ranks.runEntry("train_step"); status.isOk())
      std::printf("step %d  loss %.5f\n", step + 1, *loss->as<float>());
  }
  return status.isOk() ? 0 : fail(status);
}
