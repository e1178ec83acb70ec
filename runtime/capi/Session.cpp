//===- Session.cpp - a plan, its ranks and their memory, for a caller in C --------------===//
#include "runtime/capi/Session.h"

#include "runtime/base/JsonOptions.h"
#include "runtime/base/Text.h"
#include "runtime/train/Generate.h"
#include "runtime/train/InputData.h"
#include "runtime/train/MachineMemory.h"
#include "runtime/train/Ports.h"
#include "runtime/train/Weights.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace sluice::capi {

Session::Session(SessionSettings given) : settings(std::move(given)) {}

Session::~Session() {
  (void)close();
  training.reset();
  checkpoints.reset();
  ranks.reset();
}

Result<std::unique_ptr<Session>> Session::open(PlanFile file, const std::string &name, SessionSettings settings) {
  std::unique_ptr<Session> session(new Session(std::move(settings)));
  Status started = session->start(std::move(file), name);
  if (started.isOk())
    return session;
  // The other processes of the job end with the same error.
  if (session->world)
    session->world->abort(started);
  session->dead = started;
  return started;
}

Status Session::start(PlanFile file, const std::string &name) {
  SLUICE_ASSIGN_OR_RETURN(launched,
                          readLaunch([](const char *variable) { return std::getenv(variable); }, settings.launch));
  if (launched) {
    SLUICE_ASSIGN_OR_RETURN(world, openWorld(*launched, settings.launch));
    SLUICE_RETURN_IF_ERROR(compareStartValues(*world, launched->rank, settings.startValues()));
    settings.ranks.world = world;
    settings.ranks.rank = launched->rank;
  }
  if (!settings.ranks.entries.empty() && sluice::findEntry(file.plan, "init") >= 0)
    settings.ranks.entries.emplace_back("init");
  for (const std::string &entry : settings.ranks.entries)
    SLUICE_RETURN_IF_ERROR(entryIndex(file.plan, entry).status());
  const auto note = [this](const std::string &text) {
    const std::lock_guard lock(noteMutex);
    notes.push_back(text);
  };
  settings.ranks.note = settings.checkpoint.note = note;
  SLUICE_ASSIGN_OR_RETURN(ranks, openRanks(std::move(file), name, settings.ranks));
  SLUICE_RETURN_IF_ERROR(checkAddressSpace(ranks->plan(), launched ? 1 : static_cast<std::uint64_t>(ranks->size())));
  for (int rank = 0; rank < ranks->size(); ++rank)
    if (ranks->holds(rank)) {
      held.push_back(rank);
      const auto number = static_cast<std::uint32_t>(rank);
      places.try_emplace(coordinateAlong(ranks->plan(), number, ranks->plan().data_axes), rank);
    }
  SLUICE_RETURN_IF_ERROR(addEntries());
  tensors = planTensors(ranks->plan());
  TrainOptions identity;
  identity.seed = settings.training.seed;
  checkpoints = std::make_unique<RunCheckpoints>(settings.checkpoint, identity);
  if (settings.hasCheckpoints())
    settings.training.checkpoints = checkpoints.get();
  training = std::make_unique<TrainSession>(*ranks, settings.training);
  SLUICE_RETURN_IF_ERROR(training->open());
  loadedTypes = training->loaded();
  return Status::ok();
}

Status Session::addEntries() {
  const int init = sluice::findEntry(ranks->plan(), "init");
  for (int e = 0; const auto &entry : ranks->plan().entries) {
    if (e++ == init)
      continue;
    Entry added;
    added.entry = entry.get();
    SLUICE_ASSIGN_OR_RETURN(added.scalars, StepInputs::make(*ranks, *entry, settings.training.seed));
    for (const plan::PortT *port : added.scalars.dataPorts()) {
      Input input;
      input.port = port;
      input.microbatches = port->per_repetition && !entry->sections.empty() ? entry->sections[0]->repeat : 1;
      input.type.dtype = baseType(port->view->dtype);
      input.type.shape = port->view->shape;
      if (input.type.shape.empty())
        input.type.shape = {1};
      input.type.shape[0] *= static_cast<std::int64_t>(input.microbatches * places.size());
      input.type.limit = port->limit;
      input.type.converts = true;
      added.inputs.push_back(std::move(input));
    }
    entries.emplace(entry->name, std::move(added));
  }
  return Status::ok();
}

Status Session::end(Status reason) {
  if (world)
    world->abort(reason);
  dead = failedError("the session has ended: " + reason.message());
  for (const std::string &note : reason.notes())
    dead.addNote(note);
  return reason;
}

