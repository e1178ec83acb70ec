//===- Payload.cpp - the memory that unpacking a plan would allocate ---------------===//
//
// The generated code lists the fields of each table, so that no table is forgotten.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Payload.h"

#include <utility>

namespace sluice {
namespace {

class Payload {
public:
  explicit Payload(std::uint64_t limit) : limit(limit) {}

  template <typename T> bool visit(const T &table) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return (field(table.template get_field<i>()) && ...);
    }(std::make_index_sequence<T::Traits::fields_number>());
  }

private:
  bool take(std::uint64_t bytes) {
    taken += bytes;
    return taken <= limit;
  }

  /// Numbers and enums are in the table.
  template <typename T> bool field(T) { return true; }
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
  /// A union's pointer does not have its type.
  bool field(const void *) { return true; }
  bool field(const plan::Instruction *instruction) {
    return visit(*instruction) && field(instruction->operation_as_Launch()) &&
           field(instruction->operation_as_Collective()) && field(instruction->operation_as_Copy()) &&
           field(instruction->operation_as_Fill()) && field(instruction->operation_as_Release());
  }

  std::uint64_t limit;
  std::uint64_t taken = 0;
};

} // namespace

bool payloadFits(const plan::Plan &plan, std::uint64_t limit) { return Payload(limit).visit(plan); }

} // namespace sluice
