// The life of a worker, on its own thread; see world.hpp.

#include <fmt/format.h>

#include <algorithm>

#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/keys.hpp"
#include "tests/store/interleavings/payloads.hpp"
#include "tests/store/interleavings/world.hpp"
#include "worker/session/session.hpp"

namespace brood::interleavings {
namespace {

const std::vector<std::string> all_queues{"a", "b", "c"};
const std::vector<std::string> queues_with_tenants{"a", "t~*"};

const ServedTenants served_tenants{{"t~*", {}}};

bool has_outcomes(bool unsettled, const std::vector<Outcome>& outcomes) { return unsettled || !outcomes.empty(); }

}  // namespace

void World::work(Worker& worker, Actor& actor) {
  WorkerSlot slot(record_of_slot(worker));
  struct Callback {
    World& world;
    Worker& worker;
  } callback{*this, worker};
  slot.after_write_argument = &callback;
  slot.after_write = [](void* argument) {
    auto& [world, its_worker] = *static_cast<Callback*>(argument);
    world.wrote(its_worker);
  };

  Session::Setup setup;
  setup.identity = identity;
  setup.identity_record = "{}";
  setup.slot = worker.slot;
  setup.pause = [&](std::chrono::milliseconds) { pause(worker, slot, actor); };
  Session session(*worker.channel, slot, std::move(setup));
  worker.session = &session;

  try {
    while (!worker.told_to_retire) {
      try {
        go_on(worker, slot, actor);
      } catch (const ShardIsAway&) {
        const bool ends = has_outcomes(worker.unsettled, worker.outcomes);
        if (ends && !broken_.leaves_unsettled) throw;
        worker.unsettled = false;
        worker.outcomes.clear();
        session.leave_behind();
        session.begin(assign_elsewhere(worker));
      }
    }
    worker.unsettled = !worker.outcomes.empty();
    session.retire(std::exchange(worker.outcomes, {}));
  } catch (const ShardIsAway&) {
    note(fmt::format("{}.{} ends unsettled", worker.slot, worker.incarnation));
    note_what_it_holds(worker);
    worker.ends_unsettled = true;
  }
  worker.session = nullptr;
}

void World::go_on(Worker& worker, WorkerSlot& slot, Actor& actor) {
  Session& session = *worker.session;
  const bool begins = may_begin(worker);
  if (!begins) ++coverage_.kept_from;
  worker.lapses = shard(worker.shard).lapses;
  if (!begins && worker.outcomes.empty()) session.give_back_unbegun();
  if (worker.wanted != worker.shard) return move(worker);
  if (!begins && worker.outcomes.empty()) return actor.yield();
  const std::vector<std::string>& known = has_tenants_ ? queues_with_tenants : all_queues;
  std::vector<std::string> draw = known;
  std::shuffle(draw.begin(), draw.end(), random_);
  if (chance(0.5)) draw.pop_back();
  constexpr int wants[] = {0, 1, 1, 1, 3, 3, 4, 4};
  const int want = !begins ? 0 : calm_ ? 4 : wants[random_() % 8];
  std::string wait_queue = want > 0 && chance(0.6) ? known[random_() % known.size()] : "";
  const auto is_capped_queue = [&](const std::string& queue) {
    return is_tenants(queue) || !caps_of(caps(), queue).empty();
  };
  if (is_capped_queue(wait_queue)) wait_queue.clear();  // a wait would check neither a place nor a turn
  if (has_sequences_ && wait_queue == queue_of_sequences) wait_queue.clear();
  std::vector<std::string> asked;
  for (const std::string& queue : draw) {
    for (std::string& aside : asides_of(caps(), queue)) asked.push_back(std::move(aside));
    asked.push_back(queue);
  }
  std::erase_if(draw, is_capped_queue);
  if (has_sequences_) std::erase(draw, queue_of_sequences);
  std::vector<std::pair<std::string, std::string>> apart;
  for (std::size_t i = 0; broken_.set_aside_apart && i < worker.outcomes.size(); ++i) {
    if (worker.outcomes[i].kind == Outcome::Kind::beside)
      apart.emplace_back(worker.outcomes[i].into, session.batch().entries[i]);
  }
  worker.unsettled = !worker.outcomes.empty();
  const Session::Next next = session.next(
      std::exchange(worker.outcomes, {}),
      {.draw = asked, .most = want, .wait_queue = wait_queue, .caps = &caps(), .tenants = &served_tenants});
  worker.unsettled = false;
  push_aside(worker, apart);
  if (next == Session::Next::renewal) return session.begin(assign(worker));
  const Session::Batch& batch = session.batch();
  if (!wait_queue.empty() && batch.entries.empty()) {
    wait(worker, chance(0.5) ? std::vector<std::string>() : draw, want);
    if (!calm_ && !batch.entries.empty() && chance(0.1)) {  // it arrived while the worker quieted
      ++coverage_.quieted;
      session.give_back_unbegun();
    }
  }
  perform_batch(worker, slot, actor);
}

void World::move(Worker& worker) {
  ++coverage_.moves;
  Session& session = *worker.session;
  note(fmt::format("{}.{} goes from shard {} to {}", worker.slot, worker.incarnation, worker.shard, worker.wanted));
  if (broken_.moves_before_leaving) {
    worker.shard = worker.wanted;
    worker.channel->serve(worker.shard);
  }
  if (broken_.moves_unsettled) worker.outcomes.clear();
  worker.unsettled = !worker.outcomes.empty();
  if (worker.unsettled) session.next(std::exchange(worker.outcomes, {}), {});
  worker.unsettled = false;
  session.leave();
  session.begin(assign(worker));
}

// Called by the supervisor: a new incarnation, in the shard to which the worker was called.
std::uint64_t World::assign(Worker& worker) {
  ++coverage_.fenced;
  if (worker.wanted != worker.shard) {
    worker.shard = worker.wanted;
    worker.channel->serve(worker.shard);
    worker.lapses = shard(worker.shard).lapses;
  }
  if (!broken_.incarnations_reused) worker.incarnation = ++last_incarnation_;
  note(fmt::format("now {}.{} in shard {}", worker.slot, worker.incarnation, worker.shard));
  return worker.incarnation;
}

std::uint64_t World::assign_elsewhere(Worker& worker) {
  ++coverage_.left_behind;
  note(fmt::format("{}.{} leaves what it has behind in shard {}", worker.slot, worker.incarnation, worker.shard));
  const SlotSnapshot seen = last_words(record_of_slot(worker));
  DeadWorker left{identity, worker.slot, worker.incarnation, std::nullopt, true};
  if (seen.incarnation == worker.incarnation) left.record = record_of(seen);
  if (!broken_.left_behind_forgotten) start_recovery(worker.shard, left, {}, &coverage_.jobs_left_behind);
  return assign(worker);
}

void World::pause(Worker& worker, const WorkerSlot& slot, Actor& actor) {
  actor.yield();
  if (worker.wanted == worker.shard) return;
  if (how_to_leave(slot, has_outcomes(worker.unsettled, worker.outcomes)) != Leaving::not_yet) throw ShardIsAway{};
}

bool World::may_begin(const Worker& worker) {
  const Shard& its = shard(worker.shard);
  return (!its.beat_is_old || broken_.old_beats_ignored) && (worker.lapses == its.lapses || broken_.lapses_ignored);
}

void World::wait(Worker& worker, const std::vector<std::string>& draw, int want) {
  Session& session = *worker.session;
  ++coverage_.waits;
  const std::string waited_on = session.batch().queue;
  switch (session.wait({.draw = draw, .most = want})) {
    case Session::Waited::job:
      ++(session.batch().queue == waited_on ? coverage_.arrived : coverage_.fetched_behind);
      break;
    case Session::Waited::refused:
      ++coverage_.waits_refused;
      break;
    case Session::Waited::nothing:
    case Session::Waited::passed:
      break;
    case Session::Waited::lost:
      ++coverage_.waits_lost;
      if (worker.wanted != worker.shard) throw ShardIsAway{};
      session.give_up();
      break;
  }
  note(fmt::format("{}.{} waited for {}: {}", worker.slot, worker.incarnation, session.batch().queue,
                   session.batch().entries.empty() ? "nothing" : session.batch().entries[0]));
}

void World::perform_batch(Worker& worker, WorkerSlot& slot, Actor& actor) {
  Session& session = *worker.session;
  const Session::Batch& batch = session.batch();
  const std::string from = batch.queue;
  bool some_aside = false;
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    const std::string& payload = batch.entries[i];
    if (std::string aside = aside_for(caps(), from, is_capped(payload) ? "Capped" : "Job"); !aside.empty()) {
      if (!may_begin(worker) || !slot.defer(static_cast<int>(i))) return;
      ++coverage_.set_aside;
      if (broken_.asides_pass_for_done) slot.end(static_cast<int>(i), EntryState::succeeded);
      worker.outcomes.push_back({Outcome::Kind::beside, "", 0, std::move(aside)});
      some_aside = true;
      continue;
    }
    if (some_aside) return;
    const Lock place = enter_sequence(worker, payload);
    if (place == Lock::fenced) return;
    if (place == Lock::held) {  // back to its queue, from where the next fetch moves it
      if (!may_begin(worker) || !slot.defer(static_cast<int>(i))) return;
      worker.outcomes.push_back({Outcome::Kind::requeue_head, "", 0});
      return;
    }
    const Lock lock = take_running_lock(worker, payload);
    if (lock == Lock::fenced) return;
    if (!may_begin(worker) || !slot.begin(static_cast<int>(i), "jid", "Job", WallTime{}, SteadyTime{}, 0))
      return session.let_go_of_taken();
    check_charges(payload);
    check_order(payload);
    actor.yield();
    if (lock == Lock::held) {  // its turn comes later
      slot.end(static_cast<int>(i), EntryState::interrupted);
      worker.outcomes.push_back({Outcome::Kind::requeue_back, payload, 0});
      return;
    }
    begin_under(worker, lock, payload);
    worker.outcomes.push_back(perform(worker, slot, static_cast<int>(i), payload));
    if (lock == Lock::taken) return;  // settled at once
    const EntryState state = slot.entry(static_cast<int>(i));
    if (state != EntryState::succeeded && state != EntryState::judged) return;  // settled at once
    if (chance(0.08)) return;                                                   // as those are, after a while
  }
}