Status Session::finish() {
  if (!isUpdating)
    return Status::ok();
  isUpdating = false;
  Status finished = training->finish();
  return finished.isOk() ? finished : end(std::move(finished));
}

Status Session::close() {
  if (std::exchange(isClosed, true))
    return Status::ok();
  Status status;
  // The error that ended the session was returned by its call.
  if (dead.isOk() && training) {
    status = finish();
    if (status.isOk())
      status = checkpoints->finishLast(*ranks);
  }
  dead = inputError("the session is closed");
  return status;
}

Result<Session::Entry *> Session::findEntry(std::string_view name) {
  const auto found = entries.find(name);
  if (found != entries.end())
    return &found->second;
  return inputError(
      concat("entry point '", name, "' is unknown, expected one of ",
             entries.empty() ? "none" : join(entries, ", ", [](const auto &each) { return each.first; })));
}

Result<const PlanTensor *> Session::findTensor(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &PlanTensor::name);
  if (found != tensors.end())
    return &*found;
  Status unknown = inputError(concat("'", name, "' is no parameter and no state of the plan"));
  if (tensors.empty())
    return unknown;
  std::vector<std::string> names;
  for (const PlanTensor &tensor : tensors)
    names.push_back(tensor.name);
  return std::move(unknown).withNote("the nearest name is '" + nearestName(name, names) + "'");
}

Status Session::setInput(std::string_view entryName, std::string_view inputName, const DLTensor &tensor) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  SLUICE_ASSIGN_OR_RETURN(Entry * entry, findEntry(entryName));
  const auto found = std::ranges::find(entry->inputs, inputName, [](const Input &input) { return input.port->name; });
  if (found == entry->inputs.end()) {
    const bool isOfHost =
        std::ranges::any_of(entry->entry->inputs, [&](const auto &port) { return port->name == inputName; });
    if (isOfHost)
      return inputError(concat("input '", inputName, "' of entry point '", entryName, "' is set by the session"));
    return inputError(concat("entry point '", entryName, "' has no input '", inputName, "', expected one of ",
                             entry->inputs.empty() ? "none" : join(entry->inputs, ", ", [](const Input &input) {
                               return input.port->name;
                             })));
  }
  found->rows.resize(found->type.bytes());
  found->isSet = false;
  const std::string what = concat("input '", inputName, "'");
  SLUICE_RETURN_IF_ERROR(copyTensor(tensor, found->type, what, found->rows));
  if (found->port->role == plan::PortRole::documents)
    SLUICE_RETURN_IF_ERROR(checkRows(*found, what));
  found->isSet = true;
  return Status::ok();
}

Status Session::checkRows(const Input &input, const std::string &what) {
  const std::uint64_t bytes = rowElements(*input.port) * dtypeBytes(input.type.dtype);
  for (std::uint64_t begin = 0; bytes != 0 && begin < input.rows.size(); begin += bytes)
    if (Status status = checkDocuments(std::span(input.rows).subspan(begin, bytes), input.type.dtype); !status.isOk())
      return inputError(concat(what, ", row ", begin / bytes, ": ", status.message())).withNote(status.notes().front());
  return Status::ok();
}

Status Session::writeInputs(Entry &entry, const StepScalars &scalars) {
  SLUICE_RETURN_IF_ERROR(entry.scalars.write(*ranks, scalars));
  for (Input &input : entry.inputs) {
    const plan::ViewT &view = *input.port->view;
    const std::uint64_t slice = input.rows.size() / (input.microbatches * places.size());
    for (const int rank : held) {
      const auto place =
          static_cast<std::uint64_t>(std::distance(places.begin(), places.find(entry.scalars.place(rank))));
      for (std::uint64_t repetition = 0; repetition < input.microbatches; ++repetition)
        SLUICE_RETURN_IF_ERROR(
            ranks->write(rank, view.buffer, view.offset + repetition * view.repetition_stride,
                         std::span(input.rows).subspan((repetition * places.size() + place) * slice, slice)));
    }
    input.isSet = false;
  }
  return Status::ok();
}

Status Session::run(std::string_view name, double learningRate, sluice_step *result) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  SLUICE_ASSIGN_OR_RETURN(Entry * entry, findEntry(name));
  for (const Input &input : entry->inputs)
    if (!input.isSet)
      return inputError(concat("input '", input.port->name, "' of entry point '", name, "' is not set"))
          .withNote("each input is set before each run");
  if (lastRun != name)
    SLUICE_RETURN_IF_ERROR(finish());
  lastRun = name;
  return hasUpdate(*entry->entry) ? train(*entry, learningRate, result) : evaluate(*entry, result);
}

