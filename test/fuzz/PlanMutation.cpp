//===- PlanMutation.cpp - changes values of a plan in memory ----------------------------===//
#include "PlanMutation.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::fuzz {
namespace {

using Random = std::minstd_rand;

// All fields of each table, in the order of plan.fbs.
auto fieldsOf(plan::AxisT &t) { return std::tie(t.name, t.size, t.role); }
auto fieldsOf(plan::ArenaT &t) {
  return std::tie(t.space, t.bytes, t.persistent, t.peak_live, t.workspace, t.alignment, t.pinned);
}
auto fieldsOf(plan::BufferT &t) {
  return std::tie(t.name, t.space, t.class_, t.dtype, t.shape, t.bytes, t.offset, t.entry, t.begin, t.end, t.unit,
                  t.reserved_from);
}
auto fieldsOf(plan::ValidT &t) { return std::tie(t.dim, t.axes, t.chunk, t.total); }
auto fieldsOf(plan::ViewT &t) {
  return std::tie(t.buffer, t.dtype, t.offset, t.repetition_stride, t.shape, t.strides, t.valid);
}
auto fieldsOf(plan::AttributeT &t) { return std::tie(t.name, t.kind, t.integer, t.number, t.list); }
auto fieldsOf(plan::LaunchT &t) {
  return std::tie(t.kernel, t.attributes, t.inputs, t.outputs, t.input_values, t.output_values, t.reduction,
                  t.workspace, t.flops, t.bytes, t.sm_margin);
}
auto fieldsOf(plan::SegmentT &t) { return std::tie(t.source, t.destination); }
auto fieldsOf(plan::CollectiveT &t) {
  return std::tie(t.kind, t.axes, t.op, t.scale, t.dtype, t.reduction, t.segments);
}
auto fieldsOf(plan::CopyT &t) { return std::tie(t.source, t.destination); }
auto fieldsOf(plan::FillT &t) { return std::tie(t.destination, t.value); }
auto fieldsOf(plan::RecordT &t) { return std::tie(t.event); }
auto fieldsOf(plan::WaitT &t) { return std::tie(t.event, t.carried); }
auto fieldsOf(plan::ReleaseT &t) { return std::tie(t.buffers); }
auto fieldsOf(plan::InstructionT &t) {
  return std::tie(t.operation, t.stream, t.when, t.repetitions, t.phase, t.invocation, t.unit, t.recompute, t.location);
}
auto fieldsOf(plan::SectionT &t) { return std::tie(t.name, t.repeat, t.instructions, t.kind); }
auto fieldsOf(plan::PortT &t) { return std::tie(t.name, t.view, t.per_repetition, t.limit, t.role, t.values); }
auto fieldsOf(plan::EntryT &t) { return std::tie(t.name, t.inputs, t.outputs, t.sections, t.events); }
auto fieldsOf(plan::StreamT &t) { return std::tie(t.name, t.processor, t.workspace, t.priority, t.kind); }
auto fieldsOf(plan::InitializerT &t) { return std::tie(t.kind, t.a, t.b, t.zero_row); }
auto fieldsOf(plan::StateT &t) { return std::tie(t.name, t.buffer); }
auto fieldsOf(plan::TensorSplitT &t) { return std::tie(t.dim, t.axes, t.segments, t.extent); }
auto fieldsOf(plan::ParameterT &t) {
  return std::tie(t.name, t.aliases, t.dtype, t.shape, t.unit, t.dim, t.axes, t.chunk, t.buffer, t.initializer, t.key,
                  t.states, t.frozen, t.split, t.requires_grad);
}
auto fieldsOf(plan::UnitT &t) {
  return std::tie(t.name, t.parameters, t.reshard_after_forward, t.gradient_divisor, t.root);
}
auto fieldsOf(plan::VariableT &t) { return std::tie(t.name, t.buffer, t.initializer, t.averaged); }
auto fieldsOf(plan::ProgramTypeT &t) { return std::tie(t.dtype, t.shape); }
auto fieldsOf(plan::ProgramKindT &t) { return std::tie(t.op, t.attributes, t.phase); }
auto fieldsOf(plan::ProgramFunctionT &t) { return std::tie(t.name, t.ops_end, t.inputs_end, t.outputs_end); }
auto fieldsOf(plan::ProgramT &t) {
  return std::tie(t.types, t.kinds, t.names, t.values, t.inputs, t.input_names, t.outputs, t.op_kinds, t.op_blocks,
                  t.op_symbols, t.operands, t.operand_ends, t.results, t.result_ends, t.functions, t.output_names,
                  t.input_roles);
}
auto fieldsOf(plan::LearningRateT &t) { return std::tie(t.shape, t.peak, t.minimum, t.warmup, t.total, t.decay); }
auto fieldsOf(plan::TargetT &t) { return std::tie(t.device, t.threads, t.isa, t.arch); }
auto fieldsOf(plan::PlanT &t) {
  return std::tie(t.major, t.minor, t.digest, t.name, t.config, t.catalogue, t.target, t.mesh, t.arenas, t.streams,
                  t.buffers, t.units, t.parameters, t.variables, t.program, t.entries, t.kernels, t.locations, t.recipe,
                  t.learning_rate, t.data_axes, t.register_arena, t.microbatches, t.batch, t.sequence, t.max_ctas,
                  t.copy_engines, t.model_digest);
}

template <typename T> constexpr bool isTable = std::is_base_of_v<flatbuffers::NativeTable, T>;
template <typename T> constexpr bool isNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <typename T> T newNumber(T old, Random &random) {
  if constexpr (std::is_same_v<T, bool>) {
    return !old;
  } else if constexpr (std::is_enum_v<T>) {
    // One value more than the enum has.
    return static_cast<T>(random() % (static_cast<unsigned>(T::MAX) + 2));
  } else if constexpr (std::is_floating_point_v<T>) {
    const T values[] = {0,
                        1,
                        -1,
                        -old,
                        old * 2,
                        old / 2,
                        old + 1,
                        std::nextafter(old, std::numeric_limits<T>::max()),
                        std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN(),
                        std::numeric_limits<T>::denorm_min(),
                        std::numeric_limits<T>::max()};
    return values[random() % std::size(values)];
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    const auto before = static_cast<Unsigned>(old);
    const Unsigned values[] = {0,
                               1,
                               static_cast<Unsigned>(before + 1),
                               static_cast<Unsigned>(before - 1),
                               static_cast<Unsigned>(before * 2),
                               static_cast<Unsigned>(before / 2),
                               static_cast<Unsigned>(before + 64),
                               static_cast<Unsigned>(random() % 16),
                               static_cast<Unsigned>(std::uint64_t(1) << random() % 64),
                               std::numeric_limits<Unsigned>::max(),
                               static_cast<Unsigned>(std::numeric_limits<T>::min()),
                               static_cast<Unsigned>(std::numeric_limits<T>::max())};
    return static_cast<T>(values[random() % std::size(values)]);
  }
}

/// A copy of a list's element.
template <typename T> T copyOf(const T &element) { return element; }
template <typename T> std::unique_ptr<T> copyOf(const std::unique_ptr<T> &element) {
  return std::make_unique<T>(*element);
}

/// An element for an empty list.
template <typename T> T newElement(Random &random) {
  if constexpr (isNumber<T>)
    return T(random() % 4);
  else if constexpr (std::is_same_v<T, std::string>)
    return "new";
  else
    return std::make_unique<typename T::element_type>();
}

/// Removes, repeats, empties or exchanges elements.
template <typename T> void changeList(std::vector<T> &list, Random &random) {
  if (list.empty()) {
    list.push_back(newElement<T>(random));
    return;
  }
  const std::size_t i = random() % list.size(), j = random() % list.size();
  switch (random() % 5) {
  case 0:
    list.erase(list.begin() + std::ptrdiff_t(i));
    break;
  case 1:
    list.insert(list.begin() + std::ptrdiff_t(i), copyOf(list[j]));
    break;
  case 2:
    list.resize(i);
    break;
  case 3:
    list.clear();
    break;
  default:
    std::swap(list[i], list[j]);
  }
}

/// Collects the values of a plan.
class Slots {
public:
  std::vector<FieldSlot> list;

