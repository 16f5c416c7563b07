#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/worker_field.hpp"
#include "tests/store/interleavings/actor.hpp"
#include "tests/store/interleavings/network.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/fetch_and_settle.hpp"

// Workers that go between two shards, in random interleavings with kills, lost replies and shards that are away: the
// product's own worker and recovery code, and two databases of a real Redis.
using namespace brood;
using namespace brood::interleavings;
using namespace std::chrono_literals;

namespace {

const std::string identity = "host:1:0123456789ab";
constexpr int shards = 2, slots = 3, jobs = 24, wild_steps = 1'500, calm_steps = 20'000;

// A worker's connection, to one shard at a time.
class MovingChannel : public Channel {
 public:
  explicit MovingChannel(std::array<std::unique_ptr<Network>, shards>& networks) {
    for (std::size_t i = 0; i < channels_.size(); ++i)
      channels_[i] = std::make_unique<UnreliableChannel>(*networks[i], UnreliableChannel::Rewrite{});
  }
  void belong_to(Actor& actor) {
    for (auto& channel : channels_) channel->belong_to(actor);
  }
  void serve(int shard) {
    disconnect();
    served_ = static_cast<std::size_t>(shard);
  }
  UnreliableChannel& now() { return *channels_[served_]; }

  Reply call(const Command& command) override { return now().call(command); }
  std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience) override {
    return now().call_patiently(commands, patience);
  }
  void disconnect() override { now().disconnect(); }

 private:
  std::array<std::unique_ptr<UnreliableChannel>, shards> channels_;
  std::size_t served_ = 0;
};

struct Coverage {
  long moves = 0, left_behind = 0, left_unsettled = 0, kills = 0, losses = 0, times_away = 0;
};

// One seed.
class Moves {
 public:
  Moves(RedisServer& server, std::uint64_t seed, bool leaves_first, Coverage& coverage)
      : leaves_first_(leaves_first), coverage_(coverage), random_(seed), scoreboard_(Scoreboard::in_memory(slots)) {
    server.flush();
    for (std::size_t shard = 0; shard < shards; ++shard) {
      RedisAddress address = server.address();
      address.db = static_cast<int>(shard);
      redis_[shard] = std::make_unique<Connection>(address);
      networks_[shard] = std::make_unique<Network>(*redis_[shard]);
      for (int job = 0; job < jobs; ++job)
        redis_[shard]->call({"LPUSH", keys::queue("a"), fmt::format("{}.{}", shard, job)});
    }
    for (int slot = 0; slot < slots; ++slot) {
      workers_[static_cast<std::size_t>(slot)].slot = slot;
      spawn(workers_[static_cast<std::size_t>(slot)]);
    }
  }
  ~Moves() {
    for (Worker& worker : workers_) worker.actor.reset();
    for (auto& recovery : recoveries_) recovery->actor.reset();
  }

  // What went wrong; empty: nothing.
  std::string run() {
    for (int i = 0; i < wild_steps && fault_.empty(); ++i) step();
    calm_ = true;
    away_.fill(false);
    for (int i = 0; i < calm_steps && fault_.empty(); ++i) {
      step();
      if (i % 100 == 0 && is_over()) return "";
    }
    return fault_.empty() ? "some job is never done" : fault_;
  }

 private:
  struct Worker {
    int slot = 0, shard = 0, wanted = 0;
    std::uint64_t incarnation = 0;
    bool leaves_unsettled = false;
    std::unique_ptr<MovingChannel> channel;
    std::unique_ptr<Actor> actor;
  };
  struct Recovery {
    std::string field;
    std::unique_ptr<UnreliableChannel> channel;
    std::unique_ptr<Actor> actor;
  };

  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  SlotRecord& record_of_slot(const Worker& worker) { return scoreboard_.slot(worker.slot); }

  void step() {
    const double what = std::uniform_real_distribution<>(0, 1)(random_);
    const std::size_t shard = random_() % shards;
    Worker& worker = workers_[random_() % slots];
    if (what < 0.3) {
      if (!away_[shard]) networks_[shard]->deliver_one(random_);
    } else if (what < 0.32) {
      worker.wanted = static_cast<int>(random_() % shards);
    } else if (what < 0.325 && !calm_) {
      away_[shard] = !away_[shard];
      coverage_.times_away += away_[shard];
    } else if (what < 0.335 && !calm_) {
      ++coverage_.kills;
      end(worker);
    } else if (what < 0.36 && (!calm_ || chance(0.01))) {
      lose(worker.channel->now());
    } else if (what < 0.37 && !recoveries_.empty() && !calm_) {
      lose(*recoveries_[random_() % recoveries_.size()]->channel);
    } else if (what < 0.4) {
      look_for_orphans(shard);
    } else {
      resume_somebody();
    }
  }

