#include "tests/store/interleavings/world.hpp"

namespace brood::interleavings {
namespace {

constexpr std::size_t slots = 3;
constexpr int wild_steps = 2'000;
constexpr int calm_steps = 20'000;  // at most; the run ends when every job has ended
constexpr int steps_between_checks = 100;

}  // namespace

World::World(const std::vector<Channel*>& shards, std::uint64_t seed, Broken broken, Coverage& coverage, bool tracing)
    : broken_(broken),
      coverage_(coverage),
      tracing_(tracing),
      random_(seed),
      has_caps_(seed % 4 == 0),
      has_sequences_(seed % 4 == 1),
      has_tenants_(seed % 4 == 2),
      scoreboard_(Scoreboard::in_memory(slots)) {
  const std::size_t wanted = chance(0.5) ? 1 : 1 + random_() % shards.size();
  for (std::size_t i = 0; i < wanted; ++i) shards_.push_back(std::make_unique<Shard>(static_cast<int>(i), *shards[i]));
  server().call({"CONFIG", "SET", "maxmemory", "0"});
  allow_everything();
  server().call({"FLUSHALL"});
  // Removes what the last seed left: the same seed must always get the same answers.
  server().call({"SCRIPT", "FLUSH"});
  for (const Script* script : {&scripts::register_incarnation, &scripts::settle_and_fetch, &scripts::recover})
    server().call({"SCRIPT", "LOAD", script->text});
  push_jobs(nullptr);
  full_redis_ = chance(0.15);
  if (full_redis_) server().call({"CONFIG", "SET", "maxmemory", "1"});
  for (std::size_t i = 0; i < slots; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->slot = static_cast<int>(i);
    spawn(*workers_.back());
  }
}

World::~World() {
  for (auto& worker : workers_) worker->actor.reset();
  for (auto& recovery : recoveries_) recovery->actor.reset();
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
  for (auto& shard : shards_) shard->is_away = false;
  bool ended = false;
  for (int i = 0; i < calm_steps && faults_.empty() && !ended; ++i) {
    step(true);
    if (i % steps_between_checks == 0) ended = check_places();
  }
  if (faults_.empty() && !ended) {
    std::string where;
    for (const Place& place : all_places()) {
      if (place.key != "dead") where += " " + place.payload + " in " + place.key;
    }
    fault("some job is stuck: it neither ends nor dies:" + where);
  }
  if (faults_.empty()) finish();
  for (const auto& shard : shards_) coverage_.commands_refused += shard->network.refused();
  return faults_;
}

void World::step(bool calm) {
  const double what = std::uniform_real_distribution<>(0, 1)(random_);
  Worker& worker = *workers_[random_() % slots];
  Shard& at = any_shard();
  if (what < 0.25) {
    coverage_.commands += deliver_one();
  } else if (what < 0.262 && !calm) {
    kill(worker, false);
  } else if (what < 0.263 && !calm) {
    ++coverage_.host_deaths;
    for (auto& each : workers_) kill(*each, true);
  } else if (what < (at.beat_is_old ? 0.268 : 0.2645)) {
    beat_is_missed(at);
  } else if (what < 0.269 && !calm) {
    worker.told_to_retire = true;
  } else if (what < 0.27 && !calm) {
    server().call({"SCRIPT", "FLUSH"});  // as after a restart of Redis: every script gets NOSCRIPT
  } else if (what < 0.285 && !calm) {
    break_a_connection();
  } else if (what < 0.31) {
    take_back();
  } else if (what < 0.33) {
    move_due_jobs(at);
  } else if (what < 0.333 && !calm) {
    reschedule_a_retry(at);
  } else if (what < 0.334 && !calm) {
    push_a_twin(at);
  } else if (what < 0.335 && !calm) {
    raise_a_dead(at);
  } else if (what < 0.336 && !calm) {
    lose_fields(at);
  } else if (what < 0.3364 && !calm) {
    flush(at);
  } else if (what < 0.3372 && !calm) {
    lose_the_processes(at);
  } else if (what < 0.339 && !calm) {
    refuse_a_command();
  } else if (what < 0.341) {
    sweep(at);
  } else if (what < 0.343) {
    look_for_orphans(at);
    if (has_tenants_) look_for_tenants(at);
  } else if (what < 0.353 && !calm) {
    allow_everything();
  } else if (what < (at.is_away ? 0.363 : 0.356) && !calm) {
    go_away_or_come_back(at);
  } else if (what < 0.366 && has_caps_) {
    return_set_aside(at);
  } else if (what < 0.38) {
    worker.wanted = at.number;
  } else {
    resume_somebody();
  }
}

// Delivers one command to a shard that can be reached.
bool World::deliver_one() {
  const std::size_t first = random_() % shards_.size();
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    Shard& one = *shards_[(first + i) % shards_.size()];
    if (!one.is_away && one.network.deliver_one(random_)) return true;
  }
  return false;
}

void World::resume_somebody() {
  std::vector<Actor*> ready;
  for (auto& worker : workers_) {
    if (worker->actor->done()) {
      if (!worker->actor->error().empty()) fault("a worker died of " + worker->actor->error());
      if (worker->ends_unsettled) {
        ++coverage_.left_unsettled;
        recover_from(*worker, false);
      } else if (record_of_slot(*worker).retired.load() != 1) {
        fault("a worker ended and did not retire");
      }
      coverage_.retired += !worker->ends_unsettled;
      spawn(*worker);
    }
    if (!worker->channel->now().waits_for_redis() && !all_stand_still_) ready.push_back(worker->actor.get());
  }
  for (auto& recovery : recoveries_) {
    if (!recovery->actor->done() && !recovery->channel->waits_for_redis()) ready.push_back(recovery->actor.get());
    if (!recovery->actor->error().empty()) fault("a recovery failed: " + recovery->actor->error());
  }
  std::erase_if(recoveries_, [](const auto& recovery) { return recovery->actor->done(); });
  if (!ready.empty()) ready[random_() % ready.size()]->resume();
}

void World::spawn(Worker& worker) {
  worker.actor.reset();
  worker.shard = worker.wanted = any_shard().number;
  if (!broken_.incarnations_reused || worker.incarnation == 0) worker.incarnation = ++last_incarnation_;
  worker.told_to_retire = worker.ends_unsettled = worker.unsettled = false;
  worker.outcomes.clear();
  worker.lapses = shard(worker.shard).lapses;
  worker.session = nullptr;
  worker.last_number = 0;
  worker.cleared.fill(0);
  vacate(record_of_slot(worker), worker.incarnation, 1, worker.shard);
  std::vector<Network*> networks;
  for (auto& one : shards_) networks.push_back(&one->network);
  worker.channel = std::make_unique<MovingChannel>(networks, rewrite(), worker.shard);
  worker.actor = std::make_unique<Actor>([this, &worker](Actor& actor) { work(worker, actor); });
  worker.channel->belong_to(*worker.actor);
}

UnreliableChannel::Rewrite World::rewrite() {
  return [this](Command& command, bool last_was_lost) {
    coverage_.settled_without_field += settles_without_field(command);
    without_rules(broken_, command, last_was_lost);
  };
}

}  // namespace brood::interleavings
