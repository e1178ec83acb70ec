//===- Payload.cpp - the memory that unpacking a plan would allocate ---------------===//
//
// One overload of visit() per table that contains vectors, strings or tables; all others have a fixed size.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Payload.h"

namespace sluice {
namespace {

class Payload {
public:
  explicit Payload(std::uint64_t limit) : limit(limit) {}

  template <typename... Fields> bool all(const Fields *...fields) { return (field(fields) && ...); }

private:
  bool take(std::uint64_t bytes) {
    taken += bytes;
    return taken <= limit;
  }

  bool field(const flatbuffers::String *text) { return !text || take(text->size() + 1); }
  template <typename T> bool field(const flatbuffers::Vector<T> *numbers) {
    // The verifier aligns a vector's length, not its elements.
    return !numbers || (reinterpret_cast<std::uintptr_t>(numbers->Data()) % sizeof(T) == 0 &&
                        take(std::uint64_t(numbers->size()) * sizeof(T)));
  }
  template <typename T> bool field(const flatbuffers::Vector<flatbuffers::Offset<T>> *items) {
    if (!items)
      return true;
    if (!take(std::uint64_t(items->size()) * sizeof(flatbuffers::uoffset_t)))
      return false;
    for (const T *item : *items)
      if (!field(item))
        return false;
    return true;
  }
  template <typename T> bool field(const T *table) { return !table || visit(*table); }

  template <typename T> bool visit(const T &) { return true; }
  bool visit(const plan::Axis &t) { return all(t.name()); }
  bool visit(const plan::Buffer &t) { return all(t.name(), t.shape()); }
  bool visit(const plan::Valid &t) { return all(t.axes()); }
  bool visit(const plan::View &t) { return all(t.shape(), t.strides(), t.valid()); }
  bool visit(const plan::Attribute &t) { return all(t.name(), t.list()); }
  bool visit(const plan::Launch &t) {
    return all(t.attributes(), t.inputs(), t.outputs(), t.input_values(), t.output_values());
  }
  bool visit(const plan::Segment &t) { return all(t.source(), t.destination()); }
  bool visit(const plan::Collective &t) { return all(t.axes(), t.segments()); }
  bool visit(const plan::Copy &t) { return all(t.source(), t.destination()); }
  bool visit(const plan::Fill &t) { return all(t.destination()); }
  bool visit(const plan::Release &t) { return all(t.buffers()); }
  bool visit(const plan::Instruction &t) {
    return all(t.repetitions(), t.operation_as_Launch(), t.operation_as_Collective(), t.operation_as_Copy(),
               t.operation_as_Fill(), t.operation_as_Release());
  }
  bool visit(const plan::Section &t) { return all(t.name(), t.instructions()); }
  bool visit(const plan::Port &t) { return all(t.name(), t.view()); }
  bool visit(const plan::Entry &t) { return all(t.name(), t.inputs(), t.outputs(), t.sections()); }
  bool visit(const plan::Stream &t) { return all(t.name()); }
  bool visit(const plan::State &t) { return all(t.name()); }
  bool visit(const plan::TensorSplit &t) { return all(t.axes()); }
  bool visit(const plan::Parameter &t) {
    return all(t.name(), t.aliases(), t.shape(), t.axes(), t.states(), t.split());
  }
  bool visit(const plan::Unit &t) { return all(t.name(), t.parameters()); }
  bool visit(const plan::Variable &t) { return all(t.name()); }
  bool visit(const plan::ProgramType &t) { return all(t.shape()); }
  bool visit(const plan::ProgramKind &t) { return all(t.op(), t.attributes()); }
  bool visit(const plan::Program &t) {
    return all(t.types(), t.kinds(), t.names(), t.values(), t.inputs(), t.input_names(), t.outputs(), t.op_kinds(),
               t.op_blocks(), t.op_symbols(), t.operands(), t.operand_ends(), t.results(), t.result_ends());
  }
  bool visit(const plan::Target &t) { return all(t.device(), t.isa(), t.arch()); }

  std::uint64_t limit;
  std::uint64_t taken = 0;
};

} // namespace

bool payloadFits(const plan::Plan &t, std::uint64_t limit) {
  return Payload(limit).all(t.digest(), t.name(), t.config(), t.target(), t.mesh(), t.arenas(), t.streams(),
                            t.buffers(), t.units(), t.parameters(), t.variables(), t.entries(), t.kernels(),
                            t.locations(), t.program(), t.recipe(), t.data_axes());
}

} // namespace sluice
