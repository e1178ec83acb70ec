//===- InputData.cpp - data for the inputs of an entry point -----------------------===//
#include "runtime/train/InputData.h"
#include "runtime/train/TokenData.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace sluice {

std::uint64_t rowElements(const plan::PortT &port) {
  std::uint64_t elements = 1;
  for (std::size_t d = 1; d < port.view->shape.size(); ++d)
    elements *= static_cast<std::uint64_t>(port.view->shape[d]);
  return elements;
}

Status checkTokenPort(const plan::PortT &port, const plan::PortT &first) {
  if (port.view->dtype == plan::DType::i32 && port.view->shape.size() == 2 && port.view->shape == first.view->shape)
    return Status::ok();
  return refusedError(fmt::format("input '{}' of the plan, expected i32 rows of one length but got {} of {} dims",
                                  port.name, dtypeName(baseType(port.view->dtype)), port.view->shape.size()));
}

namespace {

/// Tokens for a port "tokens", and for "targets" the same one token later.
class TokenInput : public InputData {
public:
  TokenInput(TokenData data, std::size_t tokens, std::size_t targets, std::uint64_t length)
      : data(std::move(data)), tokens(tokens), targets(targets), unused(length) {}

  std::uint64_t samples() const override { return data.sequences(); }
  std::string formats() const override { return data.formats(); }
  Status read(std::uint64_t sample, std::span<const std::span<std::byte>> rows) override {
    return data.read(sample, row(rows, tokens), row(rows, targets));
  }

  static constexpr std::size_t none = SIZE_MAX;

private:
  std::span<std::int32_t> row(std::span<const std::span<std::byte>> rows, std::size_t port) {
    if (port == none)
      return unused;
    return {reinterpret_cast<std::int32_t *>(rows[port].data()), rows[port].size() / sizeof(std::int32_t)};
  }

  TokenData data;
  std::size_t tokens, targets;
  /// Tensors for which the model has no port are accepted.
  std::vector<std::int32_t> unused;
};

} // namespace

static Result<std::unique_ptr<InputData>> openTokens(const std::vector<std::string> &sources, DataFormat format,
                                                     const std::vector<const plan::PortT *> &ports,
                                                     std::uint64_t minimum) {
  std::size_t tokens = TokenInput::none, targets = TokenInput::none;
  TokenShape shape;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const plan::PortT &port = *ports[i];
    if (port.role == plan::PortRole::documents)
      return inputError(fmt::format("the model has an input '{}', which these data have no values for", port.name))
          .withNote("--pack puts several documents into a row; without it import the model without --packed");
    if (port.role != plan::PortRole::tokens && port.role != plan::PortRole::targets)
      return inputError(fmt::format("the model has an input '{}', expected only tokens and targets with these data",
                                    port.name))
          .withNote("random:SEED fills all inputs; a safetensors file fills the inputs of its tensors' names");
    (port.role == plan::PortRole::tokens ? tokens : targets) = i;
    SLUICE_RETURN_IF_ERROR(checkTokenPort(port, *ports[0]));
    if (port.limit && (!shape.vocabulary || port.limit < shape.vocabulary))
      shape.vocabulary = port.limit;
  }
  shape.rows = minimum;
  shape.sequence = rowElements(*ports[0]);
  SLUICE_ASSIGN_OR_RETURN(TokenData data, TokenData::open(sources, shape, format));
  return std::unique_ptr<InputData>(std::make_unique<TokenInput>(std::move(data), tokens, targets, shape.sequence));
}

Result<std::unique_ptr<InputData>> openInputData(const std::vector<std::string> &sources, const DataFiles &files,
                                                 const std::vector<const plan::PortT *> &ports, std::uint64_t minimum) {
  for (const plan::PortT *port : ports)
    if (port->view->shape.empty() || port->view->shape[0] != ports[0]->view->shape[0])
      return inputError(fmt::format("input '{}' of the plan and input '{}' have different numbers of rows", port->name,
                                    ports[0]->name));
  constexpr std::string_view prefix = "random:";
  for (const std::string &source : sources) {
    if (!source.starts_with(prefix))
      continue;
    if (files.packing)
      return inputError(fmt::format("data '{}' have no documents, which {} needs", source,
                                    files.packing->isSeparate ? "--bucket" : "--pack"));
    std::uint64_t seed = 0;
    const char *begin = source.data() + prefix.size(), *end = source.data() + source.size();
    auto [rest, error] = std::from_chars(begin, end, seed);
    if (error != std::errc() || rest != end)
      return inputError(fmt::format("data '{}', expected random:SEED with an integer", source));
    if (sources.size() != 1)
      return inputError(
          fmt::format("data '{}' cannot be combined with other sources, but there are {}", source, sources.size()));
    return openRandomData(seed, ports);
  }
  std::vector<std::string> paths = expandGlobs(sources);
  if (files.packing)
    return openPackedData(paths, files, ports, minimum);
  DataFormat format = files.format;
  for (std::string &path : paths)
    if (const auto text = files.tokenized.find(path); text != files.tokenized.end()) {
      path = text->second;
      // The declared format is that of the text.
      format = DataFormat::automatic;
    }
  if (format == DataFormat::safetensors)
    return openTensorData(paths, ports, minimum);
  auto first = std::find_if(paths.begin(), paths.end(), hasSafetensorsName);
  if (format != DataFormat::automatic || first == paths.end())
    return openTokens(paths, format, ports, minimum);
  if (auto other = std::find_if_not(paths.begin(), paths.end(), hasSafetensorsName); other != paths.end())
    return inputError(fmt::format("data '{}', expected a safetensors file like '{}'", *other, *first));
  return openTensorData(paths, ports, minimum);
}

} // namespace sluice
