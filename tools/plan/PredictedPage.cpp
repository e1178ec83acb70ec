//===- PredictedPage.cpp - sluice-plan memory --html ----------------------------------------===//
#include "tools/plan/PredictedPage.h"

#include "passes/solver/simulate/Prediction.h"
#include "runtime/base/File.h"
#include "runtime/plan/Reader.h"
#include "runtime/report/MemoryPage.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

/// With more predicted spans, those of an entry point are only of its first two and its last repetitions.
constexpr std::size_t mostSpans = 100'000;

Json predictionJson(const PredictedStep &step, const plan::EntryT &entry) {
  const bool isShort = step.instructions.size() <= mostSpans;
  // Nanoseconds: three digits of microseconds are enough for a picture.
  const auto rounded = [](double seconds) { return std::round(seconds * 1e9) / 1e3; };
  Json spans = Json::array(), exposed = Json::object();
  std::vector<std::size_t> positions(step.instructions.size());
  std::size_t kept = 0;
  for (std::size_t k = 0; k < step.instructions.size(); ++k) {
    const PredictedInstruction &each = step.instructions[k];
    if (!isShort && each.issued.repetition >= 2 &&
        each.issued.repetition + 1 != entry.sections[each.issued.section]->repeat)
      continue;
    positions[k] = ++kept;
    for (Json value :
         {Json(each.issued.index), Json(each.issued.repetition), Json(rounded(each.begin)), Json(rounded(each.end))})
      spans.push_back(std::move(value));
  }
  for (const PredictedCollective &each : step.collectives)
    if (each.exposed > 0 && positions[each.instruction] > 0)
      exposed[std::to_string(positions[each.instruction] - 1)] = {rounded(each.exposed), each.because};
  Json unknown = Json::array();
  for (const auto &[name, count] : step.unknown)
    unknown.push_back(name);
  return {{"seconds", step.seconds},
          {"isComplete", step.isComplete},
          {"mainStream", step.mainStream},
          {"exposedSeconds", step.exposed},
          {"mfu", step.mfu() ? Json(*step.mfu()) : Json()},
          {"tokensPerSecond", step.tokensPerSecond() ? Json(*step.tokensPerSecond()) : Json()},
          {"unknown", std::move(unknown)},
          {"leftOut", step.instructions.size() - kept},
          {"spans", std::move(spans)},
          {"exposed", std::move(exposed)}};
}

Status writePage(const MemoryPageCommand &command) {
  SLUICE_RETURN_IF_ERROR(checkNoInput(command.output, {command.plan, command.machine}));
  SLUICE_ASSIGN_OR_RETURN(const PlanFile file, readCheckedPlan(command.plan));
  std::vector<Json> predictions;
  std::string machineName;
  if (!command.machine.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const Machine machine, readMachine(command.machine));
    machineName = machine.name;
    for (std::uint32_t entry = 0; entry < file.plan.entries.size(); ++entry) {
      SLUICE_ASSIGN_OR_RETURN(const PredictedStep step, predictStep(file.plan, machine, entry));
      predictions.push_back(predictionJson(step, *file.plan.entries[entry]));
    }
  }
  SLUICE_ASSIGN_OR_RETURN(OutputFile page, OutputFile::create(command.output));
  SLUICE_RETURN_IF_ERROR(page.write(memoryPage(memoryPageJson(file.plan, predictions, machineName))));
  return page.commit();
}

} // namespace

PlanCommandResult runMemoryPage(const MemoryPageCommand &command) { return {"", writePage(command), 0}; }

} // namespace sluice
