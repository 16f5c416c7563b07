#include "supervisor/workers/worker_spawner.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/base/process_title.hpp"
#include "shared/base/random.hpp"
#include "supervisor/process/fork_child.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int oom_score_of_workers = 300;

std::string title_of(int slot, const CapsuleSettings& capsule) {
  return "brood: worker " + std::to_string(slot) + " " + capsule.name;
}

// Asks the kernel, as a template may claim anything.  True also for a child that has ended.
bool is_our_child(pid_t pid) {
  siginfo_t info{};
  return pid > 0 && waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

void say_who_runs(SlotRecord& record, pid_t pid) {
  record.start_time.store(process_start_time(pid));
  record.pid.store(pid);
}

WorkerSpawner::WorkerSpawner(EventLoop& loop, Children& children, WorkerSlots& slots, const Generations& generations,
                             WorkerOrders& orders, WorkerShards& shards, const Config& config)
    : slots_(slots),
      generations_(generations),
      orders_(orders),
      shards_(shards),
      turns_(slots, generations, orders),
      memory_cgroup_(MemoryCgroup::create(config)),
      cgroup_sought_for_(generations.present_number()),
      templates_(
          loop, children, [this](const Generation& generation) { return template_setup(generation); },
          [this] { wake_.start_in(0ms); }, [this](const ForkAnswer& answer) { forked(answer); }),
      wake_(loop) {}

// ---- Choosing places

void WorkerSpawner::fill_vacant_places(bool others_left) {
  const SteadyTime now = steady_now();
  others_left_ = others_left;
  const std::optional<SteadyTime> template_comes = look_after_templates(now);
  turns_.pass(others_left, now);
  for (const int place : slots_.table.due_for_refill(now)) {
    const auto slot = slots_.table.free_slot();
    if (!slot && !slots_exhausted_) log::warn("slots_exhausted", {{"slots", slots_.board.slots()}});
    slots_exhausted_ = !slot;
    if (!slot) return wake_.start_at(template_comes);
    spawn(place, *slot, now);
  }
  std::optional<SteadyTime> next = slots_.table.free_slot() ? slots_.table.next_refill(now) : std::nullopt;
  if (template_comes) next = std::min(next.value_or(*template_comes), *template_comes);
  wake_.start_at(next);
}

void WorkerSpawner::let_rest(int key, std::chrono::milliseconds rest, SteadyTime now) {
  ProcessTable::Place& place = slots_.table.places().at(key);
  place.rest = rest;
  place.rests_until = now + jittered(rest);
  // For `brood status`.
  if (place.last_slot >= 0 && !slots_.table.is_living(place.last_slot))
    slots_.board.slot(place.last_slot).rests_until.store(place.rests_until.time_since_epoch().count());
}

// Ends the templates of generations whose places are not filled any more, forgets requests to templates that have
// ended, and brings these back.  Returns when to look again.
std::optional<SteadyTime> WorkerSpawner::look_after_templates(SteadyTime now) {
  std::set<std::uint32_t> filled;
  for (const auto& [key, place] : slots_.table.places()) filled.insert(place.generation);
  templates_.keep(filled);
  const std::set<std::uint32_t> given_up = templates_.take_given_up();
  std::erase_if(asked_, [&](const auto& asked) {
    const auto& [slot, newborn] = asked;
    const bool comes = filled.contains(newborn.generation) && !given_up.contains(newborn.generation);
    if (!comes) slots_.table.unreserve(slot);
    return !comes;
  });
  return templates_.bring_back(now);
}

void WorkerSpawner::adopt(const Handover& left) {
  for (const Handover::Template& one : left.templates) {
    const auto known = generations_.known().find(one.generation);
    if (known != generations_.known().end()) templates_.adopt(*known->second, one);
  }
}

void WorkerSpawner::stop() {
  for (const auto& [slot, newborn] : asked_) slots_.table.unreserve(slot);
  asked_.clear();
  templates_.end_all();
  wake_.stop();
}

// ---- One worker

void WorkerSpawner::spawn(int key, int slot, SteadyTime now) {
  ProcessTable::Place& place = slots_.table.places().at(key);
  const Generation& generation = generations_.of(place.generation);
  take_cgroup_for(generation);
  const auto way = templates_.way_to_fork(generation, generation.config->worker_of(place.capsule), slot, now);
  if (way == WorkerTemplates::Way::wait) return;
  try {
    Newborn newborn{
        .place = key, .generation = place.generation, .control = make_control_pipe(), .output = make_output_pipe()};
    prepare(slot, place, now);
    ForkRequest request{.slot = slot, .capsule = place.capsule, .number = place.number};
    newborn.output.token.copy(request.output_token.data(), request.output_token.size() - 1);
    const WorkerDescriptors descriptors{newborn.control.worker_end.get(), newborn.output.worker_end.get()};
    if (way == WorkerTemplates::Way::ask_template) {
      if (!templates_.ask(generation, request, descriptors)) return;
      slots_.table.reserve(slot, key);
      asked_.emplace(slot, std::move(newborn));
      return;
    }
    tell_before_it_begins(slot, place, now);
    std::vector<int> keep = generation.program->descriptors();
    keep.insert(keep.end(), {descriptors.control, descriptors.output});
    const pid_t pid =
        brood::spawn({.title = title_of(slot, generation.config->capsules.at(static_cast<std::size_t>(place.capsule))),
                      .keep = std::move(keep),
                      .parent_death_signal = SIGTERM,
                      .oom_score_adjustment = oom_score_of_workers,
                      .shield = [&] { generation.program->shield(generation.config->worker_of(place.capsule)); }},
                     [&] { return run_worker(generation, request, descriptors); });
    settle_in(slot, pid, std::move(newborn), now);
  } catch (const std::system_error& error) {
    note_failed(key, slot, error.what(), now);
  }
}

// The first limit may come with a rolling restart.
void WorkerSpawner::take_cgroup_for(const Generation& generation) {
  if (generation.number <= cgroup_sought_for_) return;
  cgroup_sought_for_ = generation.number;
  if (memory_cgroup_)
    memory_cgroup_->follow(*generation.config);
  else
    memory_cgroup_ = MemoryCgroup::create(*generation.config);
}

// Writes the slot's record before the process exists.
void WorkerSpawner::prepare(int slot, const ProcessTable::Place& place, SteadyTime now) {
  const Config& config = *generations_.of(place.generation).config;
  SlotRecord& record = slots_.board.slot(slot);
  shards_.place_new(slot, generations_.index_of(place.generation, place.capsule), place.number);
  vacate(record, slots_.table.assign_incarnation(slot), place.generation, slots_.table[slot].shard);
  set_place(record, config.capsules.at(static_cast<std::size_t>(place.capsule)).name, place.number);
  record.spawned_at.store(now.time_since_epoch().count());
  slots_.table[slot].processed_before = record.processed.load();
}

void WorkerSpawner::tell_before_it_begins(int slot, const ProcessTable::Place& place, SteadyTime now) {
  const bool waits_its_turn = turns_.would_wait(place, slot, others_left_, now);
  slots_.board.slot(slot).flags.store(orders_.flags_of_a_new_one(waits_its_turn));
}

void WorkerSpawner::settle_in(int slot, pid_t pid, Newborn newborn, SteadyTime now) {
  SlotRecord& record = slots_.board.slot(slot);
  const bool waits_its_turn = turns_.would_wait(slots_.table.places().at(newborn.place), slot, others_left_, now);
  say_who_runs(record, pid);
  slots_.table.occupy(slot, newborn.place, pid, now);
  ProcessTable::Slot& taken = slots_.table[slot];
  taken.waits_its_turn = taken.never_fetched = waits_its_turn;
  orders_.connect(slot, std::move(newborn.control.supervisor_end), std::move(newborn.output.supervisor_end),
                  std::move(newborn.output.token));
  log::debug(
      "worker_spawned",
      {{"slot", slot}, {"worker_pid", pid}, {"incarnation", taken.incarnation}, {"generation", taken.generation}});
}

void WorkerSpawner::note_failed(int key, int slot, const std::string& reason, SteadyTime now) {
  ProcessTable::Place& place = slots_.table.places().at(key);
  const auto rest = place.policy.rest_after_failed_fork();
  if (rest != place.rest)
    log::warn("spawn_failed", {{"slot", slot}, {"reason", reason}, {"again_in", fmt::format("{}ms", rest.count())}});
  place.last_slot = slot;
  let_rest(key, rest, now);
}

// A template has answered.  The new worker waits until it is woken.  If its place is gone meanwhile, it finds its pipe
// closed and ends.
void WorkerSpawner::forked(const ForkAnswer& answer) {
  const auto asked = asked_.find(answer.slot);
  if (asked == asked_.end()) return;
  const int slot = answer.slot;
  Newborn newborn = std::move(asked->second);
  asked_.erase(asked);
  slots_.table.unreserve(slot);
  const auto place = slots_.table.places().find(newborn.place);
  if (place == slots_.table.places().end() || place->second.state != ProcessTable::Place::State::kept) return;
  const SteadyTime now = steady_now();
  if (answer.pid <= 0)
    return note_failed(newborn.place, slot, "fork: " + std::generic_category().message(answer.error), now);
  if (!is_our_child(answer.pid) || slots_.table.slot_of(answer.pid))
    return note_failed(newborn.place, slot, "the template has named a process that is none of its copies", now);
  tell_before_it_begins(slot, place->second, now);
  settle_in(slot, answer.pid, std::move(newborn), now);
  orders_.wake(slot);
}

// ---- In the child

WorkerTemplate::Setup WorkerSpawner::template_setup(const Generation& generation) const {
  return {.generation = generation.number,
          .slots = slots_.board.slots(),
          .longest_load = generation.config->boot_timeout,
          .program = generation.program,
          .worker = [this, generation](const ForkRequest& request, const WorkerDescriptors& descriptors) {
            set_process_title(
                title_of(request.slot, generation.config->capsules.at(static_cast<std::size_t>(request.capsule))));
            return run_worker(generation, request, descriptors);
          }};
}

// In a template `slots_` is the scoreboard as mapped when the template was forked.
int WorkerSpawner::run_worker(const Generation& generation, const ForkRequest& request,
                              const WorkerDescriptors& descriptors) const {
  SlotRecord& record = slots_.board.slot(request.slot);
  say_who_runs(record, getpid());
  WorkerSetup own{.slot = request.slot,
                  .generation = generation.number,
                  .capsule = request.capsule,
                  .number = request.number,
                  .control = descriptors.control,
                  .output = descriptors.output,
                  .output_token = request.output_token.data(),
                  .record = &record,
                  .beats = &slots_.board.beats(),
                  .queue_changes = &slots_.board.queue_changes(),
                  .supervisor = supervisor_,
                  .usage = &slots_.board.usage(),
                  .in_memory_cgroup = memory_cgroup_.has_value(),
                  .host_bytes = host_bytes_};
  try {
    if (memory_cgroup_) memory_cgroup_->enter(own.slot, generation.config->worker_of(own.capsule).memory_limit_bytes);
  } catch (const std::system_error& error) {
    log::warn("worker_limits_itself", {{"slot", own.slot}, {"reason", error.what()}});
    own.in_memory_cgroup = false;
  }
  return generation.program->work(own);
}

}  // namespace brood
