//===- ExecutorSettings.h - executor options from the options of a run ---------------===//
#ifndef SLUICE_RUNTIME_TRAIN_EXECUTORSETTINGS_H
#define SLUICE_RUNTIME_TRAIN_EXECUTORSETTINGS_H

#include "runtime/executor/Executor.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// The options of an executor of the plan. Opens the file of measured algorithms. `world`: that of the run's processes;
/// null for one process. `pages` receives the measured pages.
Result<ExecutorOptions> executorOptions(const plan::PlanT &plan, const RanksOptions &options, World *world,
                                        std::shared_ptr<PageReport> pages);

/// After the executors are created: exchanges and writes the measured algorithms, and passes notes on unused files and
/// on cuDNN to `options.note`.
Status finishSettings(const ExecutorOptions &executor, const RanksOptions &options);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_EXECUTORSETTINGS_H
