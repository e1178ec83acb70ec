//===- EntrySubset.h - a plan with some of its entry points ------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_ENTRYSUBSET_H
#define SLUICE_RUNTIME_TRAIN_ENTRYSUBSET_H

#include "runtime/plan/Plan.h"

namespace sluice {

/// Removes all entry points but `names` from a checked plan, for a run that needs no others. Arenas become as small as
/// the persistent buffers and the buffers of the remaining entry points allow without moving one, and the workspace of
/// a stream as small as its remaining launches allow. Buffers of removed entry points stay in the list, with no bytes.
/// The digest stays that of the plan in the file.
void keepEntries(plan::PlanT &plan, std::span<const std::string> names);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_ENTRYSUBSET_H
