#include "supervisor/workers/worker_orders.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>

#include "shared/base/log.hpp"
#include "supervisor/workers/end/end_overdue_jobs.hpp"

namespace brood {

WorkerOrders::WorkerOrders(EventLoop& loop, WorkerShards& shards, WorkerSlots& slots, const Generations& generations)
    : loop_(loop), shards_(shards), slots_(slots), generations_(generations) {
  // Continues the previous program's counter: its workers have seen its requests.
  if (!slots_.adopted()) return;
  for (int slot = 0; slot < slots_.board.slots(); ++slot)
    dump_requests_ = std::max(dump_requests_, slots_.board.slot(slot).dump.request.load());
}

WorkerOrders::~WorkerOrders() = default;

// ---- The pipes

WorkerOrders::Lines& WorkerOrders::lines(int slot) {
  const auto index = static_cast<std::size_t>(slot);
  if (index >= lines_.size()) lines_.resize(index + 1);
  return lines_[index];
}

void WorkerOrders::connect(int slot, UniqueFd control, UniqueFd output, std::string token) {
  Lines& with = lines(slot);
  with.control_watch.reset();
  with.control = std::move(control);
  with.control_watch =
      std::make_unique<FdWatch>(loop_, with.control.get(), FdWatch::readable, [this, slot](int) { heard(slot); });
  const JobOutput::Source source{.slot = slot, .worker = slots_.table[slot].pid, .record = &slots_.board.slot(slot)};
  with.output = std::make_unique<JobOutput>(loop_, std::move(output), std::move(token), source);
}

void WorkerOrders::disconnect(int slot) {
  Lines& with = lines(slot);
  if (with.output) with.output->drain_and_close();
  with = {};
}

WorkerOrders::Descriptors WorkerOrders::descriptors_of(int slot) const {
  const Lines& with = lines_.at(static_cast<std::size_t>(slot));
  return {with.control.get(), with.output ? with.output->descriptor() : -1, with.output ? with.output->token() : ""};
}

// A worker may write anything into its pipe: a turn reads a bounded number of bytes, and a byte that is no ControlByte
// ends the worker.
void WorkerOrders::heard(int slot) {
  ProcessTable::Slot& taken = slots_.table[slot];
  SlotRecord& record = slots_.board.slot(slot);
  char bytes[64];
  const ssize_t got = recv(lines(slot).control.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
    // Either the worker is gone and will be reaped, or its job has closed the pipe.  A worker with a closed pipe
    // receives no orders any more, and must run no other job.
    lines(slot).control_watch.reset();
    taken.flags = slot_quiet | slot_stop;
    record.flags.fetch_or(taken.flags);
    return;
  }
  for (ssize_t i = 0; i < got; ++i) {
    switch (static_cast<ControlByte>(bytes[i])) {
      case ControlByte::ready:
        slots_.table.note_ready(slot, steady_now());
        slots_.note_readiness();
        break;
      case ControlByte::left_behind:
      case ControlByte::need_incarnation:
        if (!may_go_on_anew(slot, static_cast<ControlByte>(bytes[i]))) return end_for_broken_protocol(slot);
        shards_.place_again(slot);
        record.wanted_shard.store(taken.wanted_shard);
        record.shard.store(taken.shard);
        record.incarnation.store(slots_.table.assign_incarnation(slot));
        tell(slot, 0);
        break;
      case ControlByte::batching:
        news_.batching.insert(taken.shard);
        break;
      case ControlByte::redis_moved:
        shards_.redis_moved(slot);
        break;
      case ControlByte::left_wait:
        news_.left_wait = true;
        break;
      default:
        return end_for_broken_protocol(slot);
    }
  }
}

// A worker asks for an incarnation only between jobs.  A byte that comes during a job was written by the job.
bool WorkerOrders::may_go_on_anew(int slot, ControlByte byte) {
  if (slots_.board.slot(slot).current.load() >= 0) return false;
  return byte != ControlByte::left_behind || shards_.left_behind(slot);
}

void WorkerOrders::end_for_broken_protocol(int slot) {
  ProcessTable::Slot& taken = slots_.table[slot];
  log::error("worker_broke_protocol", {{"slot", slot}, {"worker_pid", taken.pid}});
  lines(slot).control_watch.reset();
  if (taken.ended_by == EndedBy::itself) taken.ended_by = EndedBy::protocol;
  kill_worker(taken.pid);
}

// ---- Orders

// A full pipe has woken the worker already.  The byte is written before the worker's wait in Redis is ended: see
// WorkerUnblocker.
void WorkerOrders::tell(int slot, std::uint32_t flags) {
  slots_.board.slot(slot).flags.fetch_or(flags);
  send_byte(slot);
  shards_.unblock(slot);
}

void WorkerOrders::send_byte(int slot) {
  const char byte = static_cast<char>(ControlByte::look_at_flags);
  ::send(lines(slot).control.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::uint32_t WorkerOrders::flags_of(int slot) const {
  const ProcessTable::Slot& taken = slots_.table[slot];
  return flags_ | taken.flags | (taken.waits_its_turn || taken.held_back ? slot_quiet : 0U);
}

void WorkerOrders::tell_all(std::uint32_t flags) {
  flags_ = flags;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    if (!slots_.table.is_living(slot)) continue;
    slots_.board.slot(slot).flags.store(flags_of(slot));  // keeps a worker finishing, or waiting for its turn
    wake(slot);
  }
}

void WorkerOrders::finish(int slot) {
  ProcessTable::Slot& taken = slots_.table[slot];
  taken.flags |= slot_quiet | slot_stop;
  tell(slot, taken.flags);
  log::debug("worker_told_to_finish", {{"slot", slot}, {"worker_pid", taken.pid}});
}

void WorkerOrders::take_back_finish(int slot) {
  slots_.table[slot].flags = 0;
  slots_.board.slot(slot).flags.store(flags_of(slot));
  wake(slot);
}

void WorkerOrders::let_wait_its_turn(int slot, bool waits) {
  ProcessTable::Slot& taken = slots_.table[slot];
  taken.waits_its_turn = waits;
  taken.never_fetched &= waits;
  slots_.board.slot(slot).flags.store(flags_of(slot));
  wake(slot);
}

bool WorkerOrders::is_able_to_fetch(int slot) const {
  const ProcessTable::Slot& taken = slots_.table[slot];
  return taken.pid != 0 && taken.ready_at && taken.flags == 0 && !taken.waits_its_turn;
}

// Lets the workers in the lowest slots go on, so that each look picks the same ones.
int WorkerOrders::hold_back_all_but(const std::optional<int>& allowed) {
  std::set<std::string> capsules_that_fetch;
  std::set<int> go_on;
  std::vector<int> others;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    if (!is_able_to_fetch(slot)) continue;
    const ProcessTable::Slot& taken = slots_.table[slot];
    if (capsules_that_fetch.insert(generations_.capsule(taken.generation, taken.capsule).name).second)
      go_on.insert(slot);
    else
      others.push_back(slot);
  }
  for (const int slot : others) {
    if (!allowed || static_cast<int>(go_on.size()) < *allowed) go_on.insert(slot);
  }
  int held_back = 0;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    ProcessTable::Slot& taken = slots_.table[slot];
    const bool holds = is_able_to_fetch(slot) && !go_on.contains(slot);
    held_back += holds;
    if (std::exchange(taken.held_back, holds) == holds || taken.pid == 0) continue;
    slots_.board.slot(slot).flags.store(flags_of(slot));
    wake(slot);
  }
  return held_back;
}

