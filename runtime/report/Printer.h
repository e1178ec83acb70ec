//===- Printer.h - a plan as text ---------------------------------------------------===//
//
// One line per instruction, in issue order. The text is for people and for golden tests: the same plan gives the same
// text, and everything in the plan is printed except the compact program.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_PRINTER_H
#define SLUICE_RUNTIME_REPORT_PRINTER_H

#include "runtime/plan/Plan.h"

#include <string>

namespace sluice {

/// Prints all of the plan. Accepts a plan for which P1 is proved.
std::string printPlan(const plan::PlanT &plan);

/// One instruction without its index: "launch matmul(%x:f32[4x64], ...) -> %y:f32[4x64]".
std::string printOperation(const plan::PlanT &plan, const plan::InstructionT &instruction);

/// "%h.0.weight[64]:f32[16x4]", offset and strides only where they are not the plain ones.
std::string printView(const plan::PlanT &plan, const plan::ViewT &view);

/// "(learning_rate) %lr:f32[]": after the port's name, with its role where the name implies another one.
std::string printPort(const plan::PlanT &plan, const plan::PortT &port);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_PRINTER_H
