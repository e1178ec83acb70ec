//===- Variables.h - state that is no parameter, in weights files ---------------===//
//
// State such as batch norm's running statistics differs between ranks: it is saved as `rank0.NAME`, `rank1.NAME`, ...,
// and read from there, or from NAME by every rank if a checkpoint of one process has it once.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TRAIN_VARIABLES_H
#define SLUICE_RUNTIME_TRAIN_VARIABLES_H

#include "runtime/train/Checkpoint.h"
#include "runtime/train/Ranks.h"

namespace sluice {

/// True if a tensor of a weights file belongs to a variable, of any rank.
bool isVariable(const plan::PlanT &plan, std::string_view name);

/// Checks that the file has each variable for every rank, with its shape and dtype.
Status checkVariables(const Ranks &ranks, const Checkpoint &file);

/// Writes each variable of every rank. The file was checked.
Status loadVariables(Ranks &ranks, const Checkpoint &file);

/// Adds the variables of all ranks to the tensors of a weights file.
void addVariables(const Ranks &ranks, std::vector<SafetensorsTensor> &tensors);

} // namespace sluice

#endif // SLUICE_RUNTIME_TRAIN_VARIABLES_H
