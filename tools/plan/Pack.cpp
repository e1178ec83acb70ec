//===- Pack.cpp - sluice-plan pack ----------------------------------------------------------===//
#include "tools/plan/Pack.h"

#include "passes/solver/PackingChecker.h"
#include "passes/solver/PackingIntervals.h"
#include "passes/solver/PackingSolver.h"
#include "passes/solver/PackingText.h"
#include "runtime/base/File.h"
#include "runtime/base/Text.h"

namespace sluice {
namespace {

Status outOfMemory(const PackingProblem &problem, std::uint64_t capacity, std::uint64_t least,
                   const PackingSearchResult &result) {
  const std::string what = concat(problem.buffers.size(), " buffers in ", capacity, " bytes");
  if (least > capacity)
    return Status(StatusCode::budget, "there is no placement of " + what)
        .withNote(concat("the live buffers of one instant have ", least, " bytes: the capacity must be at least that"));
  if (result.outcome == PackingOutcome::infeasible)
    return Status(StatusCode::budget, "there is no placement of " + what)
        .withNote(concat("the search is complete; a placement in ", result.solution.height, " bytes exists"));
  return Status(StatusCode::budget, "no placement was found of " + what)
      .withNote(
          concat("the search is not complete; the lowest placement found has ", result.solution.height, " bytes"));
}

/// A line for standard output.
Result<std::string> pack(const PackCommand &command) {
  if (Status status = checkNoInput(command.output, {command.input}); !status.isOk())
    return status;
  Result<std::string> text = readFile(command.input);
  if (!text.isOk())
    return text.status();
  const Result<PackingProblem> problem = parsePacking(*text, command.input);
  if (!problem.isOk())
    return problem.status();
  const std::uint64_t least = largestLiveSum(*problem, 1);
  const PackingSearchResult result = packWithin(*problem, command.capacity);
  if (result.outcome != PackingOutcome::found)
    return outOfMemory(*problem, command.capacity, least, result);
  if (Status status = checkPacking(*problem, result.solution); !status.isOk())
    return status;
  Result<OutputFile> file = OutputFile::create(command.output);
  if (!file.isOk())
    return file.status();
  if (Status status = file->write(packingText(*problem, result.solution)); !status.isOk())
    return status;
  if (Status status = file->commit(); !status.isOk())
    return status;
  return concat(problem->buffers.size(), " buffers in ", result.solution.height, " bytes, lower bound ", least, "\n");
}

} // namespace

PlanCommandResult runPack(const PackCommand &command) {
  Result<std::string> line = pack(command);
  return {line.isOk() ? *line : "", line.status(), 0};
}

} // namespace sluice