  void lose(UnreliableChannel& channel) {
    if (!channel.in_a_call()) return;
    ++coverage_.losses;
    channel.lose(chance(0.5));
  }

  void resume_somebody() {
    std::erase_if(recoveries_, [](const auto& recovery) { return recovery->actor->done(); });
    const std::size_t who = random_() % (slots + recoveries_.size());
    if (who >= slots) return recoveries_[who - slots]->actor->resume();
    Worker& worker = workers_[who];
    worker.actor->resume();
    if (!worker.actor->error().empty()) fault_ = worker.actor->error();
    if (worker.actor->done()) end(worker);
  }

  // Killed, or gone by itself: the scoreboard tells what it held, in the shard that its incarnation was assigned for.
  void end(Worker& worker) {
    worker.actor->kill();
    recover_from(worker);
    spawn(worker);
  }

  void recover_from(const Worker& worker) {
    const SlotSnapshot seen = last_words(record_of_slot(worker));
    DeadWorker dead{identity, worker.slot, worker.incarnation, std::nullopt, true};
    if (seen.incarnation == worker.incarnation) dead.record = record_of(seen);
    start_recovery(worker.shard, dead);
  }

  void start_recovery(int shard, const DeadWorker& dead) {
    auto recovery = std::make_unique<Recovery>();
    recovery->field = worker_field(dead.slot, dead.incarnation);
    recovery->channel =
        std::make_unique<UnreliableChannel>(*networks_[static_cast<std::size_t>(shard)], UnreliableChannel::Rewrite{});
    recovery->actor = std::make_unique<Actor>([dead, channel = recovery->channel.get()](Actor&) {
      const auto goes_back = [](const std::string& payload, const std::string&) {
        return Outcome{Outcome::Kind::requeue_head, payload, 0};
      };
      for (;;) {
        try {
          recover(*channel, dead, {}, goes_back, goes_back);
          return;
        } catch (const ConnectionLost&) {
        }
      }
    });
    recovery->channel->belong_to(*recovery->actor);
    recoveries_.push_back(std::move(recovery));
  }

  // A field that no slot names is of somebody who has left it.
  void look_for_orphans(std::size_t shard) {
    if (away_[shard]) return;
    const Reply fields = redis_[shard]->call({"HKEYS", keys::in_flight_hash(identity)});
    for (std::size_t i = 0; i < fields.view().size(); ++i) {
      const std::string field(fields.view()[i].text());
      const bool is_known =
          std::any_of(workers_.begin(), workers_.end(),
                      [&](const Worker& worker) {
                        return field == worker_field(worker.slot, worker.incarnation) ||
                               field == worker_field(worker.slot, record_of_slot(worker).own_incarnation.load());
                      }) ||
          std::any_of(recoveries_.begin(), recoveries_.end(),
                      [&](const auto& recovery) { return recovery->field == field; });
      if (is_known) continue;
      const auto parsed = parse_worker_field(field);
      start_recovery(static_cast<int>(shard), {identity, parsed->slot, parsed->incarnation, std::nullopt, true});
    }
  }

  std::uint64_t assign(Worker& worker) {
    worker.shard = worker.wanted;
    worker.incarnation = ++last_incarnation_;
    record_of_slot(worker).shard.store(worker.shard);
    record_of_slot(worker).incarnation.store(worker.incarnation);
    return worker.incarnation;
  }

  void spawn(Worker& worker) {
    worker.actor.reset();
    worker.leaves_unsettled = false;
    worker.wanted = static_cast<int>(random_() % shards);
    worker.shard = worker.wanted;
    worker.incarnation = ++last_incarnation_;
    vacate(record_of_slot(worker), worker.incarnation, 1, worker.shard);
    worker.channel = std::make_unique<MovingChannel>(networks_);
    worker.channel->serve(worker.shard);
    worker.actor = std::make_unique<Actor>([this, &worker](Actor& actor) { work(worker, actor); });
    worker.channel->belong_to(*worker.actor);
  }

