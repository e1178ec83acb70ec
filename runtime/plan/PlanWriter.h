//===- PlanWriter.h - writes a plan's bytes, instruction by instruction ---------------===//
//
// The only writer of plan files. It takes the instructions one at a time, so that a compiler never holds a plan in
// memory next to its bytes. The bytes depend only on the content.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_PLANWRITER_H
#define SLUICE_RUNTIME_PLAN_PLANWRITER_H

#include "runtime/base/Sha256.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

/// The bytes of a plan file; owns them.
class PlanBytes {
public:
  PlanBytes() = default;
  explicit PlanBytes(flatbuffers::DetachedBuffer buffer) : buffer(std::move(buffer)) {}

  std::span<const std::uint8_t> span() const { return {buffer.data(), buffer.size()}; }
  Digest digest() const;

private:
  flatbuffers::DetachedBuffer buffer;
};

class PlanWriter {
public:
  /// Reserves address space for a file of `bytes`; a larger one is moved while it grows.
  explicit PlanWriter(std::size_t bytes = 1 << 20) : builder(bytes) {}

  /// In issue order. endSection() and endEntry() close the instructions added since the last call.
  void addInstruction(const plan::InstructionT &instruction);
  /// Takes the name and the repeat count of `section`.
  void endSection(const plan::SectionT &section);
  /// Takes everything of `entry` but its sections.
  void endEntry(const plan::EntryT &entry);

  /// Writes everything of `plan` but its entry points and its digest, then the digest of all bytes. Called once, last.
  PlanBytes finish(const plan::PlanT &plan);

private:
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<plan::Instruction>> instructions;
  std::vector<flatbuffers::Offset<plan::Section>> sections;
  std::vector<flatbuffers::Offset<plan::Entry>> entries;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_PLANWRITER_H
