//===- sluice-fit.cpp - the settings with which a job fits its GPUs -----------------------------===//
#include "passes/driver/fit/FitSearch.h"

#include "runtime/base/Message.h"
#include "tools/CommandLine.h"
#include "tools/Process.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <nlohmann/json.hpp>

using namespace sluice;

/// "SYMBOL=SIZE" texts.
static Status readSizes(const std::vector<std::string> &texts, FitRequest &request) {
  for (const std::string &text : texts) {
    const std::size_t equals = text.find('=');
    std::int64_t value = 0;
    const char *begin = text.data() + std::min(equals, text.size() - 1) + 1, *end = text.data() + text.size();
    if (const auto [rest, error] = std::from_chars(begin, end, value);
        equals == std::string::npos || equals == 0 || error != std::errc() || rest != end || value < 1)
      return Status(StatusCode::usage, "--size, expected SYMBOL=SIZE but got '" + text + "'");
    request.sizes[text.substr(0, equals)] = value;
  }
  return Status::ok();
}

int main(int argc, char **argv) {
  prepareProcess();
  CLI::App app("Finds the settings of a training job that fit GPUs, with their memory and step time", "sluice-fit");
  app.set_version_flag("--version", versionText("sluice-fit"));
  app.footer(
      "exit codes: 0 a setting fits and all assertions hold for it, 1 the model or a setting is invalid, 2 usage, "
      "3 no setting fits or an assertion fails, 70 an internal error");
  FitRequest request;
  std::vector<std::string> sizes;
  std::string framework = "sluice";
  bool json = false;
  const CLI::Range extent(std::int64_t(1), std::int64_t(1) << 30);
  app.add_option("model", request.model, "a config.json, an archive of torch.export (.pt2) or a model of sluice-import")
      ->required();
  app.add_option("--gpus", request.gpus,
                 "COUNTxTYPE: TYPE is the name or path of a machine file, or bytes, as 8xh100-sxm-80gb or 8x24GiB")
      ->required();
  app.add_option("--world", request.world, "the GPUs of all hosts, if --gpus gives those of one")->check(extent);
  app.add_option("--sequence", request.sequence, "tokens of a row; required for a config.json")->check(extent);
  app.add_option("--batch", request.batches, "rows of a rank's micro-batch; default: powers of two, as far as they fit")
      ->delimiter(',')
      ->check(extent);
  app.add_option("--size", sizes, "SYMBOL=SIZE of a dynamic size of an archive")->allow_extra_args(false);
  app.add_option("--for", framework, "the framework of the job: sluice, or pytorch, whose memory is that of FSDP2")
      ->check(CLI::IsMember({"sluice", "pytorch"}));
  for (auto [dimension, values] : {std::pair(FitDimension::recompute, &request.recompute),
                                   {FitDimension::offload, &request.offload},
                                   {FitDimension::precision, &request.precision}}) {
    std::string names;
    for (const std::string &name : valuesOf(dimension, FitFramework::sluice))
      names += (names.empty() ? "" : ", ") + name;
    app.add_option("--" + nameOf(dimension), *values, "compare these values of " + names)->delimiter(',');
  }
  app.add_option("--set", request.settings, "key=value of the recipe, for all settings; can be repeated")
      ->allow_extra_args(false);
  app.add_option("--assert", request.assertions,
                 "a condition such as peak<=76GiB, on peak, reserved, step, tokens_per_s or mfu; can be repeated")
      ->allow_extra_args(false);
  app.add_flag("--json", json, "print the settings as JSON");
  if (const std::optional<int> done = parseCommandLine(app, argc, argv))
    return *done;
  request.framework = framework == "pytorch" ? FitFramework::pytorch : FitFramework::sluice;
  if (const Status status = readSizes(sizes, request); !status.isOk())
    return report(status);
  const Result<FitResult> result = findFit(request);
  if (!result.isOk())
    return report(result.status());
  const Status status = result->status();
  return finish(json ? dumpJson(result->toJson(), 2) + "\n" : result->toText(), status,
                static_cast<int>(status.code()));
}