World::Lock World::enter_sequence(Worker& worker, const std::string& payload) {
  const std::string sequence = member_of(payload, "sequence");
  if (sequence.empty()) return Lock::none_needed;
  const Taken taken = worker.session->enter_sequence(sequence, job_of(payload));
  if (taken == Taken::fenced) return Lock::fenced;
  return taken == Taken::yes ? Lock::taken : Lock::held;
}

// Checks that all jobs that were pushed before it have ended, and none of them runs.
void World::check_order(const std::string& payload) {
  const std::string sequence = member_of(payload, "sequence"), job = job_of(payload);
  if (sequence.empty() || !home_.contains(job) || may_change_order_) return;
  ++coverage_.ran_in_order;
  std::set<std::string> dead;
  for (const Place& place : all_places()) {
    if (place.key == keys::dead.name()) dead.insert(job_of(place.payload));
  }
  for (const std::string& before : in_order_[sequence]) {
    if (before == job) return;
    if (home_.contains(before) && !ends_.contains(before) && !dead.contains(before))
      fault(fmt::format("{} begins before {} has ended, which was pushed before it", job, before));
  }
}

World::Lock World::take_running_lock(Worker& worker, const std::string& payload) {
  const std::string lock = member_of(payload, "runs");
  if (lock.empty()) return Lock::none_needed;
  Session& session = *worker.session;
  const Taken taken = session.take(running_lock(session.fence(), lock, job_of(payload)), brood::take_running_lock);
  note(fmt::format("{}.{} asks for {} for {}: {}", worker.slot, worker.incarnation, lock, payload,
                   taken == Taken::yes  ? "taken"
                   : taken == Taken::no ? "held"
                                        : "fenced"));
  ++(taken == Taken::yes ? coverage_.taken : taken == Taken::no ? coverage_.found_taken : coverage_.takes_fenced);
  return taken == Taken::yes ? Lock::taken : taken == Taken::no ? Lock::held : Lock::fenced;
}

