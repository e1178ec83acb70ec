//===- Witness.cpp - the text of a counterexample ----------------------------------===//

#include "runtime/plan/check/Witness.h"

namespace sluice::check {

std::string Witness::describe(Instance id) const {
  if (id == before)
    return "what was there at the start";
  std::string text = place(plan, e, order[id].issue);
  text += ", repetition " + std::to_string(order[id].repetition);
  return order[id].step == order.currentStep() ? text : text + " of the step before";
}

Verdict Witness::refuse(int property, const std::string &what, std::vector<std::string> notes) const {
  return check::refuse(property, place(plan, e, order[order.current()].issue) + " " + what, std::move(notes));
}

Verdict Witness::unordered(int property, const std::string &what, Instance first, std::uint32_t buffer,
                           std::uint64_t begin, std::uint64_t end) const {
  const Issued &other = order[first];
  return refuse(property,
                what + " without waiting for " + place(plan, e, other.issue) +
                    (other.step == order.currentStep() ? "" : " of the step before"),
                {"first: " + describe(first), "second: " + describe(order.current()),
                 byteRange(plan.buffers[buffer]->space, begin, end), missingOrder(other.stream, "the first")});
}

std::string Witness::missingOrder(std::size_t other, const char *after) const {
  return "missing order: stream '" + plan.streams[order[order.current()].stream]->name +
         "' waits for no record made on stream '" + plan.streams[other]->name + "' after " + after;
}

std::vector<std::string> Witness::history(Instance gatheredBy, Instance releasedBy) const {
  std::vector<std::string> notes;
  if (gatheredBy != before)
    notes.push_back("gathered by " + describe(gatheredBy));
  if (releasedBy != before)
    notes.push_back("released by " + describe(releasedBy));
  return notes;
}

std::vector<std::string> Witness::recordsOf(std::uint32_t event) const {
  for (const Action &action : actions.actions)
    if (action.kind == plan::Operation::Record && action.event == event)
      return {"recorded by " + place(plan, e, action.issue)};
  return {"nothing records it"};
}

} // namespace sluice::check
