//===- InputData.h - data for the inputs of an entry point -------------------------===//
//
// Data are a sequence of samples; sample i gives one row to each input port. Token files give tokens and targets,
// random:SEED generates values for any input.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_INPUTDATA_H
#define SLUICE_RUNTIME_TRAIN_INPUTDATA_H

#include "runtime/train/DataFormat.h"
#include "runtime/train/Ranks.h"
#include "runtime/train/Report.h"

#include <memory>
#include <optional>

namespace sluice {

class InputData {
public:
  virtual ~InputData() = default;
  /// Number of samples.
  virtual std::uint64_t samples() const = 0;
  /// True if samples are generated on demand.
  virtual bool isEndless() const { return false; }
  /// True if targets of samples may be ignored.
  virtual bool mayIgnoreTargets() const { return false; }
  /// Of the samples from `first` on; nullopt if rows are not packed.
  virtual std::optional<PackedContent> packed(std::uint64_t first, std::uint64_t count) const { return std::nullopt; }
  /// The formats of the files, as TokenData::formats().
  virtual std::string formats() const = 0;
  /// Fills one row of each port, in the order of the ports given to openInputData().
  virtual Status read(std::uint64_t sample, std::span<const std::span<std::byte>> rows) = 0;
};

/// Opens data for these ports, whose first dims are rows of one sample each. Reports all errors in the data, also fewer
/// than `minimum` samples.
Result<std::unique_ptr<InputData>> openInputData(const std::vector<std::string> &sources, const DataFiles &files,
                                                 const std::vector<const plan::PortT *> &ports, std::uint64_t minimum);

/// Every element depends on the seed, its port's name, its sample and its position in the row, and on nothing else:
/// floats are standard normal, integers uniform below the port's limit, documents of random lengths. The number of
/// samples is unbounded.
Result<std::unique_ptr<InputData>> openRandomData(std::uint64_t seed, const std::vector<const plan::PortT *> &ports);

/// Files with a tensor for each port, by its name; index i along the first dim is sample i, and files follow one
/// another. Floats are converted to a float port's type, integers to an integer port's; integers are compared with the
/// port's limit when they are read. Tensors without a port are ignored.
Result<std::unique_ptr<InputData>> openTensorData(const std::vector<std::string> &paths,
                                                  const std::vector<const plan::PortT *> &ports, std::uint64_t minimum);

/// Documents that are packed into rows (Packing.h) for the inputs tokens, targets and documents, of i32. Padding after
/// the last document of a row is a document of tokens 0 without targets.
Result<std::unique_ptr<InputData>> openPackedData(const std::vector<std::string> &paths, const DataFiles &files,
                                                  const std::vector<const plan::PortT *> &ports, std::uint64_t minimum);

/// An error unless a port has i32 rows of the same length as the first one.
Status checkTokenPort(const plan::PortT &port, const plan::PortT &first);

/// Writes the document of each token of a row for the input `documents`, the index of the document's first token:
/// tokens from `begins[i]` to before `begins[i + 1]`, or to the end of the row, are one document. `begins` is ascending
/// from 0.
void writeDocuments(std::span<const std::uint64_t> begins, DType dtype, std::span<std::byte> row);
/// An error unless a row of the input `documents` is one that writeDocuments() writes.
Status checkDocuments(std::span<const std::byte> row, DType dtype);

/// Elements of one row of a port.
std::uint64_t rowElements(const plan::PortT &port);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_INPUTDATA_H