  void work(Worker& worker, Actor& actor) {
    WorkerSlot slot(record_of_slot(worker));
    slot.after_write_argument = &actor;
    slot.after_write = [](void* argument) { static_cast<Actor*>(argument)->yield(); };
    bool unsettled = false;
    const auto new_incarnation = [&] {
      actor.yield();
      const std::uint64_t incarnation = assign(worker);
      record_of_slot(worker).own_shard.store(worker.shard);
      worker.channel->serve(worker.shard);
      return incarnation;
    };
    FetchAndSettle::Setup setup;
    setup.identity = identity;
    setup.identity_record = "{}";
    setup.slot = worker.slot;
    setup.new_incarnation = new_incarnation;
    setup.incarnation_elsewhere = [&] {
      ++coverage_.left_behind;
      recover_from(worker);
      return new_incarnation();
    };
    setup.pause = [&](std::chrono::milliseconds) {
      actor.yield();
      if (worker.wanted != worker.shard) throw ShardIsAway{};
    };
    setup.is_to_leave = [&] { return worker.wanted != worker.shard; };
    auto in_flight = std::make_unique<FetchAndSettle>(*worker.channel, slot, setup);
    std::vector<Outcome> outcomes;
    for (;;) {
      try {
        unsettled = !outcomes.empty();
        if (worker.wanted != worker.shard) {
          ++coverage_.moves;
          if (!leaves_first_) {
            new_incarnation();
            in_flight = std::make_unique<FetchAndSettle>(*worker.channel, slot, setup);
            outcomes.clear();
            continue;
          }
          if (!outcomes.empty()) in_flight->settle_and_fetch(std::exchange(outcomes, {}), {}, 0);
          unsettled = false;
          in_flight->move();
          continue;
        }
        const int want = 1 + static_cast<int>(random_() % 4);
        const auto& batch = in_flight->settle_and_fetch(std::exchange(outcomes, {}), {"a"}, want, "a");
        unsettled = false;
        if (batch.entries.empty()) in_flight->wait_for_job();
        perform(slot, in_flight->batch(), outcomes, actor);
      } catch (const ShardIsAway&) {
        if (unsettled) {
          ++coverage_.left_unsettled;
          return;
        }
        in_flight->leave_behind();
      }
    }
  }

  void perform(WorkerSlot& slot, const FetchAndSettle::Batch& batch, std::vector<Outcome>& outcomes, Actor& actor) {
    for (std::size_t i = 0; i < batch.entries.size(); ++i) {
      const std::string payload = batch.entries[i].payload;
      if (!slot.begin(static_cast<int>(i), "jid", "Job", WallTime{}, SteadyTime{}, 0)) return;
      actor.yield();
      if (!calm_ && chance(0.1)) {
        slot.end(static_cast<int>(i), EntryState::interrupted);
        outcomes.push_back({Outcome::Kind::requeue_head, payload, 0});
        return;
      }
      if (++ends_[payload] > 1) fault_ = payload + " was done twice";
      slot.end(static_cast<int>(i), EntryState::succeeded);
      outcomes.emplace_back();
      if (chance(0.2)) return;
    }
  }

  bool is_over() {
    if (ends_.size() < static_cast<std::size_t>(jobs * shards)) return false;
    for (auto& redis : redis_) {
      if (redis->call({"EXISTS", keys::queue("a")}).view().integer() != 0) return false;
    }
    return recoveries_.empty();
  }

  const bool leaves_first_;
  Coverage& coverage_;
  std::mt19937_64 random_;
  std::array<std::unique_ptr<Connection>, shards> redis_;
  std::array<std::unique_ptr<Network>, shards> networks_;
  std::array<bool, shards> away_{};
  Scoreboard scoreboard_;
  std::array<Worker, slots> workers_;
  std::vector<std::unique_ptr<Recovery>> recoveries_;
  std::uint64_t last_incarnation_ = 0;
  bool calm_ = false;
  std::map<std::string, int> ends_;
  std::string fault_;
};

struct Quiet {
  Quiet() { log::set_level(log::Level::error); }
  ~Quiet() { log::set_level(log::Level::info); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(no_interleaving_of_moves_between_shards_loses_a_job_or_does_it_twice, Quiet) {
  RedisServer server;
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string fault = Moves(server, seed, true, coverage).run();
    BOOST_TEST_REQUIRE(fault == "", "seed " << seed << ": " << fault);
  }
  BOOST_TEST_MESSAGE("moves " << coverage.moves << ", left behind " << coverage.left_behind << ", left unsettled "
                              << coverage.left_unsettled << ", kills " << coverage.kills << ", lost replies "
                              << coverage.losses << ", away " << coverage.times_away);
  for (const long happened : {coverage.moves, coverage.left_behind, coverage.left_unsettled, coverage.kills,
                              coverage.losses, coverage.times_away})
    BOOST_TEST(happened > 0);
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_goes_before_it_has_left_is_found_out, Quiet) {
  RedisServer server;
  Coverage coverage;
  std::string fault;
  for (std::uint64_t seed = 1; seed <= 50 && fault.empty(); ++seed) fault = Moves(server, seed, false, coverage).run();
  BOOST_TEST(fault != "");
}
