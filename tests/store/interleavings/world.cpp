#include "tests/store/interleavings/world.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/sets/due_jobs.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {

namespace scripts {
extern const Script take_running_lock;
}

namespace interleavings {
namespace {

const std::vector<std::string> queues{"a", "b", "c"};
constexpr int slots = 3;
constexpr int jobs = 36;
constexpr int wild_steps = 2'000;
constexpr int calm_steps = 20'000;  // at most; the run ends when every job has
constexpr int steps_between_checks = 60;

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == text.npos || text.find(from, at + 1) != text.npos) {
    throw std::logic_error("the script no longer has the one line that is to be broken: " + std::string(from));
  }
  return std::string(text.substr(0, at)).append(to).append(text.substr(at + from.size()));
}

std::string charged_once_more(const std::string& payload) {
  const std::string name = name_of(payload), charged = fmt::format("{}#{}", job_of(payload), charges_of(payload) + 1);
  return replaced(payload, name, charged);
}

// The text of a member, of a payload that is JSON; empty: it has none.
std::string member_of(const std::string& payload, std::string_view key) {
  const std::string before = fmt::format("\"{}\":\"", key);
  const std::size_t at = payload.find(before);
  if (at == payload.npos) return "";
  return payload.substr(at + before.size(), payload.find('"', at + before.size()) - at - before.size());
}
std::string unique_job(const std::string& job, const std::string& lock) {
  return fmt::format(R"({{"jid":"{0}","unique_lock":"{1}","name":"{0}#0"}})", job, lock);
}

Outcome retried(const std::string& payload) { return {Outcome::Kind::retry, charged_once_more(payload), 1}; }

// One letter for each state, in the order of the enumeration.
std::string letters(const std::vector<EntryState>& states) {
  std::string text;
  for (const EntryState state : states) text += "-frsxitkj"[static_cast<int>(state)];
  return text;
}

}  // namespace

World::World(Channel& redis, std::uint64_t seed, Broken broken, Coverage& coverage, bool tracing)
    : redis_(redis),
      broken_(broken),
      coverage_(coverage),
      tracing_(tracing),
      random_(seed),
      network_(redis),
      scoreboard_(Scoreboard::in_memory(slots)) {
  redis_.call({"CONFIG", "SET", "maxmemory", "0"});
  allow_everything();
  redis_.call({"FLUSHALL"});
  // Whatever the last seed left: the same seed must always meet the same answers.
  for (const Script* script : {&scripts::register_incarnation, &scripts::settle_and_fetch, &scripts::recover}) {
    redis_.call({"SCRIPT", "LOAD", script->text});
  }
  push_jobs();
  full_redis_ = chance(0.15);
  if (full_redis_) redis_.call({"CONFIG", "SET", "maxmemory", "1"});
  for (int i = 0; i < slots; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->slot = i;
    spawn(*workers_.back());
  }
}

World::~World() {
  for (auto& worker : workers_) worker->actor.reset();
  for (auto& recovery : recoveries_) recovery->actor.reset();
}

