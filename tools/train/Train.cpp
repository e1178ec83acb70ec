//===- Train.cpp - the main of sluice-train -----------------------------------------------===//
#include "tools/train/Train.h"

#include "runtime/base/File.h"
#include "runtime/base/Message.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/collective/BroadcastText.h"
#include "runtime/plan/ChromeTrace.h"
#include "runtime/plan/EntryShape.h"
#include "runtime/plan/PlanFolder.h"
#include "runtime/plan/Profile.h"
#include "runtime/plan/Reader.h"
#include "runtime/report/machine/MachineFile.h"
#include "runtime/text/Tokenizer.h"
#include "runtime/train/ChatData.h"
#include "runtime/train/ContentDigest.h"
#include "runtime/train/MachineMemory.h"
#include "runtime/train/ModelFiles.h"
#include "runtime/train/StopTokens.h"
#include "runtime/train/TextCache.h"
#include "runtime/train/TokenData.h"
#include "runtime/train/Weights.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"
#include "tools/train/Allocator.h"
#include "tools/train/Console.h"
#include "tools/train/Description.h"
#include "tools/train/LocalTime.h"
#include "tools/train/Options.h"
#include "tools/train/Signals.h"
#include "tools/train/Start.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <tuple>
#include <unistd.h>

namespace sluice {
namespace {

/// True for the path of a checkpoint.
bool isChosen(const std::string &resume) { return resume != "auto" && resume != "none"; }

class Run {
public:
  TrainCommand command;
  /// If a launcher started this process.
  std::optional<Launch> launched;
  std::unique_ptr<DelayInjector> faults;

  /// Connects to the other processes of the job.
  Status join(FaultReader readFault);
  Status run();
  /// Ends the run on all ranks; the error is printed by rank 0, or by the lowest rank that runs. The exit code.
  int end(Status status);

  /// Ends the process without destroying what a device may still use.
  [[noreturn]] static void leave(int code) {
    std::fflush(nullptr);
    _exit(code);
  }

  /// After an error was reported: waits until a checkpoint that is being written has ended its last system call, and
  /// briefly for the other processes.
  void close() {
    checkpoints.reset();
    ranks.reset();
    command.ranks.world.reset();
  }

private:
  std::unique_ptr<Tokenizer> tokenizer;

  /// True if this process prints and writes files: that of rank 0.
  bool isRoot() const { return !launched || launched->rank == 0; }
  /// Without data there is nothing to train on: the run only evaluates or generates.
  bool trains() const { return !command.train.data.empty(); }
  Status complete();
  Status readPrompts();
  Status readMachineFlops(const plan::PlanT &plan, ConsoleOptions &shown) const;
  Status checkOutputs() const;
  /// Opens the tokenizer, and replaces text data by token files.
  Status readText();
  /// The time of chat templates, the same on all ranks.
  Status setTime();
  Status generateText(Ranks &ranks, Console &console) const;