void World::begin_under(Worker& worker, Lock lock, const std::string& payload) {
  worker.runs = job_of(payload);
  const bool capped = is_capped(payload);
  coverage_.ran_capped += capped;
  if (lock != Lock::taken && !capped) return;
  Worker*& runs = running_[capped ? fmt::format("cap of {}", worker.shard) : member_of(payload, "runs")];
  if (runs && runs != &worker && !may_run_twice_.contains(runs->runs) && !may_run_twice_.contains(worker.runs))
    fault(fmt::format("{} and {} run at the same time", runs->runs, worker.runs));
  runs = &worker;
}

// There is no yield between the entry in the books and the write to the scoreboard, so both are always equally old.
Outcome World::perform(Worker& worker, WorkerSlot& slot, int entry, const std::string& payload) {
  const std::string job = job_of(payload);
  const double fortune = calm_ ? 0 : std::uniform_real_distribution<>(0, 1)(random_);
  const bool is_unique = !member_of(payload, "unique_lock").empty();
  std::erase_if(running_, [&](const auto& one) { return one.second == &worker; });
  note(fmt::format("{}.{} ends {} entry {} {}", worker.slot, worker.incarnation, payload, entry,
                   fortune < 0.75  ? "well"
                   : fortune < 0.9 ? "badly"
                                   : "interrupted"));
  if (fortune < 0.75) {
    coverage_.unique_ended += is_unique;
    if (++ends_[job] > 1 && !may_run_twice_.contains(job)) fault(job + " was done twice");
    slot.end(entry, EntryState::succeeded);
    return {};
  }
  if (fortune < 0.9) {
    ++deserved_[job];
    slot.end(entry, EntryState::failed);
    Outcome outcome = retried(payload);
    if (is_unique && chance(0.5)) outcome = {Outcome::Kind::move_to_dead, outcome.payload, 9e9};
    OutcomeNote note = note_of(outcome);
    if (chance(0.1)) note.payload.resize(OutcomeNotes::text_bytes + 1);  // the note has no room for it
    slot.finish_entry(entry, note);
    return outcome;
  }
  slot.end(entry, EntryState::interrupted);
  return {chance(0.67) ? Outcome::Kind::requeue_back : Outcome::Kind::requeue_head, payload, 0};
}

// Called after every single write of a worker to its slot.  Here it may be killed, and here the others go on.
void World::wrote(Worker& worker) {
  SlotRecord& record = record_of_slot(worker);
  if (broken_.number_before_clearing) {
    // Undoes each clearing until the number is there, so that the old states look like states of the new batch.
    const std::uint64_t number = record.number.load();
    if (number == worker.last_number) {
      for (std::size_t i = 0; i < worker.cleared.size(); ++i) {
        const std::uint32_t now = record.entries[i].load();
        if (now != 0) worker.cleared[i] = now;
      }
    } else {
      worker.last_number = number;
      for (std::size_t i = 0; i < worker.cleared.size(); ++i) {
        if (worker.cleared[i] == 0) continue;
        record.entries[i].store((worker.cleared[i] & 0xff) | static_cast<std::uint32_t>(number & 0xff'ffff) << 8);
      }
      worker.cleared.fill(0);
      worker.actor->yield();
      for (auto& entry : record.entries) entry.store(0);
    }
  }
  worker.actor->yield();
}

}  // namespace brood::interleavings
