//===- TokenFileFuzz.cpp - reads any bytes as token ids of each format ---------------------===//
//
// The first two bytes of the input choose the format and the vocabulary.
//
//===----------------------------------------------------------------------------------===//
#include "Fuzz.h"

#include "runtime/train/TokenFile.h"

using namespace sluice;

namespace {

constexpr std::uint64_t vocabularies[] = {0, 1, 256, 257, 50257, std::uint64_t(1) << 31, ~std::uint64_t(0)};

Result<std::vector<std::int32_t>> readAll(const TokenFile &file, std::uint64_t vocabulary) {
  std::vector<std::int32_t> ids(file.count);
  std::vector<std::byte> room(file.count * file.width);
  SLUICE_RETURN_IF_ERROR(file.read(0, ids, vocabulary, room));
  return ids;
}

/// Writes the ids as a token file, and claims that they are read again.
void writeAgain(const std::vector<std::int32_t> &ids) {
  static const fuzz::MemoryFolder folder;
  const std::string path = folder.path() + "/ids.bin";
  fuzz::claim(writeTokenFile(path, ids).isOk(), "ids that were read cannot be written");
  const Result<TokenFile> file = TokenFile::open(path, DataFormat::automatic, 0);
  fuzz::claim(file.isOk() && file->format == DataFormat::llmc, "the written file is no token file");
  const Result<std::vector<std::int32_t>> again = readAll(*file, 0);
  fuzz::claim(again.isOk() && *again == ids, "the written file has different ids");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static fuzz::MemoryFile memory;
  if (size < 2)
    return 0;
  const auto format = static_cast<DataFormat>(data[0] % dataFormatNames().size());
  const std::uint64_t vocabulary = vocabularies[data[1] % std::size(vocabularies)];
  // These files are opened by a different reader.
  if (format == DataFormat::safetensors)
    return 0;
  memory.write(fuzz::textOf(data + 2, size - 2));
  const Result<TokenFile> file = TokenFile::open(memory.path(), format, vocabulary);
  if (!file.isOk()) {
    fuzz::claimReported(file.status());
    return 0;
  }
  fuzz::claim(file->count * file->width + file->begin == size - 2, "the tokens are not the rest of the file");
  const Result<std::vector<std::int32_t>> ids = readAll(*file, vocabulary);
  if (!ids.isOk())
    fuzz::claimReported(ids.status());
  else
    writeAgain(*ids);
  return 0;
}