  std::vector<std::string> prompts;
  /// They write in a second thread. An error is reported before they are destroyed, which may wait for a disk.
  std::unique_ptr<Ranks> ranks;
  std::unique_ptr<RunCheckpoints> checkpoints;
};

Status Run::join(FaultReader readFault) {
  if (!launched)
    return Status::ok();
  if (readFault) {
    SLUICE_ASSIGN_OR_RETURN(faults, readFault(launched->rank));
  }
  command.ranks.endProcess = command.launch.endProcess = [this](const Status &status) { leave(end(status)); };
  command.ranks.delays = faults.get();
  command.ranks.rank = launched->rank;
  SLUICE_ASSIGN_OR_RETURN(command.ranks.world, openWorld(*launched, command.launch));
  // mpirun sends SIGTERM to the other ranks when one has failed: they must live to report it.
  catchSignals();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<StartValue> values, startValues(command.options));
  return compareStartValues(*command.ranks.world, launched->rank, values);
}

/// Fills in the settings that follow from other options.
Status Run::complete() {
  TrainOptions &train = command.train;
  SLUICE_ASSIGN_OR_RETURN(command.plan, choosePlan(command.plan, launched ? launched->size : 0));
  train.stop = command.generate.stop = &stopRequested;
  command.ranks.seed = command.generate.seed = train.seed;
  command.ranks.trace = !command.trace.empty();
  command.ranks.writesCheckpoints = !command.checkpoint.folder.empty();
  command.ranks.note = [this](const std::string &text) {
    if (isRoot())
      std::fputs(noteText(text).c_str(), stderr);
  };
  command.ranks.watchdogSeconds = command.launch.watchdogSeconds;
  command.ranks.joinSeconds = command.launch.joinSeconds;
  const bool evaluates = !train.evaluation.data.empty(), generates = command.generate.count != 0;
  if (!trains() && !generates && !(evaluates && train.steps == 0))
    return {StatusCode::usage,
            "--data is missing, expected a file or random:SEED (or --generate, or --eval-data with --steps 0)"};
  if (train.evaluation.data.empty() && (train.evaluation.every || train.evaluation.batches))
    return {StatusCode::usage, "--eval-data is missing, expected a file or random:SEED"};
  if (!trains() && (!command.checkpoint.folder.empty() || isChosen(command.checkpoint.resume)))
    return {StatusCode::usage, "--checkpoint and --resume continue a training, which requires --data"};
  if (!trains()) {
    command.ranks.entries = {"init"};
    if (evaluates)
      command.ranks.entries.emplace_back("eval_step");
    if (generates) {
      SLUICE_ASSIGN_OR_RETURN(const PlanFile file, readPlan(command.plan));
      for (std::string &name : generatingEntries(file.plan))
        command.ranks.entries.push_back(std::move(name));
    }
  }
  SLUICE_RETURN_IF_ERROR(readPrompts());
  if (generates && command.generate.stopTokens.empty() && !train.init.empty()) {
    SLUICE_ASSIGN_OR_RETURN(command.generate.stopTokens, readStopTokens(train.init));
  }
  return isRoot() ? checkOutputs() : Status::ok();
}

Status Run::readPrompts() {
  prompts = {command.generate.prompt};
  if (command.prompts.empty())
    return {};
  SLUICE_ASSIGN_OR_RETURN(const InputFile file, InputFile::open(command.prompts));
  std::string text(file.size(), '\0');
  SLUICE_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(text))));
  prompts.clear();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty())
      return inputError(concat(command.prompts, ":", prompts.size() + 1, ": the prompt is empty"));
    prompts.push_back(std::move(line));
  }
  return prompts.empty() ? inputError(concat("'", command.prompts, "' has no prompt")) : Status::ok();
}

/// The log and the trace must not replace a file that the run reads.
Status Run::checkOutputs() const {
  const TrainOptions &train = command.train;
  std::vector<std::string> inputs = {command.plan, train.init, train.init + "/model.safetensors"};
  for (const std::vector<std::string> &sources : {train.data, train.evaluation.data})
    for (std::string &path : expandGlobs(sources))
      inputs.push_back(std::move(path));
  SLUICE_RETURN_IF_ERROR(checkNoInput(train.log, inputs));
  return checkNoInput(command.trace, inputs);
}

static bool hasText(const std::vector<std::string> &paths, DataFormat format) {
  return std::ranges::any_of(paths, [&](const std::string &path) { return textFormat(path, format).has_value(); });
}

Status Run::setTime() {
  const bool isGiven = !command.now.empty();
  if (!isGiven)
    command.now = localTimeText();
  if (launched) {
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> all,
                            command.ranks.world->createForAll(launched->rank, "time"));
    SLUICE_RETURN_IF_ERROR(broadcastText(*all, 0, command.now, "time"));
  }
  tokenizer->settings.now = secondsOf(command.now).value_or(0);
  if (chatTimes(*tokenizer).empty())
    return Status::ok();
  command.train.now = command.now;
  if (!isGiven) {
    command.train.config += "now = \"" + command.now + "\"\n";
    command.ranks.note("the chat template has the time of this run, " + command.now + "; --now sets it");
  }
  return Status::ok();
}

