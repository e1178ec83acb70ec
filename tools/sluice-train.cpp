//===- sluice-train.cpp - runs a plan on data ---------------------------------------===//
//
// Command line, console and signals; everything else is runtime/train. Exit codes are those of StatusCode.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Files.h"
#include "runtime/base/Message.h"
#include "runtime/base/Text.h"
#include "runtime/collective/process/Launch.h"
#include "runtime/train/Allocator.h"
#include "runtime/train/Fault.h"
#include "runtime/train/Generate.h"
#include "runtime/train/Process.h"
#include "runtime/train/TokenData.h"
#include "runtime/train/Trace.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/Weights.h"
#include "tools/CommandLine.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace sluice;

static std::atomic<bool> stopRequested = false;
/// The launcher ends the processes of a job one of which has died.
static std::atomic<bool> terminated = false;

/// The first Ctrl-C asks for an end after this step; the handler is then gone, so that the second one ends at once.
static void onSignal(int) { stopRequested = true; }
static void onTerminate(int) { terminated = true; }

static void catchInterrupt() {
  struct sigaction action {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESETHAND;
  sigaction(SIGINT, &action, nullptr);
}

static void catchTermination() {
  struct sigaction action {};
  action.sa_handler = onTerminate;
  sigaction(SIGTERM, &action, nullptr);
}

static int fail(const Status &status) {
  bool colour = isatty(STDERR_FILENO) && !std::getenv("NO_COLOR");
  std::fflush(stdout);
  std::fputs(messageText(status, colour).c_str(), stderr);
  return static_cast<int>(status.code());
}

namespace {

/// Tells of the run: a bar on a terminal, a line a step elsewhere.
class Console : public TrainObserver {
public:
  Console(Ranks &ranks, bool quiet, bool trace) : ranks(ranks), quiet(quiet), trace(trace) {
    const char *term = std::getenv("TERM");
    bar = isatty(STDOUT_FILENO) && term && std::string_view(term) != "dumb";
  }

  void onBegin() override { keepFreedMemory(); }

  void onStep(const StepReport &report) override {
    if (trace)
      for (Span &span : ranks.takeTrace())
        spans.push_back(std::move(span));
    if (quiet)
      return;
    if (!bar) {
      std::printf("%s\n", consoleLine(report).c_str());
      std::fflush(stdout);
      return;
    }
    elapsed += report.milliseconds / 1000;
    if (report.evaluationLoss)
      std::printf("\r\033[Kstep %llu/%llu  eval_loss %.5f\n", static_cast<unsigned long long>(report.step),
                  static_cast<unsigned long long>(report.steps), withoutNanSign(*report.evaluationLoss));
    std::printf("\r\033[K%s", progressBar(report, elapsed, columns()).c_str());
    if (report.step == report.steps || !report.guard)
      std::printf("\n");
    std::fflush(stdout);
  }

  void onStopped(std::uint64_t step) override {
    if (!quiet)
      std::printf("%sstopped after step %llu, as asked\n", bar ? "\n" : "", static_cast<unsigned long long>(step));
  }

  void onSummary(const RunSummary &summary) override { closing = summaryLine(summary); }

  /// The last line of a run, behind the generated text.
  void close() {
    if (!quiet && !closing.empty())
      std::printf("%s\n", closing.c_str());
  }

  std::vector<Span> spans;

private:
  static int columns() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 100;
  }

  Ranks &ranks;
  bool quiet;
  bool trace;
  bool bar = false;
  double elapsed = 0;
  std::string closing;
};

struct TrainCommand {
  std::string plan;
  std::string order = "sequential";
  std::string entries = "train_step";
  std::string trace;
  bool quiet = false;
  RanksOptions ranks;
  TrainOptions train;
  GenerateOptions generate;
  LaunchOptions launch;
  std::optional<Launch> launched;
  std::unique_ptr<DelayInjector> faults;

  /// Does this process print and write? One of several does not, but rank 0's.
  bool isRoot() const { return !launched || launched->rank == 0; }
};

} // namespace

/// A check: whole numbers from `least` on.
static auto wholeFrom(std::uint64_t least) {
  return [least](const std::string &text) { return whyNoWholeNumber(text, least); };
}

/// A check: numbers above 0, and 0 where it `mayBeZero`.
static auto numberOrZero(bool mayBeZero) {
  return [mayBeZero](const std::string &text) {
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool fits = !text.empty() && !*end && (value > 0 || (mayBeZero && value == 0));
    return fits ? std::string()
                : std::string("expected a number ") + (mayBeZero ? "of at least" : "above") + " 0 but got '" + text + "'";
  };
}

