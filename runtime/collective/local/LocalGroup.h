//===- LocalGroup.h - the rendezvous of the ranks of one group ---------------------===//
//
// A call is a rendezvous in three steps. Each member publishes its call and waits (asleep) for the others; the last one
// compares the calls; then each member does its part of the work on the memory of all. No member leaves before all have
// finished, because the others read its memory. Different calls end the group: each member gets an error that names
// both. A member that leaves while others wait also ends the group.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_LOCAL_LOCALGROUP_H
#define SLUICE_RUNTIME_COLLECTIVE_LOCAL_LOCALGROUP_H

#include "runtime/collective/Call.h"

#include <condition_variable>
#include <mutex>

namespace sluice::local {

class LocalGroup {
public:
  /// `members` are world ranks, for messages.
  LocalGroup(std::vector<int> members, std::string channel);

  int size() const { return static_cast<int>(members.size()); }
  /// Runs `call` as member number `member`; returns when all members are done, or with the group's failure.
  Status run(int member, const Call &call);
  /// All ranks get the first reason.
  void abort(const Status &reason);
  /// The member makes no further call.
  void leave(int member);

private:
  void abandonIfLeft();
  void work(int member) const;

  const std::vector<int> members;
  const std::string channel;

  std::mutex mutex;
  std::condition_variable met;
  std::condition_variable finished;
  Status failure;
  /// True where the failure is that the calls of the last meeting differ.
  bool mismatch = false;
  /// The calls of the members in the present rendezvous; null: the member has not arrived.
  std::vector<const Call *> calls;
  int arrivedCount = 0;
  int finishedCount = 0;
  std::uint64_t meetings = 0;
  std::uint64_t departures = 0;
  /// The first member that has left; -1: none.
  int left = -1;
};

} // namespace sluice::local

#endif // SLUICE_RUNTIME_COLLECTIVE_LOCAL_LOCALGROUP_H