Status Run::readText() {
  TrainOptions &train = command.train;
  train.evaluation.files = train.files;
  std::string path = command.tokenizer;
  if (path.empty() && !train.init.empty())
    path = findTokenizer(train.init);
  if (!path.empty())
    train.copied = findTokenizerFiles(path);
  if (!train.init.empty())
    if (std::string config = findBeside(train.init, "generation_config.json"); !config.empty())
      train.copied.push_back(std::move(config));
  std::vector<std::string> paths = expandGlobs(train.data);
  for (std::string &data : expandGlobs(train.evaluation.data))
    paths.push_back(std::move(data));
  const bool isText = hasText(paths, train.files.format);
  // A tokenizer that was not given may be one that this version does not support.
  if (path.empty() || (command.tokenizer.empty() && !isText && command.generate.count == 0))
    return Status::ok();
  SLUICE_ASSIGN_OR_RETURN(tokenizer, openTokenizer(path));
  for (DataFiles *files : {&train.files, &train.evaluation.files})
    if (files->packing)
      files->packing->end = tokenizer->eos;
  command.generate.tokenizer = tokenizer.get();
  if (command.generate.stopTokens.empty() && tokenizer->eos)
    command.generate.stopTokens = {*tokenizer->eos};
  if (!isText)
    return Status::ok();
  SLUICE_ASSIGN_OR_RETURN(const PlanFile file, readPlan(command.plan));
  SLUICE_RETURN_IF_ERROR(checkVocabulary(*tokenizer, vocabularyOf(file.plan)));
  SLUICE_ASSIGN_OR_RETURN(const std::string folder, userCacheFolder("tokenized text"));
  const bool hasConversations = std::ranges::any_of(paths, [&](const std::string &data) {
    const std::optional<DataFormat> format = textFormat(data, train.files.format);
    return format && isConversations(*format);
  });
  if (hasConversations && !train.shapesAt.empty() && !train.files.packing)
    return Status(StatusCode::usage, "--shapes-at needs rows of several lengths, but each conversation is a row of one")
        .withNote("--pack puts conversations into rows of any length, and --bucket into those of their length");
  if (hasConversations)
    SLUICE_RETURN_IF_ERROR(setTime());
  // Rows of conversations have the length of the entry point that reads them.
  for (const auto &[sources, files, entry] :
       {std::tuple(&train.data, &train.files, train.entries.empty() ? "" : train.entries.front()),
        std::tuple(&train.evaluation.data, &train.evaluation.files, std::string("eval_step"))}) {
    SLUICE_ASSIGN_OR_RETURN(files->tokenized, tokenizeTexts(expandGlobs(*sources), *files, *tokenizer,
                                                            rowTokensOf(file.plan, entry), folder, command.ranks.note));
  }
  train.tokenizerDigest = tokenizer->digest;
  return Status::ok();
}

Status Run::generateText(Ranks &ranks, Console &console) const {
  const auto print = [&](std::string_view text) { console.printText(text); };
  GenerateOptions options = command.generate;
  for (const std::string &prompt : prompts) {
    options.prompt = prompt;
    print(prompt);
    Status status = generate(ranks, options, print);
    print("\n");
    SLUICE_RETURN_IF_ERROR(std::move(status));
    SLUICE_ASSIGN_OR_RETURN(const bool stops, ranks.agree(stopRequested));
    if (stops)
      break;
    ++options.seed;
  }
  return {};
}

Status Run::readMachineFlops(const plan::PlanT &plan, ConsoleOptions &shown) const {
  SLUICE_ASSIGN_OR_RETURN(const Machine machine, readMachine(command.machine));
  SLUICE_RETURN_IF_ERROR(checkMachine(plan, machine));
  for (const std::string &name : command.train.entries)
    if (const int index = findEntry(plan, name); index >= 0) {
      const plan::EntryT &entry = *plan.entries[static_cast<std::size_t>(index)];
      shown.flops += entryFlops(entry);
      shown.flopsPerSecond = static_cast<std::uint64_t>(rankPeakFlops(plan, machine, flopsType(entry)).value_or(0));
    }
  return {};
}

