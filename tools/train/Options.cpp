//===- Options.cpp - the command line of sluice-train -------------------------------------===//
#include "tools/train/Options.h"

#include "runtime/base/Message.h"
#include "tools/CommandLine.h"
#include "tools/train/Doctor.h"
#include "tools/train/LocalTime.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace sluice {

/// Accepts positive numbers, and 0 if it is `included`.
static CLI::Validator number(bool included) {
  return CLI::Validator(
      [included](const std::string &text) {
        char *end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool fits = !text.empty() && !*end && std::isfinite(value) && (included ? value >= 0 : value > 0);
        return fits ? ""
                    : std::string("expected a number ") + (included ? "of at least" : "above") + " 0 but got '" + text +
                          "'";
      },
      "");
}

static void declarePacking(CLI::App &app, TrainCommand &command) {
  const auto packing = [&train = command.train]() -> PackingOptions & {
    if (!train.files.packing)
      train.files.packing.emplace();
    return *train.files.packing;
  };
  const CLI::Option *pack = app.add_flag_callback(
      "--pack", [packing] { packing(); },
      "put several documents into each row: texts, parts of token files, or conversations");
  const CLI::Option *bucket =
      app.add_flag_callback(
             "--bucket", [packing] { packing().isSeparate = true; },
             "each step runs one of the plan's train entry points, with documents that fit into its rows and not into "
             "shorter ones: one in each row")
          ->excludes("--pack");
  const CLI::Option *policy =
      app.add_option_function<std::string>(
             "--long-documents",
             [packing](const std::string &name) {
               packing().longDocuments = name == "split"      ? LongDocuments::split
                                         : name == "truncate" ? LongDocuments::truncate
                                                              : LongDocuments::error;
             },
             "how a document longer than a row is read (default: split, into several documents)")
          ->check(CLI::IsMember({"split", "truncate", "error"}));
  const auto delimiter = [packing](bool begins) {
    return [packing, begins](const std::int32_t &token) { packing().delimiter = DocumentDelimiter{token, begins}; };
  };
  auto *end = app.add_option_function<std::int32_t>("--document-end", delimiter(false),
                                                    "the last token of each document in token files and texts "
                                                    "(default: the tokenizer's end-of-text token, in token files)")
                  ->check(integerFrom(0));
  const CLI::Option *begin =
      app.add_option_function<std::int32_t>("--document-begin", delimiter(true),
                                            "the first token of each document in token files and texts")
          ->check(integerFrom(0))
          ->excludes(end);
  app.final_callback([=] {
    for (const CLI::Option *option : {policy, static_cast<const CLI::Option *>(end), begin})
      if (!option->empty() && pack->empty() && bucket->empty())
        throw CLI::RequiresError(option->get_name(), "--pack or --bucket");
  });
}

