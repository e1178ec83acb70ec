//===- Variables.h - state that is no parameter, in weights files ---------------===//
//
// Batch norm's running statistics and their like are each rank's own: saved as `rank0.NAME`, `rank1.NAME`, ..., and
// read from there, or, where a checkpoint of one process holds them once, from NAME by every rank.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_VARIABLES_H
#define SLUICE_RUNTIME_TRAIN_VARIABLES_H

#include "runtime/train/Checkpoint.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// True where a tensor of a weights file is a variable's, of any rank.
bool isVariable(const plan::PlanT &plan, std::string_view name);

/// Checks that the file has each variable for every rank, with its shape and dtype.
Status checkVariables(const Ranks &ranks, const Checkpoint &file);

/// Writes each variable of every rank. The file was checked.
Status loadVariables(Ranks &ranks, const Checkpoint &file);

/// Adds the variables of all ranks to the tensors of a weights file.
void addVariables(const Ranks &ranks, std::vector<SafetensorsTensor> &tensors);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_VARIABLES_H