Status Run::run() {
  SLUICE_RETURN_IF_ERROR(complete());
  SLUICE_RETURN_IF_ERROR(readText());
  // libcrypto allocates 1.7 MiB at its first digest, which is memory of the program and not of the plan.
  (void)sha256({});
  command.train.processBefore = restartProcessHighWater();
  const bool trace = !command.trace.empty(), dryRun = command.train.dryRun;
  ConsoleOptions shown;
  shown.quiet = command.quiet;
  shown.isRoot = isRoot();
  shown.logEvery = command.logEvery;
  shown.isCopiedByMpirun = launched && launched->transport == Transport::mpi;
  shown.trace = trace;
  // The output of a run that only generates is its text.
  shown.showsSummary = trains() || !command.train.evaluation.data.empty() || command.verbose;
  SLUICE_ASSIGN_OR_RETURN(ranks, openRanks(command.plan, command.ranks));
  SLUICE_RETURN_IF_ERROR(checkAddressSpace(ranks->plan(), launched ? 1 : static_cast<std::uint64_t>(ranks->size())));
  for (const std::string &prompt : prompts)
    if (command.generate.count > 0) {
      GenerateOptions options = command.generate;
      options.prompt = prompt;
      SLUICE_RETURN_IF_ERROR(checkGenerate(ranks->plan(), options));
    }
  if ((command.verbose || dryRun) && isRoot()) {
    std::fputs(printable(describeRun(command, ranks->plan(), launched), /*isLine=*/false).c_str(), stdout);
    flushOutput();
  }
  if (trace && isRoot() && !dryRun)
    SLUICE_RETURN_IF_ERROR(writeTrace(command.trace, {}));
  if (!command.checkpoint.folder.empty())
    for (const std::string &source : command.train.data) {
      SLUICE_ASSIGN_OR_RETURN(std::string content, contentDigest(expandGlobs({source})));
      command.train.dataContents.push_back(std::move(content));
    }
  CheckpointOptions checkpoint = command.checkpoint;
  checkpoint.note = command.ranks.note;
  checkpoints = std::make_unique<RunCheckpoints>(checkpoint, command.train);
  if (!checkpoint.folder.empty() || isChosen(checkpoint.resume))
    command.train.checkpoints = checkpoints.get();
  if (!command.machine.empty())
    SLUICE_RETURN_IF_ERROR(readMachineFlops(ranks->plan(), shown));
  Console console(*ranks, shown);
  // Before the first step there is nothing to save, and a signal ends the process.
  catchSignals();
  SLUICE_RETURN_IF_ERROR(trains() ? train(*ranks, command.train, console) : evaluate(*ranks, command.train, console));
  if (dryRun) {
    if (isRoot())
      std::printf("dry run: nothing was trained or written\n");
    return {};
  }
  if (trace && isRoot())
    SLUICE_RETURN_IF_ERROR(writeTrace(command.trace, console.spans));
  SLUICE_ASSIGN_OR_RETURN(bool stops, ranks->agree(stopRequested));
  Status status = command.generate.count == 0 || stops ? Status::ok() : generateText(*ranks, console);
  console.close();
  return status;
}

int Run::end(Status status) {
  Console::endLine();
  if (!launched)
    return report(status);
  const std::shared_ptr<World> &world = command.ranks.world;
  if (!isRoot() && !status.message().starts_with("rank ")) {
    Status named(status.code(), "rank " + std::to_string(launched->rank) + ": " + status.message());
    for (const std::string &note : status.notes())
      named.addNote(note);
    status = std::move(named);
  }
  if (world)
    world->abort(status);
  // An error before the rendezvous is common to all processes, except a rank that connects twice.
  const bool isPrinted = world ? world->reporter() != launched->rank : status.code() == StatusCode::usage;
  return isRoot() || !isPrinted ? report(status) : static_cast<int>(status.code());
}

} // namespace

int trainMain(int argc, char **argv, FaultReader faults) {
  prepareProcess();
  // The end of what reads the output is an error of the write, and no reason to lose the run.
  std::signal(SIGPIPE, SIG_IGN);
  Run run;
  if (const std::optional<int> done = readTrainCommand(argc, argv, run.command))
    return *done;
  returnFreedMemory();
  Result<std::optional<Launch>> launched =
      readLaunch([](const char *name) { return std::getenv(name); }, run.command.launch);
  if (!launched.isOk())
    return report(launched.status());
  run.launched = *launched;
  Status status = run.join(faults);
  if (status.isOk())
    status = run.run();
  if (!status.isOk()) {
    const int code = run.end(std::move(status));
    if (!run.launched)
      return code;
    run.close();
    Run::leave(code);
  }
  return flushOutput() ? 0 : report(inputError("cannot write to standard output"));
}

} // namespace sluice