static void declare(CommandLine &options, TrainCommand &line) {
  options.option("plan", line.plan, "the plan, written by sluice-compile").required();
  options.option("--data", line.train.data, "token files, text files, safetensors, quoted globs, or random:SEED");
  options.option("--eval-data", line.train.evaluation.data, "data to evaluate the loss on");
  options.option("--eval-every", line.train.evaluation.every, "steps between two evaluations (default: after the last)")
      .check(wholeFrom(1));
  options.option("--eval-batches", line.train.evaluation.batches, "batches of an evaluation (default: all whole ones)")
      .check(wholeFrom(1));
  options.option("--steps", line.train.steps, "steps to train").check(wholeFrom(0)).showDefault();
  options.option("--entries", line.entries, "entry points, run in turn at each step").showDefault();
  options.option("--init", line.train.init, "initial weights: a safetensors file, or a folder that holds one")
      .check(whyNoPath);
  options.option("--seed", line.train.seed, "key of the initial weights and of the order")
      .check(wholeFrom(0))
      .showDefault();
  options.option("--order", line.order, "order of the data")
      .oneOf({"sequential", "shuffled"})
      .showDefault();
  options.flag("--overfit-one-batch", line.train.overfit, "every step takes the rows of the first");
  options.option("--threads", line.ranks.threads, "compute threads of a rank (default: the plan's target.threads)")
      .check(wholeFrom(1));
  options.option("--log", line.train.log, "write run.jsonl here, one object a step").check(whyNoPath);
  options.option("--save", line.train.save, "folder for model.safetensors and config.json").check(whyNoPath);
  options.option("--trace", line.trace, "write a Chrome trace of what ran when").check(whyNoPath);
  options.option("--generate", line.generate.count, "tokens to generate after training").check(wholeFrom(0));
  options.option("--prompt", line.generate.prompt, "what they follow");
  options.option("--temperature", line.generate.temperature, "0: always the most likely token").showDefault();
  options.option("--top-k", line.generate.topK, "draw from the k most likely tokens only").check(wholeFrom(0));
  options.option("--communicator", line.launch.communicator,
                 "how ranks are joined: auto is one process a rank under mpirun, torchrun and srun, else local")
      .oneOf({"auto", "local", "mpi", "socket"})
      .showDefault();
  options.option("--listen", line.launch.listen, "address to listen at beyond loopback, where ranks are on several machines");
  options.option("--join-timeout", line.launch.joinSeconds, "seconds that processes wait for each other at the start")
      .check(numberOrZero(false))
      .showDefault();
  options.option("--watchdog", line.launch.watchdogSeconds,
                 "seconds after which a process that does nothing ends the run; 0: never")
      .check(numberOrZero(true))
      .showDefault();
  options.option("--cuda-graph", line.ranks.cudaGraph, "on a GPU: record a step once and replay it; auto: where that is possible")
      .oneOf({"auto", "on", "off"})
      .showDefault();
  options.flag("--tf32", line.ranks.tf32, "on a GPU: f32 matrix products may round their inputs to TF32");
  options.option("--algorithms", line.ranks.algorithms,
                 "on a GPU: a file of measured algorithms of matrix products, made where there is none (default: the library's choice)");
  options.option("--cudnn", line.ranks.cudnn,
                 "on a GPU: cuDNN computes convolutions, pooling and attention; auto: where it is there and has an engine")
      .oneOf({"auto", "on", "off"})
      .showDefault();
  options.flag("--quiet", line.quiet, "print nothing but errors and generated text");
  options.version(versionText("sluice-train"));
  options.footer("exit codes: 0 done, 1 an input is at fault or an output cannot be written, 2 usage, 4 the plan or weights "
             "are refused, 5 a rank or device failed or the loss is not finite, 70 an internal error");
}