Status Session::train(Entry &entry, double learningRate, sluice_step *result) {
  if (entry.step.empty())
    entry.step.emplace_back(*entry.entry,
                            [this, &entry](const StepScalars &scalars) { return writeInputs(entry, scalars); });
  const bool isCheckpointDue = training->isCheckpointDue(training->progress().step + 1);
  StepRequest request;
  request.entries = entry.step;
  request.learningRate = std::isnan(learningRate) ? training->learningRate() : learningRate;
  // A view shows the values after the step.
  request.isComplete = isCheckpointDue || *views > 0;
  isUpdating = true;
  StepReport report;
  Result<StepOutcome> outcome = training->step(request, report);
  if (!outcome.isOk())
    return end(outcome.takeStatus());
  isUpdating = !request.isComplete;
  if (!outcome->status.isOk())
    return std::move(outcome->status);
  if (result) {
    *result = {};
    result->step = report.step;
    result->loss = findOutput(*entry.entry, plan::PortRole::loss) ? report.loss : NAN;
    result->grad_norm = findOutput(*entry.entry, plan::PortRole::gradient_norm) ? report.gradientNorm : NAN;
    result->lr = request.learningRate;
    result->loss_scale = report.lossScale.value_or(1);
    result->applied = report.guard;
  }
  return isCheckpointDue ? training->save(/*isFinal=*/false) : Status::ok();
}

Status Session::evaluate(Entry &entry, sluice_step *result) {
  StepScalars scalars;
  scalars.update = training->progress().updates;
  Status ran = writeInputs(entry, scalars);
  if (ran.isOk())
    ran = ranks->run(entry.entry->name);
  if (!ran.isOk())
    return end(std::move(ran));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<double> loss, readScalar(*ranks, *entry.entry, plan::PortRole::loss));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<double> norm,
                          readScalar(*ranks, *entry.entry, plan::PortRole::gradient_norm));
  if (result) {
    *result = {};
    result->step = training->progress().step;
    result->loss = loss.value_or(NAN);
    result->grad_norm = norm.value_or(NAN);
    result->lr = NAN;
    result->loss_scale = 1;
  }
  return Status::ok();
}

Status Session::load(const std::string &path) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  SLUICE_RETURN_IF_ERROR(finish());
  SLUICE_ASSIGN_OR_RETURN(loadedTypes, loadWeights(*ranks, path));
  return Status::ok();
}

Status Session::save(const std::string &folder, std::string_view text) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  JsonOptions options(text, "save options");
  std::string dtype;
  options.readChoice("dtype", dtype, {"f32", "bf16"});
  SLUICE_RETURN_IF_ERROR(options.finish());
  SLUICE_RETURN_IF_ERROR(finish());
  SaveOptions saving;
  saving.loaded = loadedTypes;
  if (!dtype.empty())
    saving.dtype = dtype == "f32" ? DType::f32 : DType::bf16;
  return ranks->onRoot([&] { return saveWeights(*ranks, folder, saving); });
}

Status Session::checkpoint() {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  if (settings.checkpoint.folder.empty())
    return Status(StatusCode::usage, "the session writes no checkpoints")
        .withNote("open it with the option 'checkpoint', a folder");
  SLUICE_RETURN_IF_ERROR(finish());
  return training->save(/*isFinal=*/true);
}

Result<std::vector<std::int64_t>> Session::generate(std::span<const std::int64_t> prompt, std::size_t count,
                                                    std::string_view text) {
  SLUICE_RETURN_IF_ERROR(checkAlive());
  GenerateOptions generation;
  generation.count = count;
  JsonOptions options(text, "generate options");
  options.read("temperature", generation.temperature);
  options.read("top_k", generation.topK);
  options.read("seed", generation.seed);
  options.read("stop", generation.stopTokens);
  SLUICE_RETURN_IF_ERROR(options.finish());
  std::vector<std::int32_t> tokens;
  for (const std::int64_t token : prompt)
    tokens.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(token, INT32_MIN, INT32_MAX)));
  SLUICE_RETURN_IF_ERROR(finish());
  // Which of several entry points runs last depends on the number of tokens.
  lastRun = generatingEntries(ranks->plan()).size() == 1 ? "logits" : "";
  std::vector<std::int64_t> generated;
  Status status =
      generateTokens(*ranks, generation, std::move(tokens), [&](std::int32_t token) { generated.push_back(token); });
  if (status.code() == StatusCode::failed)
    return end(std::move(status));
  if (!status.isOk())
    return status;
  return generated;
}

} // namespace sluice::capi
