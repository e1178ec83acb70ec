//===- Mutants.cpp - a trial of a plan's mutants ----------------------------------------===//
//
// See Mutants.h.
//
//===----------------------------------------------------------------------===//
#include "test/mutants/Mutants.h"

#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"
#include "test/mutants/mutate/FieldMutants.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <random>
#include <set>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace sluice {

namespace {

/// A mutant takes as long as the plan, unless it waits for something that never happens.
constexpr double secondsPerRun = 20;

/// A file that is removed with this object.
class TemporaryFile {
public:
  explicit TemporaryFile(std::span<const std::uint8_t> bytes) : path(folder() + "/sluice-mutant-XXXXXX") {
    const int file = mkstemp(path.data());
    isWritten = file >= 0;
    for (std::size_t done = 0; isWritten && done < bytes.size();) {
      const ssize_t count = ::write(file, bytes.data() + done, bytes.size() - done);
      isWritten = count > 0;
      done += count > 0 ? std::size_t(count) : 0;
    }
    if (file >= 0)
      close(file);
  }
  ~TemporaryFile() { unlink(path.c_str()); }

  std::string path;
  bool isWritten = false;

private:
  static std::string folder() {
    const char *set = std::getenv("TMPDIR");
    return set && *set ? set : "/tmp";
  }
};

/// Without the label, which has the name of a stream.
std::string_view unlabelled(std::string_view line) { return line.substr(std::min(line.find(' '), line.size())); }

/// A line of digests without its label and the digest of the values.
struct DigestLine {
  std::string layout;
  /// Of each tensor: a weighted sum and the sum of magnitudes.
  std::vector<double> sums;

  explicit DigestLine(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string word;
    words >> word >> layout;
    while (words >> word)
      sums.push_back(std::strtod(word.c_str(), nullptr));
  }
};

/// Equal up to the rounding of f32, which is much less than the change by a step of training.
bool isNear(const DigestLine &a, const DigestLine &b) {
  constexpr double tolerance = 2e-6;
  bool near = a.layout == b.layout && a.sums.size() == b.sums.size();
  for (std::size_t k = 0; near && k < a.sums.size(); ++k)
    near = std::abs(a.sums[k] - b.sums[k]) <= tolerance * b.sums[k | 1];
  return near;
}

/// Not a message.
bool isDigest(std::string_view text) { return text.starts_with("poisoned "); }

/// Reads until the other end is closed, the time is over, or a digest differs.
StepsOutcome::End readDigests(int pipe, std::string &text, double seconds, const std::string &expected) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd ready{pipe, POLLIN, 0};
    if (left <= 0 || poll(&ready, 1, int(left)) <= 0)
      return StepsOutcome::End::timedOut;
    char bytes[4096];
    const ssize_t count = ::read(pipe, bytes, sizeof bytes);
    if (count <= 0)
      return StepsOutcome::End::printed;
    text.append(bytes, std::size_t(count));
    const std::string_view lines(text.data(), text.rfind('\n') + 1);
    if (!expected.empty() && isDigest(lines) && compareDigests(lines, expected) == Difference::numbers)
      return StepsOutcome::End::differed;
  }
}

/// True if all lines have the same digest and sums.
bool hasOneDigest(const std::string &text) {
  std::set<std::string> digests;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    digests.insert(std::string(unlabelled(line)));
  return digests.size() == 1;
}

/// A kind of mutants, or a field of the schema.
struct Source {
  std::string name, summary;
  /// Properties for which its mutants are refused; empty: any.
  std::vector<int> properties;
  std::function<std::optional<plan::PlanT>(std::uint64_t seed)> make;
};

std::vector<Source> sourcesOf(const plan::PlanT &plan, bool fields) {
  std::vector<Source> sources;
  if (fields)
    for (const std::string &field : planFields(plan))
      sources.push_back(
          {field, "", {}, [&plan, field](std::uint64_t seed) { return makeFieldMutant(plan, field, seed); }});
  else
    for (const MutantKind &kind : mutantKinds())
      sources.push_back({std::string(kind.name), std::string(kind.summary), kind.properties,
                         [&plan, &kind](std::uint64_t seed) { return makeMutant(plan, kind, seed); }});
  return sources;
}

/// A permutation by the seed.
template <typename T> void shuffle(std::vector<T> &list, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t k = list.size(); k > 1; --k)
    std::swap(list[k - 1], list[random() % k]);
}

struct KindCounts {
  std::uint64_t made = 0, refused = 0, expected = 0, equivalent = 0, rounding = 0, stopped = 0, survived = 0;
};