void World::push_jobs() {
  for (int i = 0; i < jobs; ++i) {
    const std::string job = fmt::format("J{}", pushed_++);
    home_[job] = queues[random_() % queues.size()];
    std::string payload = job + "#0";
    if (i % 4 == 0) {  // of which there is to be one
      payload = unique_job(job, "of-" + job);
      unique_["of-" + job] = job;
      redis_.call({"SET", keys::unique_lock("of-" + job), job});
    } else if (i % 4 == 1) {  // of which one is to run at a time
      payload = fmt::format(R"({{"jid":"{0}","runs":"{1}","name":"{0}#0"}})", job, i % 3 == 0 ? "one" : "other");
    }
    redis_.call({"LPUSH", keys::queue(home_[job]), payload});
  }
}

void World::fault(const std::string& sentence) {
  faults_.push_back(sentence);
  note("FAULT " + sentence);
}

std::vector<std::string> World::run() {
  for (int i = 0; i < wild_steps && faults_.empty(); ++i) {
    step(false);
    if (i % steps_between_checks == 0) check_places();
  }
  calm_ = true;
  allow_everything();
  bool ended = false;
  for (int i = 0; i < calm_steps && faults_.empty() && !ended; ++i) {
    step(true);
    if (i % steps_between_checks == 0) {
      check_places();
      ended = every_job_has_ended();
    }
  }
  if (faults_.empty() && !ended) fault("some job is stuck: it neither ends nor dies");
  if (faults_.empty()) finish();
  coverage_.commands_refused += network_.refused();
  return faults_;
}

void World::step(bool calm) {
  const double what = std::uniform_real_distribution<>(0, 1)(random_);
  if (what < 0.25) {
    if (network_.deliver_one(random_)) ++coverage_.commands;
  } else if (what < 0.262 && !calm) {
    kill(*workers_[random_() % slots], false);
  } else if (what < 0.263 && !calm) {
    ++coverage_.host_deaths;
    for (auto& worker : workers_) kill(*worker, true);
  } else if (what < (beat_is_old_ ? 0.268 : 0.2645)) {
    beat_is_missed();
  } else if (what < 0.269 && !calm) {
    workers_[random_() % slots]->told_to_retire = true;
  } else if (what < 0.27 && !calm) {
    redis_.call({"SCRIPT", "FLUSH"});  // as after a restart of Redis: everybody is answered NOSCRIPT
  } else if (what < 0.285 && !calm) {
    break_a_connection();
  } else if (what < 0.31) {
    take_back();
  } else if (what < 0.33) {
    move_due_jobs();
  } else if (what < 0.333 && !calm) {
    reschedule_a_retry();
  } else if (what < 0.334 && !calm) {
    push_a_twin();
  } else if (what < 0.335 && !calm) {
    raise_a_dead();
  } else if (what < 0.336 && !calm) {
    lose_fields();
  } else if (what < 0.3364 && !calm) {
    flush();
  } else if (what < 0.3372 && !calm) {
    lose_the_processes();
  } else if (what < 0.339 && !calm) {
    refuse_a_command();
  } else if (what < 0.343) {
    sweep();
  } else if (what < 0.353 && !calm) {
    allow_everything();
  } else {
    resume_somebody();
  }
}

void World::resume_somebody() {
  std::vector<Actor*> ready;
  for (auto& worker : workers_) {
    if (worker->actor->done()) {
      if (!worker->actor->error().empty()) fault("a worker died of " + worker->actor->error());
      if (scoreboard_.slot(worker->slot).retired.load() != 1) fault("a worker ended and did not retire");
      ++coverage_.retired;
      spawn(*worker);
    }
    if (!worker->channel->waits_for_redis() && !all_stand_still_) ready.push_back(worker->actor.get());
  }
  for (auto& recovery : recoveries_) {
    if (!recovery->actor->done() && !recovery->channel->waits_for_redis()) ready.push_back(recovery->actor.get());
    if (!recovery->actor->error().empty()) fault("a recovery failed: " + recovery->actor->error());
  }
  std::erase_if(recoveries_, [](const auto& recovery) { return recovery->actor->done(); });
  if (!ready.empty()) ready[random_() % ready.size()]->resume();
}

void World::break_a_connection() {
  std::vector<UnreliableChannel*> calling;
  for (auto& worker : workers_) {
    if (worker->channel->in_a_call()) calling.push_back(worker->channel.get());
  }
  for (auto& recovery : recoveries_) {
    if (recovery->channel->in_a_call()) calling.push_back(recovery->channel.get());
  }
  if (calling.empty()) return;
  ++coverage_.lost_replies;
  calling[random_() % calling.size()]->lose(chance(0.4));
}

void World::spawn(Worker& worker) {
  worker.actor.reset();
  if (!broken_.incarnations_reused || worker.incarnation == 0) worker.incarnation = ++last_incarnation_;
  worker.told_to_retire = false;
  worker.lapses = lapses_;
  worker.in_flight = nullptr;
  worker.last_number = 0;
  worker.cleared.fill(0);
  vacate(scoreboard_.slot(worker.slot), worker.incarnation, 1);
  worker.channel = std::make_unique<UnreliableChannel>(
      network_, [this](Command& command, bool last_was_lost) { rewrite(command, last_was_lost); });
  worker.actor = std::make_unique<Actor>([this, &worker](Actor& actor) { work(worker, actor); });
  worker.channel->belong_to(*worker.actor);
}

void World::kill(Worker& worker, bool with_its_host) {
  if (worker.actor->done()) return;  // it has retired; nobody has noticed yet
  ++coverage_.kills;
  std::vector<std::string> held;
  if (worker.in_flight) {
    for (const FetchAndSettle::Entry& entry : worker.in_flight->batch().entries) held.push_back(entry.payload);
  }
  if (chance(0.4)) worker.channel->lose(true);
  worker.actor->kill();
  std::erase_if(running_, [&](const auto& one) { return one.second == &worker; });

  SlotRecord& record = scoreboard_.slot(worker.slot);
  const bool scribbled = !with_its_host && chance(0.06);
  const bool ended_by_brood = !with_its_host && !scribbled && chance(0.1);
  if (scribbled) {
    const std::uint64_t rubbish[] = {999, static_cast<std::uint64_t>(-3), record.number.load() + 7};
    record.number.store(rubbish[random_() % 3]);
  }
  const SlotSnapshot seen = last_words(record);
  coverage_.judged += std::ranges::count(seen.entries, EntryState::judged);
  note(fmt::format("kill {}.{} {} number {} states {} holding {}", worker.slot, seen.incarnation,
                   with_its_host    ? "with its host"
                   : scribbled      ? "scribbled"
                   : ended_by_brood ? "by brood"
                                    : "",
                   seen.number, letters(seen.entries), fmt::join(held, " ")));
  if (with_its_host || scribbled) {
    for (const std::string& payload : held) may_run_twice_.insert(job_of(payload));
  } else {
    for (std::size_t i = 0; i < seen.entries.size() && i < held.size(); ++i) {
      if (seen.entries[i] == EntryState::running && !ended_by_brood) ++deserved_[job_of(held[i])];
      if (seen.entries[i] == EntryState::failed && ended_by_brood) charge_unknown_.insert(job_of(held[i]));
    }
  }

  DeadWorker dead{identity, worker.slot, seen.incarnation, std::nullopt, ended_by_brood};
  if (!with_its_host) dead.record = record_of(seen);
  if (dead.record && broken_.notes_unheeded) dead.record->outcomes.clear();
  if (!has_field(worker_field(worker.slot, seen.incarnation))) judge_unknown(held);
  start_recovery(dead, held);
  if (with_its_host || chance(0.15)) start_recovery(dead, held);  // two supervisors adopt the same identity
  spawn(worker);
}

// Our supervisor stands still, alone or with its workers, or does not reach Redis: its heartbeat grows old, and comes
// again before somebody has acted upon that, or after.
void World::beat_is_missed() {
  if (!beat_is_old_) {
    if (calm_) return;
    ++coverage_.beats_missed;
    note("the heartbeat is old");
    beat_is_old_ = true;
    all_stand_still_ = chance(0.5);
    redis_.call({"DEL", identity});
    if (!recoveries_.empty()) what_is_begun_may_run_twice();  // by one that was held up since the last time
    return;
  }
  if (!calm_ && chance(0.5)) return host_seems_dead();
  const Reply beaten =  // as a heartbeat does, which a full Redis lets through
      redis_.call({"EVAL", "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 1)", "1", identity});
  if (!beaten.view().error().empty()) return;
  note("the heartbeat comes again");
  beat_is_old_ = all_stand_still_ = false;
  ++lapses_;
}

// Another supervisor has seen no heartbeat of ours for too long, while our workers live.  What they have begun may run
// twice, nothing else.
void World::host_seems_dead() {
  note("host seems dead");
  what_is_begun_may_run_twice();
  for (auto& worker : workers_)
    start_recovery({identity, worker->slot, worker->incarnation, std::nullopt, false, true}, {});
}

void World::what_is_begun_may_run_twice() {
  for (auto& worker : workers_) {
    const SlotSnapshot seen = snapshot(scoreboard_.slot(worker->slot));
    if (!worker->in_flight) continue;
    const auto& entries = worker->in_flight->batch().entries;
    for (std::size_t i = 0; i < entries.size() && i < seen.entries.size(); ++i) {
      if (seen.entries[i] != EntryState::fetched) may_run_twice_.insert(job_of(entries[i].payload));
    }
  }
}

bool World::may_begin(const Worker& worker) const {
  return (!beat_is_old_ || broken_.old_beats_ignored) && (worker.lapses == lapses_ || broken_.lapses_ignored);
}

bool World::has_field(const std::string& field) {
  return redis_.call({"HEXISTS", keys::in_flight_hash(identity), field}).view().integer() != 0;
}

// Their payloads here tell no jid, by which a real recovery without a field knows what was begun.
void World::judge_unknown(const std::vector<std::string>& held) {
  for (const std::string& payload : held) may_run_twice_.insert(job_of(payload));
}

// Some memory is wanted, or somebody's hand slipped: the living must not notice, and of the dead nothing may be left.
void World::lose_fields() {
  ++coverage_.fields_lost;
  lost_fields_ = true;
  for (const auto& recovery : recoveries_) judge_unknown(recovery->held);
  const Reply fields = redis_.call({"HKEYS", keys::in_flight_hash(identity)});
  if (fields.view().size() == 0) return;
  const bool all = chance(0.3);
  if (all && !leaves_locks()) {
    note("the in-flight hash is lost");
    redis_.call({"DEL", keys::in_flight_hash(identity)});
    return;
  }
  const std::string field(fields.view()[random_() % fields.view().size()].text());
  if (leaves_locks() && !parse_worker_field(field)) return;
  note("the field " + field + " is lost");
  redis_.call({"HDEL", keys::in_flight_hash(identity), field});
}

// Then nothing else may leave any.
bool World::leaves_locks() const {
  return broken_.takes_unfenced || broken_.late_takes_unseen || broken_.holdings_unheeded || broken_.kept_without_field;
}

// Nothing that a worker or a recovery does may need it.
void World::lose_the_processes() {
  ++coverage_.processes_lost;
  lost_fields_ = true;
  note("brood:processes is lost");
  redis_.call({"DEL", keys::brood_processes});
}

// Somebody changes what the user may do, for a while: whichever script is under way meets it at any of its commands.
void World::refuse_a_command() {
  static const std::vector<std::string> commands{"zadd",  "lpush", "rpush", "hset", "hdel",
                                                 "ltrim", "lmove", "zrem",  "set"};
  const std::string& command = commands[random_() % commands.size()];
  note("refused from now on: " + command);
  redis_.call({"ACL", "SETUSER", "default", "-" + command});
  refuses_ = true;
}

void World::allow_everything() {
  if (!refuses_) return;
  note("everything is allowed again");
  redis_.call({"ACL", "SETUSER", "default", "+@all"});
  refuses_ = false;
}

// Everything that was there is gone, whoever works on it; what is pushed from now on is not.
void World::flush() {
  ++coverage_.flushes;
  note("FLUSHALL");
  for (const auto& [job, home] : home_) may_run_twice_.insert(job);
  home_.clear();
  unique_.clear();
  redis_.call({"CONFIG", "SET", "maxmemory", "0"});
  allow_everything();
  redis_.call({"FLUSHALL"});
  // To be taken for dead, to be flushed and to come back at the same time would be one mishap too many.
  if (!beat_is_old_) redis_.call({"SET", identity, "beats"});
  push_jobs();
  if (full_redis_) redis_.call({"CONFIG", "SET", "maxmemory", "1"});
}

void World::sweep() {
  // It would find what these rules keep from being lost.
  if (broken_.tombstones_omitted || broken_.dead_without_field_left) return;
  ++coverage_.sweeps;
  OwnIncarnations own{identity, {}, last_incarnation_};
  for (const auto& worker : workers_) own.living.insert(worker_field(worker->slot, worker->incarnation));
  for (const auto& recovery : recoveries_) own.living.insert(recovery->field);
  const int jobs = give_back_lists_without_field(
      redis_, [&](const InFlightList& list) { return !broken_.living_swept && own.lives(list.field); });
  if (jobs > 0) note(fmt::format("swept {} jobs", jobs));
  if (leaves_locks()) return;
  const int locks = let_go_of_stray_locks(redis_, [&](const RunningHolder& holder) { return own.lives(holder.field); });
  if (locks > 0) note(fmt::format("swept {} locks", locks));
}

void World::start_recovery(DeadWorker dead, std::vector<std::string> held) {
  if (dead.incarnation == 0) return;  // it had not even taken its name
  auto recovery = std::make_unique<Recovery>();
  recovery->field = worker_field(dead.slot, dead.incarnation);
  recovery->held = std::move(held);
  recovery->channel = std::make_unique<UnreliableChannel>(
      network_, [this](Command& command, bool last_was_lost) { rewrite(command, last_was_lost); });
  recovery->actor =
      std::make_unique<Actor>([this, channel = recovery->channel.get(), dead = std::move(dead)](Actor& actor) {
        const std::string field = worker_field(dead.slot, dead.incarnation);
        for (;;) {
          if (broken_.dead_without_field_left && !has_field(field)) return;
          try {
            const RecoveryResult result = recover(
                *channel, dead, DeadLimits{},
                [](const std::string& payload, const std::string&) { return retried(payload); },
                [](const std::string& payload, const std::string&) {
                  return Outcome{Outcome::Kind::move_to_dead, payload, 9e9};
                });
            coverage_.acknowledged += result.acknowledged;
            coverage_.charged += result.charged;
            coverage_.given_back += result.given_back;
            coverage_.orphaned += result.orphaned;
            note(fmt::format("recovered {}.{}: acknowledged {} charged {} given back {} orphaned {}{}", dead.slot,
                             dead.incarnation, result.acknowledged, result.charged, result.given_back, result.orphaned,
                             result.somebody_was_first ? ", somebody was first" : ""));
            return;
          } catch (const ConnectionLost&) {
          } catch (const UnexpectedReply& refused) {
            if (!is_refusal(refused.what())) throw;
            actor.yield();
          }
        }
      });
  recovery->channel->belong_to(*recovery->actor);
  recoveries_.push_back(std::move(recovery));
}

// The supervisor frees what waits behind a running job.
void World::take_back() {
  const Worker& worker = *workers_[random_() % slots];
  SlotRecord& record = scoreboard_.slot(worker.slot);
  const SlotSnapshot seen = snapshot(record);
  const int count = static_cast<int>(seen.entries.size());
  if (std::ranges::count(seen.entries, EntryState::running) == 0 || !seen.text_is_whole) return;
  const int kept = take_back_unbegun(record, seen.number, count);
  if (kept == count) return;
  coverage_.taken_back += count - kept;
  note(fmt::format("take back {}.{} number {} of {} keep {}", worker.slot, seen.incarnation, seen.number, count, kept));
  const ScriptCall call =
      give_back(identity, worker_field(worker.slot, seen.incarnation), seen.queue, seen.number, kept);
  network_.post(call.eval());
  if (chance(0.33)) network_.post(call.eval());
}

void World::move_due_jobs() {
  const Reply due = redis_.call({"ZRANGEBYSCORE", keys::retry, "-inf", "5", "WITHSCORES", "LIMIT", "0", "4"});
  std::vector<DueJob> moves;
  for (std::size_t i = 0; i + 1 < due.view().size(); i += 2) {
    const std::string_view member = due.view()[i].text();
    moves.push_back({member, due.view()[i + 1].text(), home_[job_of(std::string(member))], std::string(member)});
  }
  if (moves.empty()) return;
  coverage_.moved += static_cast<long>(moves.size());
  const ScriptCall call = move_due(keys::retry.name(), std::move(moves));
  if (chance(0.9)) network_.post(call.eval());
  if (chance(0.1)) network_.post(call.eval());
}

void World::reschedule_a_retry() {
  if (full_redis_ || refuses_) return;
  const Reply first = redis_.call({"ZRANGE", keys::retry, "0", "0"});
  if (first.view().size() == 0) return;
  redis_.call({"ZADD", keys::retry, "XX", std::to_string(2 + random_() % 3), first.view()[0].text()});
}

// The job that was pushed with this lock has died, and it is free again.
void World::push_a_twin() {
  if (full_redis_ || refuses_) return;
  const Reply dead = redis_.call({"ZRANGE", keys::dead, "0", "-1"});
  if (dead.view().size() == 0) return;
  const std::string lock = member_of(std::string(dead.view()[random_() % dead.view().size()].text()), "unique_lock");
  if (lock.empty()) return;
  check_locks();
  const std::string twin = fmt::format("J{}", pushed_), home = queues[random_() % queues.size()];
  const Reply pushed = redis_.call({"EVAL",
                                    "if not redis.call('SET', KEYS[1], ARGV[1], 'NX') then return 0 end return "
                                    "redis.call('LPUSH', KEYS[2], ARGV[2])",
                                    "2", keys::unique_lock(lock), keys::queue(home), twin, unique_job(twin, lock)});
  if (pushed.view().integer() == 0) return;
  ++pushed_;
  ++coverage_.twins;
  note(twin + " is pushed under the lock " + lock);
  home_[twin] = home;
  unique_[lock] = twin;
}

// Somebody tries a dead job once more, and knows nothing of locks.
void World::raise_a_dead() {
  if (full_redis_ || refuses_) return;
  const Reply dead = redis_.call({"ZRANGE", keys::dead, "0", "-1"});
  if (dead.view().size() == 0) return;
  const std::string payload(dead.view()[random_() % dead.view().size()].text());
  check_locks();  // and notes which jobs have ended
  ++coverage_.raised;
  note(payload + " is raised from the dead");
  redis_.call({"ZREM", keys::dead, payload});
  redis_.call({"LPUSH", keys::queue(home_[job_of(payload)]), payload});
}

void World::work(Worker& worker, Actor& actor) {
  WorkerSlot slot(scoreboard_.slot(worker.slot));
  struct Callback {
    World& world;
    Worker& worker;
  } callback{*this, worker};
  slot.after_write_argument = &callback;
  slot.after_write = [](void* argument) {
    auto& [world, its_worker] = *static_cast<Callback*>(argument);
    world.wrote(its_worker);
  };

  FetchAndSettle::Setup setup;
  setup.identity = identity;
  setup.identity_record = "{}";
  setup.slot = worker.slot;
  setup.new_incarnation = [&] {
    ++coverage_.fenced;
    if (!broken_.incarnations_reused) worker.incarnation = ++last_incarnation_;
    note(fmt::format("fenced, now {}.{}", worker.slot, worker.incarnation));
    return worker.incarnation;
  };
  setup.pause = [&actor](std::chrono::milliseconds) { actor.yield(); };
  FetchAndSettle in_flight(*worker.channel, slot, std::move(setup));
  worker.in_flight = &in_flight;

  std::vector<Outcome> outcomes;
  while (!worker.told_to_retire) {
    const bool begins = may_begin(worker);
    if (!begins) ++coverage_.kept_from;
    worker.lapses = lapses_;
    if (!begins && outcomes.empty()) {
      in_flight.give_back_unbegun();
      actor.yield();
      continue;
    }
    std::vector<std::string> draw = queues;
    std::shuffle(draw.begin(), draw.end(), random_);
    if (chance(0.5)) draw.pop_back();
    constexpr int wants[] = {0, 1, 1, 1, 3, 3, 4, 4};
    const int want = !begins ? 0 : calm_ ? 4 : wants[random_() % 8];
    const std::string wait_queue = want > 0 && chance(0.6) ? queues[random_() % queues.size()] : "";
    const FetchAndSettle::Batch& batch =
        in_flight.settle_and_fetch(std::exchange(outcomes, {}), draw, want, wait_queue);
    if (!wait_queue.empty() && batch.entries.empty()) {
      wait(worker, in_flight, chance(0.5) ? std::vector<std::string>() : draw, want);
      if (!calm_ && !batch.entries.empty() && chance(0.1)) {  // it arrived while the worker quieted
        ++coverage_.quieted;
        in_flight.give_back_unbegun();
      }
    }
    for (std::size_t i = 0; i < batch.entries.size(); ++i) {
      const std::string& payload = batch.entries[i].payload;
      const Lock lock = take_running_lock(worker, payload);
      if (lock == Lock::fenced) break;
      if (!may_begin(worker) || !slot.begin(static_cast<int>(i), "jid", "Job", WallTime{}, SteadyTime{}, 0)) {
        in_flight.let_go_of_taken();
        break;
      }
      check_charges(payload);
      actor.yield();
      if (lock == Lock::held) {  // its turn comes later
        slot.end(static_cast<int>(i), EntryState::interrupted);
        outcomes.push_back({Outcome::Kind::requeue_back, payload, 0});
        break;
      }
      begin_under(worker, lock, payload);
      outcomes.push_back(perform(worker, slot, static_cast<int>(i), payload));
      if (lock == Lock::taken) break;  // settled at once
      const EntryState state = slot.entry(static_cast<int>(i));
      if (state != EntryState::succeeded && state != EntryState::judged) break;  // settled at once
      if (chance(0.08)) break;                                                   // as those are, after a while
    }
  }
  in_flight.retire(outcomes);
  worker.in_flight = nullptr;
}

void World::wait(Worker& worker, FetchAndSettle& in_flight, const std::vector<std::string>& draw, int want) {
  ++coverage_.waits;
  const int losses = worker.channel->losses();
  const std::string waited_on = in_flight.batch().queue;
  switch (in_flight.wait_for_job(draw, want)) {
    case FetchAndSettle::Waited::job:
      ++(in_flight.batch().queue == waited_on ? coverage_.arrived : coverage_.fetched_behind);
      break;
    case FetchAndSettle::Waited::refused:
      ++coverage_.waits_refused;
      break;
    case FetchAndSettle::Waited::nothing:
      break;
  }
  if (worker.channel->losses() > losses) ++coverage_.waits_lost;
  note(fmt::format("{}.{} waited for {}: {}", worker.slot, worker.incarnation, in_flight.batch().queue,
                   in_flight.batch().entries.empty() ? "nothing" : in_flight.batch().entries[0].payload));
}

World::Lock World::take_running_lock(Worker& worker, const std::string& payload) {
  const std::string lock = member_of(payload, "runs");
  if (lock.empty()) return Lock::none_needed;
  FetchAndSettle& in_flight = *worker.in_flight;
  const Taken taken = in_flight.take(running_lock(in_flight.fence(), lock, job_of(payload)), brood::take_running_lock);
  note(fmt::format("{}.{} asks for {} for {}: {}", worker.slot, worker.incarnation, lock, payload,
                   taken == Taken::yes  ? "taken"
                   : taken == Taken::no ? "held"
                                        : "fenced"));
  ++(taken == Taken::yes ? coverage_.taken : taken == Taken::no ? coverage_.found_taken : coverage_.takes_fenced);
  return taken == Taken::yes ? Lock::taken : taken == Taken::no ? Lock::held : Lock::fenced;
}

void World::begin_under(Worker& worker, Lock lock, const std::string& payload) {
  worker.runs = job_of(payload);
  if (lock != Lock::taken) return;
  Worker*& runs = running_[member_of(payload, "runs")];
  if (runs && runs != &worker && !may_run_twice_.contains(runs->runs) && !may_run_twice_.contains(worker.runs))
    fault(fmt::format("{} and {} run at the same time", runs->runs, worker.runs));
  runs = &worker;
}

// The books are kept without a yield before the write that tells the scoreboard, so that both are always equally old.
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
    if (chance(0.1)) note.payload.resize(OutcomeNotes::text_bytes + 1);  // for which there is no room
    slot.finish_entry(entry, note);
    return outcome;
  }
  slot.end(entry, EntryState::interrupted);
  return {chance(0.67) ? Outcome::Kind::requeue_back : Outcome::Kind::requeue_head, payload, 0};
}

