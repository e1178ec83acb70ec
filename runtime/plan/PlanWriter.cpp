//===- PlanWriter.cpp - writes a plan's bytes, instruction by instruction -------------===//
//
// See PlanWriter.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/PlanWriter.h"

#include <algorithm>
#include <memory>

namespace sluice {
namespace {

template <typename Table> using Offset = flatbuffers::Offset<Table>;
template <typename Table> using Vector = flatbuffers::Vector<Offset<Table>>;

/// Empty vectors and strings are left out of the file.
template <typename T> auto writeVector(flatbuffers::FlatBufferBuilder &builder, const std::vector<T> &items) {
  return items.empty() ? 0 : builder.CreateVector(items);
}

Offset<flatbuffers::String> writeText(flatbuffers::FlatBufferBuilder &builder, const std::string &text) {
  return text.empty() ? 0 : builder.CreateString(text);
}

Offset<Vector<flatbuffers::String>> writeTexts(flatbuffers::FlatBufferBuilder &builder,
                                               const std::vector<std::string> &texts) {
  return texts.empty() ? 0 : builder.CreateVectorOfStrings(texts);
}

template <typename Native>
auto writeTable(flatbuffers::FlatBufferBuilder &builder, const std::unique_ptr<Native> &table) {
  using Table = typename Native::TableType;
  return table ? Table::Pack(builder, table.get()) : Offset<Table>();
}

template <typename Native>
auto writeTables(flatbuffers::FlatBufferBuilder &builder, const std::vector<std::unique_ptr<Native>> &tables) {
  using Table = typename Native::TableType;
  std::vector<Offset<Table>> offsets(tables.size());
  std::ranges::transform(tables, offsets.begin(), [&](const auto &table) { return Table::Pack(builder, table.get()); });
  return writeVector(builder, offsets);
}

} // namespace

Digest PlanBytes::digest() const {
  Digest digest;
  std::ranges::copy(*plan::GetPlan(buffer.data())->digest(), digest.begin());
  return digest;
}

void PlanWriter::addInstruction(const plan::InstructionT &instruction) {
  instructions.push_back(plan::CreateInstruction(builder, &instruction));
}

void PlanWriter::endSection(const plan::SectionT &section) {
  const auto name = writeText(builder, section.name);
  sections.push_back(
      plan::CreateSection(builder, name, section.repeat, writeVector(builder, instructions), section.kind));
  instructions.clear();
}

void PlanWriter::endEntry(const plan::EntryT &entry) {
  const auto name = writeText(builder, entry.name);
  const auto inputs = writeTables(builder, entry.inputs), outputs = writeTables(builder, entry.outputs);
  entries.push_back(plan::CreateEntry(builder, name, inputs, outputs, writeVector(builder, sections), entry.events));
  sections.clear();
}

PlanBytes PlanWriter::finish(const plan::PlanT &plan) {
  const std::vector<std::uint8_t> zeros(digestBytes);
  const auto digest = builder.CreateVector(zeros);
  const auto name = writeText(builder, plan.name), config = writeText(builder, plan.config);
  const auto target = writeTable(builder, plan.target);
  const auto mesh = writeTables(builder, plan.mesh);
  const auto arenas = writeTables(builder, plan.arenas);
  const auto streams = writeTables(builder, plan.streams);
  const auto buffers = writeTables(builder, plan.buffers);
  const auto units = writeTables(builder, plan.units);
  const auto parameters = writeTables(builder, plan.parameters);
  const auto variables = writeTables(builder, plan.variables);
  const auto program = writeTable(builder, plan.program);
  const auto entryPoints = writeVector(builder, entries);
  const auto kernels = writeTexts(builder, plan.kernels), locations = writeTexts(builder, plan.locations);
  const auto recipe = writeTexts(builder, plan.recipe);
  const auto learningRate = writeTable(builder, plan.learning_rate);
  const auto dataAxes = writeVector(builder, plan.data_axes);
  const auto modelDigest = writeVector(builder, plan.model_digest);
  builder.Finish(plan::CreatePlan(builder, plan.major, plan.minor, digest, name, config, plan.catalogue, target, mesh,
                                  arenas, streams, buffers, units, parameters, variables, program, entryPoints, kernels,
                                  locations, recipe, learningRate, dataAxes, plan.register_arena, plan.microbatches,
                                  plan.batch, plan.sequence, plan.max_ctas, plan.copy_engines, modelDigest),
                 plan::PlanIdentifier());
  std::uint8_t *bytes = builder.GetBufferPointer();
  const Digest sum = sha256({bytes, builder.GetSize()});
  std::ranges::copy(sum, bytes + (plan::GetPlan(bytes)->digest()->data() - bytes));
  return PlanBytes(builder.Release());
}

} // namespace sluice
