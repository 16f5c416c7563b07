// Faults, and brood's reactions to them; see world.hpp.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/worker_field.hpp"
#include "tests/store/interleavings/payloads.hpp"
#include "tests/store/interleavings/world.hpp"

namespace brood::interleavings {
namespace {

// One letter for each state, in the order of the enumeration.
std::string letters(const std::vector<EntryState>& states) {
  std::string text;
  for (const EntryState state : states) text += "-frsxitkj"[static_cast<int>(state)];
  return text;
}

}  // namespace

void World::break_a_connection() {
  std::vector<UnreliableChannel*> calling;
  for (auto& worker : workers_) {
    if (worker->channel->now().in_a_call()) calling.push_back(&worker->channel->now());
  }
  for (auto& recovery : recoveries_) {
    if (recovery->channel->in_a_call()) calling.push_back(recovery->channel.get());
  }
  if (calling.empty()) return;
  ++coverage_.lost_replies;
  calling[random_() % calling.size()]->lose(chance(0.4));
}

void World::go_away_or_come_back(Shard& one) {
  one.is_away = !one.is_away;
  coverage_.times_away += one.is_away;
  note(fmt::format("shard {} is {}", one.number, one.is_away ? "away" : "back"));
}

void World::kill(Worker& worker, bool with_its_host) {
  if (worker.actor->done()) return;  // it has ended by itself, unnoticed so far
  ++coverage_.kills;
  if (chance(0.4)) worker.channel->now().lose(true);
  note_what_it_holds(worker);
  worker.actor->kill();
  recover_from(worker, with_its_host);
  spawn(worker);
}

// Notes the batch of its last incarnation; nothing if the worker has not taken that incarnation yet.
void World::note_what_it_holds(Worker& worker) {
  worker.held.clear();
  if (!worker.session || record_of_slot(worker).own_incarnation.load() != worker.incarnation) return;
  for (const std::string& entry : worker.session->batch().entries) worker.held.push_back(entry);
}

// The supervisor's part when a worker has ended, in the shard for which it has assigned the last incarnation.  The slot
// describes that incarnation, unless the worker has not taken it yet.
void World::recover_from(Worker& worker, bool with_its_host) {
  std::erase_if(running_, [&](const auto& one) { return one.second == &worker; });
  if (broken_.places_freed_at_death) free_places_of(worker);
  SlotRecord& record = record_of_slot(worker);
  const std::vector<std::string>& held = worker.held;
  const bool took_its_name = record.own_incarnation.load() == worker.incarnation;
  const bool scribbled = !with_its_host && chance(0.06);
  const bool ended_by_brood = !with_its_host && !scribbled && chance(0.1);
  if (scribbled) {
    const std::uint64_t rubbish[] = {999, static_cast<std::uint64_t>(-3), record.number.load() + 7};
    record.number.store(rubbish[random_() % 3]);
  }
  const SlotSnapshot seen = last_words(record);
  coverage_.judged += std::ranges::count(seen.entries, EntryState::judged);
  coverage_.killed_on_the_way += worker.wanted != worker.shard || !took_its_name;
  note(fmt::format("the end of {}.{} in shard {} {} number {} states {} holding {}", worker.slot, worker.incarnation,
                   worker.shard,
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

  DeadWorker dead{identity, worker.slot, worker.incarnation, std::nullopt, ended_by_brood};
  if (!with_its_host && took_its_name) dead.record = record_of(seen);
  if (dead.record && broken_.notes_unheeded) dead.record->outcomes.clear();
  const int where = broken_.recovered_where_called ? worker.wanted : worker.shard;
  if (!has_field(worker.shard, worker_field(worker.slot, worker.incarnation))) judge_unknown(held);
  start_recovery(where, dead, held);
  if (with_its_host || chance(0.15)) start_recovery(where, dead, held);  // two supervisors adopt the same identity
}

// Our supervisor stands still, alone or with its workers, or does not reach this Redis.  Its heartbeat there grows old,
// and comes again either before another supervisor has acted on that, or after.
void World::beat_is_missed(Shard& at) {
  if (!at.beat_is_old) {
    if (calm_) return;
    ++coverage_.beats_missed;
    note(fmt::format("the heartbeat in shard {} is old", at.number));
    at.beat_is_old = true;
    all_stand_still_ = chance(0.5);
    at.redis.call({"DEL", identity});
    // A supervisor that was delayed since the last time may adopt jobs now: of living workers, and of dead ones that it
    // then considered alive.  It does not know what the dead had begun.
    for (const auto& recovery : recoveries_) {
      if (recovery->shard != at.number) continue;
      what_is_begun_may_run_twice(at);
      const auto of_same = [&](const auto& other) { return other != recovery && other->field == recovery->field; };
      if (std::ranges::any_of(recoveries_, of_same)) judge_unknown(recovery->held);
    }
    return;
  }
  if (!calm_ && chance(0.5)) return host_seems_dead(at);
  const Reply beaten =  // as a heartbeat does, which a full Redis lets through
      at.redis.call({"EVAL", "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 1)", "1", identity});
  if (!beaten.view().error().empty()) return;
  note(fmt::format("the heartbeat in shard {} comes again", at.number));
  at.beat_is_old = all_stand_still_ = false;
  ++at.lapses;
}

// Another supervisor has seen no heartbeat of ours for too long, while our workers live.  Jobs that they have begun may
// run twice, but nothing else may go wrong.
void World::host_seems_dead(Shard& at) {
  note(fmt::format("host seems dead in shard {}", at.number));
  what_is_begun_may_run_twice(at);
  for (auto& worker : workers_) {
    if (worker->shard == at.number)
      start_recovery(at.number, {identity, worker->slot, worker->incarnation, std::nullopt, false, true}, {});
  }
}

void World::what_is_begun_may_run_twice(const Shard& at) {
  for (auto& worker : workers_) {
    if (!worker->session || worker->shard != at.number) continue;
    const SlotSnapshot seen = snapshot(record_of_slot(*worker));
    const auto& entries = worker->session->batch().entries;
    for (std::size_t i = 0; i < entries.size() && i < seen.entries.size(); ++i) {
      if (seen.entries[i] != EntryState::fetched) may_run_twice_.insert(job_of(entries[i]));
    }
  }
}

// The supervisor takes back what waits behind a running job.
void World::take_back() {
  Worker& worker = *workers_[random_() % workers_.size()];
  SlotRecord& record = record_of_slot(worker);
  const SlotSnapshot seen = snapshot(record);
  const int count = static_cast<int>(seen.entries.size());
  if (std::ranges::count(seen.entries, EntryState::running) == 0 || !seen.text_is_whole) return;
  const int kept = take_back_unbegun(record, seen.number, count);
  if (kept == count) return;
  coverage_.taken_back += count - kept;
  note(fmt::format("take back {}.{} number {} of {} keep {}", worker.slot, seen.incarnation, seen.number, count, kept));
  const ScriptCall call =
      give_back(identity, worker_field(worker.slot, seen.incarnation), seen.queue, seen.number, kept);
  shard(worker.shard).network.post(call.command());
  if (chance(0.33)) shard(worker.shard).network.post(call.command());
}

void World::start_recovery(int where, DeadWorker dead, std::vector<std::string> held, long* goes_back) {
  auto recovery = std::make_unique<Recovery>();
  recovery->field = worker_field(dead.slot, dead.incarnation);
  recovery->shard = where;
  recovery->held = std::move(held);
  recovery->channel = std::make_unique<UnreliableChannel>(shard(where).network, rewrite());
  recovery->actor = std::make_unique<Actor>(
      [this, where, goes_back, channel = recovery->channel.get(), dead = std::move(dead)](Actor& actor) {
        const std::string field = worker_field(dead.slot, dead.incarnation);
        for (;;) {
          if (broken_.dead_without_field_left && !has_field(where, field)) return;
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
            if (goes_back) *goes_back += result.given_back;
            coverage_.orphaned += result.orphaned;
            note(fmt::format("recovered {} in shard {}: acknowledged {} charged {} given back {} orphaned {}{}", field,
                             where, result.acknowledged, result.charged, result.given_back, result.orphaned,
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

// Our own field that no worker has and no recovery removes: a registration came late.
void World::look_for_orphans(Shard& at) {
  if (at.is_away || broken_.left_behind_forgotten) return;
  const Reply fields = at.redis.call({"HKEYS", keys::in_flight_hash(identity)});
  for (std::size_t i = 0; i < fields.view().size(); ++i) {
    const std::string field(fields.view()[i].text());
    const auto parsed = parse_worker_field(field);
    if (!parsed) continue;
    const bool lives = std::ranges::any_of(workers_, [&](const auto& worker) {
      return field == worker_field(worker->slot, worker->incarnation) ||
             field == worker_field(worker->slot, record_of_slot(*worker).own_incarnation.load());
    });
    const bool is_recovered = std::ranges::any_of(recoveries_, [&](const auto& one) { return one->field == field; });
    if (lives || (is_recovered && !broken_.left_behind_unnamed)) continue;
    ++coverage_.orphans;
    note(fmt::format("{} is an orphan in shard {}", field, at.number));
    start_recovery(at.number, {identity, parsed->slot, parsed->incarnation, std::nullopt, true}, {});
  }
}

bool World::has_field(int where, const std::string& field) {
  return shard(where).redis.call({"HEXISTS", keys::in_flight_hash(identity), field}).view().integer() != 0;
}

// Payloads here have no jid, by which a real recovery without a field would know what was begun.
void World::judge_unknown(const std::vector<std::string>& held) {
  for (const std::string& payload : held) may_run_twice_.insert(job_of(payload));
}

// Keys are evicted or deleted by mistake.  The living must not notice, and nothing of the dead may be left.
void World::lose_fields(Shard& at) {
  ++coverage_.fields_lost;
  lost_fields_ = true;
  for (const auto& recovery : recoveries_) {
    if (recovery->shard == at.number) judge_unknown(recovery->held);
  }
  const Reply fields = at.redis.call({"HKEYS", keys::in_flight_hash(identity)});
  if (fields.view().size() == 0) return;
  const bool all = chance(0.3);
  if (all && !leaves_locks()) {
    note(fmt::format("the in-flight hash is lost in shard {}", at.number));
    at.redis.call({"DEL", keys::in_flight_hash(identity)});
    return;
  }
  const std::string field(fields.view()[random_() % fields.view().size()].text());
  if (leaves_locks() && !parse_worker_field(field)) return;
  note(fmt::format("the field {} is lost in shard {}", field, at.number));
  at.redis.call({"HDEL", keys::in_flight_hash(identity), field});
}

// These broken rules leave locks.  No other fault may leave any then.
bool World::leaves_locks() const {
  return broken_.takes_unfenced || broken_.late_takes_unseen || broken_.holdings_unheeded || broken_.kept_without_field;
}

// Nothing that a worker or a recovery does may depend on this key.
void World::lose_the_processes(Shard& at) {
  ++coverage_.processes_lost;
  lost_fields_ = true;
  note(fmt::format("brood:processes is lost in shard {}", at.number));
  at.redis.call({"DEL", keys::brood_processes});
}

// The rights of the user change for a while: any script may be refused at any of its commands.
void World::refuse_a_command() {
  may_change_order_ = true;
  static const std::vector<std::string> usual{"zadd",  "lpush", "rpush", "hset", "hdel",
                                              "ltrim", "lmove", "zrem",  "set"};
  static const std::vector<std::string> of_caps{"sadd", "srem", "expire"};
  const bool is_of_caps = has_caps_ && chance(0.5);
  const std::vector<std::string>& commands = is_of_caps ? of_caps : usual;
  const std::string& command = commands[random_() % commands.size()];
  note("refused from now on: " + command);
  server().call({"ACL", "SETUSER", "default", "-" + command});
  refuses_ = true;
}

void World::allow_everything() {
  if (!refuses_) return;
  note("everything is allowed again");
  server().call({"ACL", "SETUSER", "default", "+@all"});
  refuses_ = false;
}

// All keys are gone, even those in use.  Later pushes are not.
void World::flush(Shard& at) {
  ++coverage_.flushes;
  note(fmt::format("shard {} is flushed", at.number));
  for (const auto& [job, home] : home_) {
    if (home.shard == at.number) may_run_twice_.insert(job);
  }
  std::erase_if(unique_, [&](const auto& one) { return home_.at(one.second).shard == at.number; });
  std::erase_if(home_, [&](const auto& one) { return one.second.shard == at.number; });
  server().call({"CONFIG", "SET", "maxmemory", "0"});
  allow_everything();
  at.redis.call({"FLUSHDB"});
  // A supervisor that seems dead, is flushed and comes back at the same time would be one mishap too many.
  if (!at.beat_is_old) at.redis.call({"SET", identity, "beats"});
  push_jobs(&at);
  if (full_redis_) server().call({"CONFIG", "SET", "maxmemory", "1"});
}

void World::sweep(Shard& at) {
  // Without these rules the sweep would find what is lost.
  if (broken_.tombstones_omitted || broken_.dead_without_field_left || broken_.waits_unannounced) return;
  ++coverage_.sweeps;
  OwnIncarnations own{identity, {}, last_incarnation_};
  for (const auto& worker : workers_) {
    own.living.insert(worker_field(worker->slot, worker->incarnation));
    own.living.insert(worker_field(worker->slot, record_of_slot(*worker).own_incarnation.load()));
  }
  for (const auto& recovery : recoveries_) own.living.insert(recovery->field);
  const int jobs = give_back_lists_without_field(
      at.redis, [&](const InFlightList& list) { return !broken_.living_swept && own.lives(list.field); });
  if (jobs > 0) note(fmt::format("swept {} jobs", jobs));
  if (leaves_locks()) return;
  const int locks =
      let_go_of_stray_locks(at.redis, [&](const RunningHolder& holder) { return own.lives(holder.field); });
  if (locks > 0) note(fmt::format("swept {} locks", locks));
}

}  // namespace brood::interleavings