static void declareData(CLI::App &app, TrainCommand &command, std::string &order) {
  TrainOptions &train = command.train;
  app.add_option("--data", train.data, "token files, text files, safetensors, quoted globs, or random:SEED");
  app.add_option_function<std::string>(
         "--data-format", [&train](const std::string &name) { train.files.format = *dataFormatOf(name); },
         "format of the files of --data and --eval-data (default: auto, by name and content of each file)")
      ->check(CLI::IsMember(dataFormatNames()));
  app.add_flag("--skip-invalid", train.files.conversations.skipsInvalid,
               "conversations that cannot be used are left out, counted and named");
  app.add_option("--ignore-fields", train.files.conversations.ignoredFields,
                 "members of conversations and messages, separated by commas, that are left out")
      ->delimiter(',')
      ->allow_extra_args(false);
  declarePacking(app, command);
  app.add_option(
         "--tokenizer", command.tokenizer,
         "tokenizer of text data, prompt and generated text: tokenizer.json, a .model file, or a folder with one "
         "(default: the one beside --init)")
      ->check(nonEmptyPath());
  app.add_option("--now", command.now,
                 "time of strftime_now() in chat templates, as 2026-11-29T12:00:00 (default: the start of the run)")
      ->check(CLI::Validator(
          [](const std::string &text) {
            return secondsOf(text) ? "" : "expected a time as 2026-11-29T12:00:00 but got '" + text + "'";
          },
          ""));
  app.add_option("--eval-data", train.evaluation.data, "data to evaluate the loss on");
  app.add_option("--eval-every", train.evaluation.every,
                 "steps between evaluations (default: one, after the last step)")
      ->check(integerFrom(1));
  app.add_option("--eval-batches", train.evaluation.batches, "batches of an evaluation (default: all complete ones)")
      ->check(integerFrom(1));
  app.add_option("--data-weights", train.weights,
                 "weights, separated by commas: the share of the rows of each argument of --data")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(number(false))
      ->excludes("--bucket");
  auto *steps = app.add_option("--steps", train.steps, "steps to train")->check(integerFrom(0))->capture_default_str();
  auto *epochs = app.add_option("--epochs", train.epochs,
                                "train until all rows were read this many times; may be a "
                                "fraction")
                     ->check(number(false))
                     ->excludes(steps);
  auto *entries =
      app.add_option("--entries", train.entries, "entry points, separated by commas, run in turn at each step")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str()
          ->excludes("--bucket");
  app.add_option("--shapes-at", train.shapesAt,
                 "STEP:TOKENS, separated by commas: from STEP on, counted from 0, each step runs the train entry point "
                 "with rows of TOKENS (STEP:ROWSxTOKENS if several have)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(entries)
      ->excludes("--bucket");
  app.add_option("--init", train.init,
                 "initial weights: a safetensors file, a folder with one, or a .pt2 archive of torch.export")
      ->check(nonEmptyPath());
  app.add_option("--seed", train.seed, "key of the initial weights, dropout and the order of the data")
      ->check(integerFrom(0))
      ->capture_default_str();
  app.add_option("--order", order, "order of the data")
      ->check(CLI::IsMember({"sequential", "shuffled"}))
      ->capture_default_str();
  app.add_flag("--overfit-one-batch", train.overfit, "each step reads the rows of the first step")->excludes(epochs);
}

static void declareOutputs(CLI::App &app, TrainCommand &line) {
  app.add_option("--log", line.train.log, "write run.jsonl here, one object per step")->check(nonEmptyPath());
  auto *every =
      app.add_option(
             "--log-every", line.logEvery,
             "print a line, with the time and the memory, every so many steps (default: the first ten steps, then "
             "a line every five seconds)")
          ->check(integerFrom(1));
  app.add_option("--machine", line.machine,
                 "a file of tools/machines: these lines have the utilization of the device's FLOP/s (MFU)")
      ->check(nonEmptyPath())
      ->needs(every)
      ->excludes("--shapes-at")
      ->excludes("--bucket");
  app.add_option_function<std::string>(
         "--log-ranks", [&line](const std::string &) { line.train.logRanks = true; },
         "all: run.jsonl also has the loss of each rank, which the recipe's loss.per_rank makes an output")
      ->check(CLI::IsMember({"all"}));
  app.add_option("--tensorboard", line.train.tensorboard, "write an event file of TensorBoard into this folder")
      ->check(nonEmptyPath());
  app.add_option("--save", line.train.save, "folder for model.safetensors, config.json and run.toml")
      ->check(nonEmptyPath());
  app.add_option_function<std::string>(
         "--save-dtype",
         [&line](const std::string &name) { line.train.saving.dtype = name == "bf16" ? DType::bf16 : DType::f32; },
         "dtype of the saved parameters (default: that of the checkpoint of --init, without one f32)")
      ->check(CLI::IsMember({"bf16", "f32"}));
  app.add_option("--save-shard-size", line.train.saving.shardBytes,
                 "bytes of a file of --save, for example 500MB or 5GiB; more are saved in several files")
      ->transform(CLI::AsSizeValue(true))
      ->type_name("SIZE")
      ->check(integerFrom(1))
      ->default_str("5GB");
  app.add_option("--trace", line.trace, "write a Chrome trace of the run")->check(nonEmptyPath());
  app.add_option("--generate", line.generate.count, "tokens to generate after training")->check(integerFrom(0));
  auto *prompt = app.add_option("--prompt", line.generate.prompt, "prompt text");
  app.add_option("--prompts", line.prompts, "a file of prompts, one per line: each is continued")
      ->check(nonEmptyPath())
      ->excludes(prompt);
  app.add_option(
         "--stop-token", line.generate.stopTokens,
         "ids of the tokens that end a text (default: eos_token_id of generation_config.json or config.json next "
         "to the weights of --init)")
      ->check(integerFrom(0));
  app.add_option("--temperature", line.generate.temperature, "0: always the most likely token")
      ->check(number(true))
      ->capture_default_str();
  app.add_option("--top-k", line.generate.topK, "sample from the k most likely tokens only")->check(integerFrom(0));
  auto *poison = app.add_flag("--poison", line.ranks.poison,
                              "debug: overwrite bytes after their lifespan; no number changes if the plan is right");
  auto *pages = app.add_flag("--measure-pages", line.ranks.measurePages,
                             "debug: compare the resident pages with the live bytes after each instruction")
                    ->excludes(poison);
  app.add_flag("--find-nonfinite", line.train.findNonFinite,
               "if a value that is not finite ends the run: repeat the step and name the first such value")
      ->excludes(poison)
      ->excludes(pages);
  auto *quiet = app.add_flag("--quiet", line.quiet, "print nothing but errors, warnings and generated text");
  app.add_flag("--verbose", line.verbose, "print what the run has opened, before the first step")->excludes(quiet);
  app.add_flag("--dry-run", line.train.dryRun,
               "open plan, data and weights, print what would run, and end before the first step; no file is written")
      ->excludes(quiet);
}

static void declareCheckpoints(CLI::App &app, CheckpointOptions &checkpoint) {
  auto *folder = app.add_option("--checkpoint", checkpoint.folder,
                                "folder for training checkpoints, also after the last step and after Ctrl-C")
                     ->check(nonEmptyPath());
  app.add_option("--every", checkpoint.every, "steps between checkpoints (default: 500)")
      ->check(integerFrom(1))
      ->needs(folder);
  auto *keep = app.add_option("--keep", checkpoint.keep, "number of the latest checkpoints to keep (default: all)")
                   ->check(integerFrom(1))
                   ->needs(folder);
  app.add_flag("--keep-best", checkpoint.keepBest, "also keep the checkpoint with the lowest evaluation loss")
      ->needs(keep);
  app.add_option("--resume", checkpoint.resume,
                 "checkpoint to continue from: auto (the newest complete one of --checkpoint), none, or a folder")
      ->check(nonEmptyPath())
      ->capture_default_str();
  app.add_flag("--allow-changed-data", checkpoint.allowChangedData,
               "continue although the content of --data, or of the tokenizer, is not that of the checkpoint")
      ->needs(folder);
  app.add_option("--max-failed-saves", checkpoint.maxFailedSaves,
                 "failed checkpoints in a row after which the run ends (default: 3)")
      ->check(integerFrom(1))
      ->needs(folder);
}

static void declareRanks(CLI::App &app, RanksOptions &ranks, LaunchOptions &launch) {
  app.add_option("--threads", ranks.threads, "compute threads of a rank (default: the plan's target.threads)")
      ->check(integerFrom(1));
  app.add_option("--communicator", launch.communicator,
                 "communicator backend; auto: one process per rank under mpirun, torchrun and srun, else local")
      ->check(CLI::IsMember({"auto", "local", "mpi", "socket"}))
      ->capture_default_str();
  app.add_option("--listen", launch.listen,
                 "address to listen at if ranks are on several machines (default: loopback)");
  app.add_option("--secret-file", launch.secretFile,
                 "file with the secret of the connections between ranks (default on one machine: that of the user)")
      ->check(nonEmptyPath());
  app.add_option("--join-timeout", launch.joinSeconds, "seconds that processes wait for each other at the start")
      ->check(number(false))
      ->capture_default_str();
  app.add_option("--watchdog", launch.watchdogSeconds,
                 "seconds without progress of a process after which the run ends; 0: never")
      ->check(number(true))
      ->capture_default_str();
  app.add_flag("--require-proof", ranks.requiresProof,
               "refuse a plan of which the checker cannot prove a property, such as that it computes the model");
  app.add_option("--cuda-graph", ranks.cudaGraph,
                 "on a GPU: record a step once and replay it; auto: if that is possible")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
  app.add_flag("--tf32", ranks.tf32, "on a GPU: f32 matrix products may round their inputs to TF32");
  app.add_option("--algorithms", ranks.algorithms,
                 "on a GPU: a file of measured algorithms of matrix products, written if it does not exist (default: "
                 "the library's choice)");
  app.add_option("--cudnn", ranks.cudnn,
                 "on a GPU: cuDNN computes convolutions and pooling; auto: if it is installed and has an engine. The "
                 "plan states whether it computes attention")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str();
}

std::optional<int> readTrainCommand(int argc, char **argv, TrainCommand &command) {
  CLI::App app("Executes the plan of a training: all ranks in this process, or one process per rank.", "sluice-train");
  app.add_option("plan", command.plan, "the plan, written by sluice-compile")->required();
  std::string order = "sequential";
  declareData(app, command, order);
  declareRanks(app, command.ranks, command.launch);
  declareOutputs(app, command);
  declareCheckpoints(app, command.checkpoint);
  declareConfig(app);
  app.add_flag_callback(
         "--doctor",
         [] {
           std::fputs(doctorReport().c_str(), stdout);
           throw CLI::Success();
         },
         "print versions, libraries, limits, and which plans run here")
      ->configurable(false);
  app.set_version_flag("--version", versionText("sluice-train"))->configurable(false);
  app.footer("exit codes: 0 done, 1 an input is invalid or an output cannot be written, 2 usage, 4 the plan or weights "
             "are rejected, 5 a rank or device failed or the loss is not finite, 70 an internal error");
  try {
    if (const std::optional<int> done = parseCommandLine(app, argc, argv))
      return done;
  } catch (const ConfigError &error) {
    return report(error.status);
  }
  command.options = optionValues(app);
  command.train.config = configText(command.options);
  command.train.shuffled = order == "shuffled";
  return std::nullopt;
}

} // namespace sluice