// Raises the count first: a worker that looks later sees the new count, and one that looked earlier waits and is woken.
// Skips no worker: one whose ready byte we have not read may wait already, and a job may have overwritten a record.
void WorkerOrders::note_queues_changed(bool to_all) {
  slots_.board.queue_changes().fetch_add(1);
  for (int slot = 0; to_all && slot < slots_.table.used_slots(); ++slot) {
    if (slots_.table.is_living(slot)) wake(slot);
  }
}

void WorkerOrders::note_queues_changed(bool to_all, int shard) {
  note_queues_changed(false);
  for (int slot = 0; to_all && slot < slots_.table.used_slots(); ++slot) {
    if (slots_.table.is_living(slot) && slots_.table[slot].shard == shard) wake(slot);
  }
}

std::vector<DumpRequest> WorkerOrders::ask_for_stacks(std::optional<int> only) {
  ++dump_requests_;
  std::vector<DumpRequest> asked;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = slots_.table[slot];
    if (taken.pid == 0 || !taken.ready_at || slot != only.value_or(slot)) continue;
    SlotRecord& record = slots_.board.slot(slot);
    clear_stack(record.dump);
    record.dump.request.store(dump_requests_);
    asked.push_back({.slot = slot, .pid = taken.pid, .request = dump_requests_, .record = &record});
    kill(taken.pid, SIGTTIN);
  }
  return asked;
}

// A job may have overwritten flags, even those of its neighbours.  A worker that wrongly sees a quiet would idle
// forever, and one that has lost a stop would have to be killed.
void WorkerOrders::mend_flags() {
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    slots_.board.slot(slot).wanted_shard.store(slots_.table[slot].wanted_shard);
    std::atomic<std::uint32_t>& flags = slots_.board.slot(slot).flags;
    const std::uint32_t seen = flags.load(), meant = flags_of(slot);
    if (slots_.table[slot].pid == 0 || seen == meant) continue;
    log::warn("slot_flags_mended", {{"slot", slot}, {"worker_pid", slots_.table[slot].pid}});
    flags.store(meant);
    tell(slot, 0);
  }
}

// ---- The workers

int WorkerOrders::finishing() const {
  int finishing = 0;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot)
    finishing += slots_.is_busy(slot) && (slots_.table[slot].flags & slot_stop) != 0;
  return finishing;
}

std::vector<OccupiedSlot> WorkerOrders::occupied_slots() {
  std::vector<OccupiedSlot> occupied;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = slots_.table[slot];
    if (taken.pid != 0 && taken.ready_at)
      occupied.push_back({slot, taken.capsule, &slots_.board.slot(slot), taken.shard});
  }
  return occupied;
}

std::vector<OccupiedSlot> WorkerOrders::fetching_slots() {
  std::vector<OccupiedSlot> fetching;
  for (int slot = 0; slot < slots_.table.used_slots(); ++slot) {
    const ProcessTable::Slot& taken = slots_.table[slot];
    if (taken.pid == 0 || !taken.ready_at || taken.flags != 0 || taken.waits_its_turn || taken.held_back) continue;
    fetching.push_back(
        {slot, generations_.index_of(taken.generation, taken.capsule), &slots_.board.slot(slot), taken.shard});
  }
  return fetching;
}

bool WorkerOrders::somebody_is_idle() const { return slots_.busy() < slots_.table.ready(); }

}  // namespace brood