/// A mutant that is listed with its number.
struct Listed {
  std::string kind;
  std::uint64_t number = 0;
  std::string reason;
  /// Why the checker does not prove P9; empty if it does.
  std::string notProved = {};
};

struct MutantReport {
  std::vector<Source> sources;
  std::map<std::string, KindCounts, std::less<>> kinds;
  std::vector<Listed> survivors;
  /// Refused for a property that its kind does not name.
  std::vector<Listed> unexpected;
  /// By property.
  std::map<int, std::uint64_t> refused;

  void add(const Source &source, std::uint64_t number, int property) {
    KindCounts &counts = kinds[source.name];
    ++counts.made;
    ++counts.refused;
    ++refused[property];
    if (source.properties.empty() || std::ranges::count(source.properties, property) > 0)
      ++counts.expected;
    else
      unexpected.push_back({source.name, number, concat("P", property)});
  }
  void add(const Source &source, std::uint64_t number, const StepsOutcome &original, const StepsOutcome &mutant,
           const CheckReport &checked) {
    using End = StepsOutcome::End;
    KindCounts &counts = kinds[source.name];
    ++counts.made;
    const Difference difference = compareDigests(mutant.text, original.text);
    if (mutant.end == End::printed && difference != Difference::numbers) {
      ++(difference == Difference::none ? counts.equivalent : counts.rounding);
    } else if (mutant.end == End::stopped) {
      ++counts.stopped;
    } else {
      ++counts.survived;
      survivors.push_back({source.name, number,
                           mutant.end == End::crashed    ? "crashed"
                           : mutant.end == End::timedOut ? "did not end"
                                                         : "other numbers",
                           checked.properties[8].reason});
    }
  }
  KindCounts total() const {
    KindCounts sum;
    for (const auto &[name, counts] : kinds) {
      sum.made += counts.made;
      sum.refused += counts.refused;
      sum.expected += counts.expected;
      sum.equivalent += counts.equivalent;
      sum.rounding += counts.rounding;
      sum.stopped += counts.stopped;
      sum.survived += counts.survived;
    }
    return sum;
  }
};

std::string rowText(std::string_view name, const KindCounts &counts) {
  std::string text = padRight(std::string(name), 30);
  for (const std::uint64_t count : {counts.made, counts.refused, counts.expected, counts.equivalent, counts.rounding,
                                    counts.stopped, counts.survived})
    text += padLeft(std::to_string(count), 11);
  return text + "\n";
}

std::string reportText(const MutantReport &report) {
  std::string text = padRight("kind", 30);
  for (const char *column : {"made", "refused", "expected", "equivalent", "rounding", "stopped", "survived"})
    text += padLeft(column, 11);
  text += "\n";
  for (const Source &source : report.sources)
    if (const auto found = report.kinds.find(source.name); found != report.kinds.end())
      text += rowText(source.name, found->second);
  text += rowText("total", report.total()) + "refused for:";
  for (const auto &[property, count] : report.refused)
    text += concat(" P", property, " ", count);
  text += "\n";
  for (const Listed &survivor : report.survivors)
    text += concat("survived: mutant ", survivor.number, ", ", survivor.kind, ": ", survivor.reason,
                   survivor.notProved.empty() ? "" : ", P9 not proved: " + survivor.notProved, "\n");
  return text;
}

Json countsJson(const KindCounts &counts) {
  return {{"made", counts.made},         {"refused", counts.refused},
          {"expected", counts.expected}, {"equivalent", counts.equivalent},
          {"rounding", counts.rounding}, {"stopped", counts.stopped},
          {"survived", counts.survived}};
}

Json reportJson(const MutantReport &report, const std::string &digest, std::uint64_t seed) {
  const auto listJson = [](const std::vector<Listed> &list) {
    Json rows = Json::array();
    for (const Listed &row : list)
      rows.push_back(
          {{"mutant", row.number}, {"kind", row.kind}, {"reason", row.reason}, {"not_proved", row.notProved}});
    return rows;
  };
  Json kinds = Json::array(), refused = Json::object();
  for (const Source &source : report.sources)
    if (const auto found = report.kinds.find(source.name); found != report.kinds.end()) {
      Json row = countsJson(found->second);
      row["kind"] = source.name;
      row["summary"] = source.summary;
      row["properties"] = source.properties;
      kinds.push_back(std::move(row));
    }
  for (const auto &[property, count] : report.refused)
    refused[concat("P", property)] = count;
  return {{"digest", digest},
          {"seed", seed},
          {"total", countsJson(report.total())},
          {"kinds", kinds},
          {"refused", refused},
          {"survivors", listJson(report.survivors)},
          {"unexpected", listJson(report.unexpected)}};
}

} // namespace

