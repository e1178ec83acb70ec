//===- Doctor.h - what this build and machine can run -------------------------------------===//
#ifndef SLUICE_TOOLS_TRAIN_DOCTOR_H
#define SLUICE_TOOLS_TRAIN_DOCTOR_H

#include <string>

namespace sluice {

/// The report of --doctor: versions, machine, limits, libraries, and which plans and launchers work here, each with the
/// reason if it does not.
std::string doctorReport();

} // namespace sluice

#endif // SLUICE_TOOLS_TRAIN_DOCTOR_H
