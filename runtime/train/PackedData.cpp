//===- PackedData.cpp - rows of several documents -----------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "runtime/train/Documents.h"
#include "runtime/train/InputData.h"

#include <algorithm>
#include <fmt/format.h>

namespace sluice {

void writeDocuments(std::span<const std::uint64_t> begins, DType dtype, std::span<std::byte> row) {
  const std::uint64_t length = row.size() / dtypeBytes(dtype);
  for (std::size_t i = 0; i < begins.size(); ++i)
    for (std::uint64_t at = begins[i]; at < (i + 1 < begins.size() ? begins[i + 1] : length); ++at)
      cpu::storeInteger(row.data(), dtype, static_cast<std::int64_t>(at), static_cast<std::int64_t>(begins[i]));
}

Status checkDocuments(std::span<const std::byte> row, DType dtype) {
  std::int64_t begin = 0;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(row.size() / dtypeBytes(dtype)); ++at) {
    const std::int64_t document = cpu::loadInteger(row.data(), dtype, at);
    if (document == at)
      begin = at;
    if (document == begin)
      continue;
    const std::string expected = begin == at ? "0" : fmt::format("{} or {}", begin, at);
    return inputError(fmt::format("document of token {}, expected {} but got {}", at, expected, document))
        .withNote("the value of a token is the index, within the row, of the first token of its document");
  }
  return Status::ok();
}

namespace {

class PackedData final : public InputData {
public:
  /// Indices of ports; `none` without a port.
  struct Columns {
    std::size_t tokens = none, targets = none, documents = none;
  };
  static constexpr std::size_t none = SIZE_MAX;

  PackedData(Columns columns, std::uint64_t length) : columns(columns), tokens(length), targets(length) {}

  Status open(const std::vector<std::string> &paths, const DataFiles &data, std::uint64_t vocabulary) {
    std::vector<std::uint64_t> lengths;
    for (const std::string &path : paths) {
      SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<DocumentFile> file, openDocuments(path, data, vocabulary));
      firsts.push_back(lengths.size());
      lengths.insert(lengths.end(), file->lengths().begin(), file->lengths().end());
      files.push_back(std::move(file));
    }
    const std::uint64_t rowLength = tokens.size();
    const LengthBucket bucket = {data.packing->over, rowLength, std::max(data.packing->longest, rowLength)};
    if (data.packing->longDocuments == LongDocuments::error)
      if (const auto longest = std::ranges::max_element(lengths);
          longest != lengths.end() && *longest > bucket.longest) {
        const auto document = static_cast<std::uint64_t>(longest - lengths.begin());
        const std::size_t file = fileOf(document);
        return inputError(fmt::format("'{}': length of document {}, expected at most {} tokens but got {}", paths[file],
                                      document - firsts[file], bucket.longest, *longest))
            .withNote("--long-documents split makes several documents of it, truncate keeps its begin");
      }
    // A row without tokens has room for none.
    if (rowLength != 0)
      rows = data.packing->isSeparate ? separateRows(lengths, bucket, data.packing->longDocuments)
                                      : packRows(lengths, rowLength, data.packing->longDocuments, data.packing->seed);
    return Status::ok();
  }

  std::uint64_t samples() const override { return rows.size(); }
  bool mayIgnoreTargets() const override { return true; }
  std::optional<PackedContent> packed(std::uint64_t first, std::uint64_t count) const override {
    PackedContent content;
    for (std::uint64_t sample = first; sample < first + count; ++sample) {
      content.documents += rows.row(sample).size();
      for (const PackedPart &part : rows.row(sample))
        content.tokens += part.count;
    }
    return content;
  }
  std::string formats() const override {
    std::vector<std::string> names;
    for (const std::unique_ptr<DocumentFile> &file : files)
      if (std::ranges::find(names, file->format()) == names.end())
        names.emplace_back(file->format());
    return join(names, ", ", [](const std::string &name) { return name; });
  }

  Status read(std::uint64_t sample, std::span<const std::span<std::byte>> ports) override {
    std::uint64_t at = 0;
    begins.clear();
    for (const PackedPart &part : rows.row(sample)) {
      const std::size_t file = fileOf(part.document);
      SLUICE_RETURN_IF_ERROR(files[file]->read(part.document - firsts[file], part.first,
                                               std::span(tokens).subspan(at, part.count),
                                               std::span(targets).subspan(at, part.count)));
      begins.push_back(at);
      at += part.count;
    }
    if (at < tokens.size())
      begins.push_back(at);
    std::fill(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end(), 0);
    std::fill(targets.begin() + static_cast<std::ptrdiff_t>(at), targets.end(), ignoredTarget);
    const auto write = [&](std::size_t column, const std::vector<std::int32_t> &values) {
      if (column != none)
        std::ranges::copy(std::as_bytes(std::span(values)), ports[column].begin());
    };
    write(columns.tokens, tokens);
    write(columns.targets, targets);
    if (columns.documents != none)
      writeDocuments(begins, DType::i32, ports[columns.documents]);
    return Status::ok();
  }

private:
  std::size_t fileOf(std::uint64_t document) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(firsts, document) - firsts.begin()) - 1;
  }

  Columns columns;
  std::vector<std::unique_ptr<DocumentFile>> files;
  /// By file: documents in the files before it.
  std::vector<std::uint64_t> firsts;
  PackedRows rows;
  /// One row: members, so that steps do not allocate.
  std::vector<std::int32_t> tokens, targets;
  std::vector<std::uint64_t> begins;
};

} // namespace

Result<std::unique_ptr<InputData>> openPackedData(const std::vector<std::string> &paths, const DataFiles &files,
                                                  const std::vector<const plan::PortT *> &ports,
                                                  std::uint64_t minimum) {
  PackedData::Columns columns;
  std::uint64_t vocabulary = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const plan::PortT &port = *ports[i];
    if (port.role == plan::PortRole::tokens)
      columns.tokens = i;
    else if (port.role == plan::PortRole::targets)
      columns.targets = i;
    else if (port.role == plan::PortRole::documents)
      columns.documents = i;
    else
      return inputError(fmt::format("the model has an input '{}', expected only tokens, targets and documents with "
                                    "{}",
                                    port.name, files.packing->isSeparate ? "--bucket" : "--pack"));
    SLUICE_RETURN_IF_ERROR(checkTokenPort(port, *ports[0]));
    if (port.limit && port.role != plan::PortRole::documents && (!vocabulary || port.limit < vocabulary))
      vocabulary = port.limit;
  }
  if (columns.documents == PackedData::none && !files.packing->isSeparate)
    return inputError(
               "--pack needs a model with an input 'documents', so that attention and positions see one document")
        .withNote("import the model with --packed");
  auto data = std::make_unique<PackedData>(columns, rowElements(*ports[0]));
  SLUICE_RETURN_IF_ERROR(data->open(paths, files, vocabulary));
  // A bucket may have no document.
  if (files.packing->isSeparate && files.packing->longest != 0)
    return std::unique_ptr<InputData>(std::move(data));
  if (data->samples() < std::max<std::uint64_t>(minimum, 1))
    return inputError(fmt::format("data '{}'{} are too short, expected documents for at least {} rows of {} tokens but "
                                  "they fill {}",
                                  paths.empty() ? "" : paths[0],
                                  paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "", minimum,
                                  rowElements(*ports[0]), data->samples()));
  return std::unique_ptr<InputData>(std::move(data));
}

} // namespace sluice