/// "a,b" to {"a", "b"}.
static std::vector<std::string> splitNames(const std::string &text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

/// The log and the trace take the place of what they name: never of what the run reads.
static Status checkOutputs(const TrainCommand &line) {
  std::vector<std::string> inputs = {line.plan, line.train.init, line.train.init + "/model.safetensors"};
  for (const std::vector<std::string> &sources : {line.train.data, line.train.evaluation.data})
    for (std::string &path : expandGlobs(sources))
      inputs.push_back(std::move(path));
  SLUICE_RETURN_IF_ERROR(checkNoInput(line.train.log, inputs));
  return checkNoInput(line.trace, inputs);
}

static Status run(TrainCommand &line) {
  line.train.processBefore = processHighWater();
  line.train.stop = line.generate.stop = &stopRequested;
  line.train.shuffled = line.order == "shuffled";
  line.train.entries = splitNames(line.entries);
  line.ranks.seed = line.generate.seed = line.train.seed;
  line.ranks.trace = !line.trace.empty();
  line.ranks.note = [&line](const std::string &text) {
    if (line.isRoot())
      std::fprintf(stderr, "note: %s\n", text.c_str());
  };
  line.ranks.watchdogSeconds = line.launch.watchdogSeconds;
  if (line.train.data.empty() && line.generate.count == 0)
    return {StatusCode::usage, "--data is missing, expected a file or random:SEED (or --generate)"};
  if (line.train.evaluation.data.empty() && (line.train.evaluation.every || line.train.evaluation.batches))
    return {StatusCode::usage, "--eval-data is missing, expected a file or random:SEED"};
  // Without data there is nothing to train on: the run only generates.
  if (line.train.data.empty())
    line.train.steps = 0;

  const bool isRoot = line.isRoot();
  if (isRoot)
    SLUICE_RETURN_IF_ERROR(checkOutputs(line));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Ranks> ranks, openRanks(line.plan, line.ranks));
  if (line.generate.count > 0)
    SLUICE_RETURN_IF_ERROR(checkGenerate(ranks->plan(), line.generate));
  if (!line.trace.empty() && isRoot)
    SLUICE_RETURN_IF_ERROR(writeTrace(line.trace, {}));
  Console console(*ranks, line.quiet || !isRoot, !line.trace.empty());
  if (line.train.data.empty())
    SLUICE_RETURN_IF_ERROR(initialize(*ranks, line.train.seed, line.train.init));
  else
    SLUICE_RETURN_IF_ERROR(train(*ranks, line.train, console));
  if (!line.trace.empty() && isRoot)
    SLUICE_RETURN_IF_ERROR(writeTrace(line.trace, console.spans));
  SLUICE_ASSIGN_OR_RETURN(bool stops, ranks->agree(stopRequested));
  if (line.generate.count == 0 || stops) {
    console.close();
    return Status::ok();
  }
  const auto print = [isRoot](std::string_view text) {
    if (!isRoot)
      return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  print(line.generate.prompt);
  Status status = generate(*ranks, line.generate, print);
  print("\n");
  console.close();
  return status;
}

/// Where a launcher has started this process: meets the others.
static Status join(TrainCommand &line) {
  if (!line.launched)
    return Status::ok();
  catchTermination();
  line.launch.terminated = &terminated;
  SLUICE_ASSIGN_OR_RETURN(line.faults, readFault(std::getenv("SLUICE_FAULT"), line.launched->rank));
  line.ranks.delays = line.faults.get();
  line.ranks.rank = line.launched->rank;
  SLUICE_ASSIGN_OR_RETURN(line.ranks.world, openWorld(*line.launched, line.launch));
  return Status::ok();
}

/// Ends the run on all ranks, and says why: rank 0 does, and who cannot reach it.
static int tell(TrainCommand &line, Status status) {
  if (!line.launched)
    return fail(status);
  const std::shared_ptr<World> &world = line.ranks.world;
  if (!line.isRoot() && !status.message().starts_with("rank ")) {
    Status named(status.code(), "rank " + std::to_string(line.launched->rank) + ": " + status.message());
    for (const std::string &note : status.notes())
      named.addNote(note);
    status = std::move(named);
  }
  if (world)
    world->abort(status);
  // What is wrong before the processes have met is wrong with all of them, but for who comes twice.
  const bool told = world ? world->isHeard(0) : status.code() == StatusCode::usage;
  return line.isRoot() || !told ? fail(status) : static_cast<int>(status.code());
}

int main(int argc, char **argv) {
  restartWithoutThreadCaches(argv);
  CommandLine options("Trains by a plan that sluice-compile wrote: all ranks in this process, or one process per rank.",
                      "sluice-train");
  TrainCommand line;
  declare(options, line);
  Result<std::optional<int>> parsed = options.parse(argc, argv);
  if (!parsed.isOk())
    return fail(parsed.status());
  if (*parsed)
    return **parsed;
  catchInterrupt();
  returnFreedMemory();
  Result<std::optional<Launch>> launched =
      readLaunch([](const char *name) { return std::getenv(name); }, line.launch);
  if (!launched.isOk())
    return fail(launched.status());
  line.launched = *launched;
  Status status = join(line);
  if (status.isOk())
    status = run(line);
  if (!status.isOk())
    return tell(line, std::move(status));
  if (std::fflush(stdout) != 0)
    return fail(inputError("cannot write to standard output"));
  return 0;
}