Difference compareDigests(std::string_view mutant, std::string_view original) {
  Difference found = Difference::none;
  while (!mutant.empty()) {
    const std::size_t end = mutant.find('\n'), originalEnd = original.find('\n');
    if (end == mutant.npos || originalEnd == original.npos)
      return Difference::numbers;
    const std::string_view a = unlabelled(mutant.substr(0, end)), b = unlabelled(original.substr(0, originalEnd));
    if (a != b) {
      if (!isNear(DigestLine(a), DigestLine(b)))
        return Difference::numbers;
      found = Difference::rounding;
    }
    mutant.remove_prefix(end + 1);
    original.remove_prefix(originalEnd + 1);
  }
  return found;
}

Result<StepsOutcome> runSteps(const std::string &program, plan::PlanT plan, double seconds,
                              const std::string &expected) {
  const TemporaryFile file(serializePlan(plan));
  if (!file.isWritten)
    return inputError("cannot write the mutant to '" + file.path + "'");
  int ends[2];
  if (pipe(ends) != 0)
    return internalError("cannot create a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::string name = program, path = file.path;
  char *arguments[] = {name.data(), path.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return inputError("cannot start '" + program + "', which executes the mutants");
  }
  StepsOutcome outcome;
  using End = StepsOutcome::End;
  outcome.end = readDigests(ends[0], outcome.text, seconds, expected);
  if (outcome.end != End::printed)
    kill(child, SIGKILL);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (outcome.end == End::printed && (!WIFEXITED(status) || WEXITSTATUS(status) == int(StatusCode::internal)))
    outcome.end = End::crashed;
  else if (outcome.end == End::printed && WEXITSTATUS(status) != 0)
    outcome.end = End::stopped;
  return outcome;
}

std::uint64_t mutantSeed(std::uint64_t seed, std::uint64_t number) {
  return std::mt19937_64(seed * 0x9e3779b97f4a7c15 + number)();
}

std::vector<const MutantKind *> shuffledKinds(std::uint64_t seed) {
  std::vector<const MutantKind *> kinds;
  for (const MutantKind &kind : mutantKinds())
    kinds.push_back(&kind);
  shuffle(kinds, seed);
  return kinds;
}

Result<MutantTrial> tryMutants(const std::string &path, const MutantOptions &options, const std::string &program) {
  SLUICE_ASSIGN_OR_RETURN(const PlanFile file, readCheckedPlan(path));
  SLUICE_ASSIGN_OR_RETURN(const StepsOutcome original, runSteps(program, file.plan, secondsPerRun));
  if (original.end != StepsOutcome::End::printed)
    return failedError("cannot execute '" + path + "', so accepted mutants cannot be compared with it: " +
                       original.text.substr(0, original.text.find('\n')));
  if (!hasOneDigest(original.text))
    return internalError("the plan computes other numbers when a stream is slow, or when dead bytes are overwritten");
  MutantReport report;
  report.sources = sourcesOf(file.plan, options.fields);
  std::vector<const Source *> turns;
  for (const Source &source : report.sources)
    if (options.only.empty() || source.name == options.only)
      turns.push_back(&source);
  shuffle(turns, options.seed);
  for (std::uint64_t number = 0, at = 0; number < options.mutants && !turns.empty();) {
    const Source &source = *turns[at % turns.size()];
    std::optional<plan::PlanT> mutant = source.make(mutantSeed(options.seed, number));
    if (!mutant) {
      turns.erase(turns.begin() + std::int64_t(at % turns.size()));
      continue;
    }
    ++at;
    CheckReport checked;
    if (!checkPlan(*mutant, &checked).isOk()) {
      report.add(source, number++, checked.refused());
      continue;
    }
    const std::size_t survivors = report.survivors.size();
    SLUICE_ASSIGN_OR_RETURN(const StepsOutcome outcome, runSteps(program, *mutant, secondsPerRun, original.text));
    report.add(source, number++, original, outcome, checked);
    if (report.survivors.size() != survivors && !options.survivors.empty()) {
      SLUICE_ASSIGN_OR_RETURN(OutputFile kept, OutputFile::create(concat(options.survivors, "/", number - 1, ".plan")));
      const std::vector<std::uint8_t> bytes = serializePlan(*mutant);
      SLUICE_RETURN_IF_ERROR(kept.write(std::as_bytes(std::span(bytes))));
      SLUICE_RETURN_IF_ERROR(kept.commit());
    }
  }
  return MutantTrial{options.json ? dumpJson(reportJson(report, digestText(file.plan), options.seed), 2) + "\n"
                                  : reportText(report),
                     !report.survivors.empty()};
}

} // namespace sluice