// After every single write of a worker to its slot: here it may be killed, and here the others go on.
void World::wrote(Worker& worker) {
  SlotRecord& record = scoreboard_.slot(worker.slot);
  if (broken_.number_before_clearing) {
    // Undoes each clearing until the number is there, and lets the old states pass for states of the new batch.
    const std::uint64_t number = record.number.load();
    if (number == worker.last_number) {
      for (int i = 0; i < max_batch_entries; ++i) {
        const std::uint32_t now = record.entries[i].load();
        if (now != 0) worker.cleared[i] = now;
      }
    } else {
      worker.last_number = number;
      for (int i = 0; i < max_batch_entries; ++i) {
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

void World::break_holdings(Command& command) const {
  const auto is = [&](const Script& script) { return command.args[1] == script.sha || command.args[1] == script.text; };
  const auto breaks = [&](const Script& script, std::string_view from, std::string_view to) {
    command.args[0] = "EVAL";
    command.args[1] = replaced(script.text, from, to);
  };
  constexpr std::string_view settle_lets_go = "if let_go then let_go(0) end\n";
  if (broken_.locks_kept_at_settle && is(scripts::settle_and_fetch))
    breaks(scripts::settle_and_fetch, settle_lets_go, "");
  if (broken_.locks_let_go_by_anybody && is(scripts::settle_and_fetch))
    breaks(scripts::settle_and_fetch, R"(redis.call("GET", one.key) == one.member)", "true");
  if (broken_.locks_kept_at_recovery && is(scripts::recover))
    breaks(scripts::recover, "for _, number in ipairs(applied) do let_go(number) end", "");
  if (broken_.holdings_unheeded && is(scripts::recover)) breaks(scripts::recover, "  let_go(0)\n", "");
  if (broken_.late_takes_unseen && is(scripts::recover))
    breaks(scripts::recover, R"(if (holds or nil) ~= noted then return {"HOLDS", holds or ""} end)", "");
  if (broken_.takes_unfenced && is(scripts::take_running_lock))
    breaks(scripts::take_running_lock, R"(if not is_senders(ARGV[2]) then return "FENCED" end)", "");
  if (broken_.kept_without_field && is(scripts::settle_without_field))
    breaks(scripts::settle_without_field, settle_lets_go, "");
  if (broken_.locks_let_go_by_failures && is(scripts::settle_and_fetch)) {
    std::vector<LetGo> let_go;
    for (std::size_t i = 0; i + 1 < command.args.size(); ++i) {
      if (command.args[i] == "retry") append_held(let_go, command.args[i + 1], 0);
    }
    if (let_go.empty()) return;
    ScriptCall call{&scripts::settle_and_fetch, {}, {}};
    const std::size_t keys = std::stoul(command.args[2]);
    for (std::size_t i = 0; i < keys; ++i) call.keys.emplace_back(command.args[3 + i]);
    call.args.assign(command.args.begin() + 3 + keys, command.args.end());
    if (call.args[5].find(' ') != std::string::npos) return;
    append(call, 5, let_go);
    command = call.eval();
  }
}

void World::rewrite(Command& command, bool last_was_lost) const {
  const Script& script = scripts::settle_and_fetch;
  if (command.args[0] != "EVALSHA" && command.args[0] != "EVAL") return;
  if (broken_.recovery_unchecked &&
      (command.args[1] == scripts::recover.sha || command.args[1] == scripts::recover.text)) {
    command.args[0] = "EVAL";
    command.args[1] = replaced(scripts::recover.text, "if number ~= expected then verdicts = {} end", "");
  }
  if (broken_.tombstones_omitted &&
      (command.args[1] == scripts::recover.sha || command.args[1] == scripts::recover.text)) {
    command.args[0] = "EVAL";
    command.args[1] = replaced(scripts::recover.text, R"(redis.call("SET", KEYS[6], "dead", "EX", 3600))", "");
  }
  if (broken_.adoptions_unchecked &&
      (command.args[1] == scripts::recover.sha || command.args[1] == scripts::recover.text)) {
    command.args[0] = "EVAL";
    command.args[1] = replaced(scripts::recover.text, R"(redis.call("EXISTS", KEYS[8]) == 1)", "false");
  }
  if (broken_.refusals_ignored && (command.args[1] == script.sha || command.args[1] == script.text)) {
    command.args[0] = "EVAL";
    command.args[1] = replaced(script.text, R"(if type(reply) == "table" and reply.err then refusal = reply end)", "");
  }
  break_holdings(command);
  const Script& lost = scripts::settle_without_field;
  if (command.args[1] == lost.sha || command.args[1] == lost.text) {
    ++coverage_.settled_without_field;
    if (broken_.lost_fields_abandoned || broken_.lost_entries_unchecked || broken_.tombstones_omitted)
      command.args[0] = "EVAL";
    if (broken_.tombstones_omitted)
      command.args[1] = replaced(lost.text, R"(redis.call("SET", KEYS[2], "dead", "EX", 3600))", "");
    if (broken_.lost_fields_abandoned) command.args[1] = "return {0, 0}";
    if (broken_.lost_entries_unchecked)
      command.args[1] = replaced(lost.text, "if not entry or not is_marked(entry, ARGV[i]) then break end",
                                 "if not entry then break end");
  }
  if (command.args[1] != script.sha && command.args[1] != script.text) return;
  if (broken_.waits_unannounced) command.args[3 + std::stoul(command.args[2]) + 4].clear();
  if (broken_.numbers_unchecked) {
    command.args[0] = "EVAL";
    command.args[1] = replaced(replaced(script.text, "(number ~= expected and number ~= expected + 1)", "false"),
                               R"(if number == expected + 1 then return answer("AGAIN") end)", "");
  }
  if (broken_.resends_renumbered && last_was_lost) {
    std::string& number = command.args[3 + std::stoul(command.args[2]) + 1];
    number = std::to_string(std::stoull(number) + 1);
  }
}

}  // namespace interleavings

}  // namespace brood