  template <typename T> void visitTable(T &table) {
    using Traits = typename T::TableType::Traits;
    // The schema counts a union twice: as its type and as its value.
    constexpr std::size_t unions = std::is_same_v<T, plan::InstructionT>;
    constexpr std::size_t fields = std::tuple_size_v<decltype(fieldsOf(table))>;
    static_assert(fields + unions == Traits::fields_number, "a field of the table is missing in fieldsOf()");
    const auto all = fieldsOf(table);
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (visitField(std::get<i>(all), Traits::name, Traits::field_names[i + unions]), ...);
    }(std::make_index_sequence<fields>());
  }

private:
  template <typename T> void visitField(T &field, const char *table, const char *name) {
    const auto [outerTable, outerField] = std::tuple(tableName, fieldName);
    std::tie(tableName, fieldName) = std::tuple(table, name);
    visit(field);
    std::tie(tableName, fieldName) = std::tuple(outerTable, outerField);
  }

  template <typename T, typename Change> void add(T &value, Change) {
    list.push_back({tableName, fieldName, &value, [](void *at, const void *from, Random &random) {
                      Change()(*static_cast<T *>(at), *static_cast<const T *>(from), random);
                    }});
  }

  template <typename T> std::enable_if_t<isNumber<T>> visit(T &number) {
    add(number, [](T &to, const T &from, Random &random) { to = random() % 3 == 0 ? from : newNumber(to, random); });
  }
  void visit(std::string &text) {
    add(text, [](std::string &to, const std::string &from, Random &random) {
      switch (to.empty() ? 0 : random() % 4) {
      case 0:
      case 1:
        to = std::string(from);
        break;
      case 2:
        to[random() % to.size()] = char(random());
        break;
      default:
        to.clear();
      }
    });
  }
  template <typename T> void visit(std::unique_ptr<T> &table) {
    add(table, [](std::unique_ptr<T> &to, const std::unique_ptr<T> &from, Random &random) {
      if (!to && !from)
        to = std::make_unique<T>();
      else
        to = from && random() % 4 ? copyOf(from) : nullptr;
    });
    if (table)
      visitTable(*table);
  }
  template <typename T> void visit(std::vector<T> &list) {
    add(list, [](std::vector<T> &to, const std::vector<T> &, Random &random) { changeList(to, random); });
    for (T &element : list) {
      if constexpr (isNumber<T> || std::is_same_v<T, std::string>) {
        visit(element);
      } else {
        add(*element, [](auto &to, const auto &from, Random &) { to = std::remove_cvref_t<decltype(to)>(from); });
        visitTable(*element);
      }
    }
  }
  void visit(plan::OperationUnion &operation) {
    add(operation, [](plan::OperationUnion &to, const plan::OperationUnion &from, Random &random) {
      to = random() % 8 ? plan::OperationUnion(from) : plan::OperationUnion();
    });
    const auto visitIf = [&](auto *table) {
      if (table)
        visitTable(*table);
    };
    visitIf(operation.AsLaunch());
    visitIf(operation.AsCollective());
    visitIf(operation.AsCopy());
    visitIf(operation.AsFill());
    visitIf(operation.AsRecord());
    visitIf(operation.AsWait());
    visitIf(operation.AsRelease());
  }

  // Of the visited value.
  const char *tableName = "", *fieldName = "";
};

} // namespace

std::vector<FieldSlot> fieldSlots(plan::PlanT &plan) {
  Slots slots;
  slots.visitTable(plan);
  return std::move(slots.list);
}

void mutatePlan(plan::PlanT &plan, Random &random) {
  for (std::size_t changes = 1 + random() % 4; changes != 0; --changes) {
    // A change may remove values, so they are collected for each.
    const std::vector<FieldSlot> slots = fieldSlots(plan);
    const FieldSlot &to = slots[random() % slots.size()];
    const void *from = to.at;
    for (int tries = 0; tries < 32; ++tries)
      if (const FieldSlot &other = slots[random() % slots.size()]; other.change == to.change)
        from = other.at;
    to.change(to.at, from, random);
  }
}

} // namespace sluice::fuzz
