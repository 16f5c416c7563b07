#pragma once

#include <fmt/format.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <brood/batch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/job/batch_membership.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "tests/support/redis_server.hpp"

// The common parts of tests of batches and of flows.
namespace brood::batch_tests {

using Kind = Outcome::Kind;
using Strings = std::vector<std::string>;

inline const std::string identity = "host:1:0123456789ab";
inline const std::string field = "2.17";

struct ImportRow {
  int row = 0;
  static constexpr JobOptions options{.queue = "rows"};
  static constexpr std::string_view job_class = "ImportRow";
  void perform() {}
};

struct Report {
  std::string what;
  static constexpr JobOptions options{.queue = "callbacks"};
  static constexpr std::string_view job_class = "Report";
  void perform() {}
};

struct OneAtATime {
  int which = 0;
  static constexpr JobOptions options{.queue = "rows", .unique = true};
  static constexpr std::string_view job_class = "OneAtATime";
  void perform() {}
};

inline constexpr std::array all_events{BatchEvent::complete, BatchEvent::success, BatchEvent::death,
                                       BatchEvent::finished};
inline constexpr std::array event_names{"complete", "success", "death", "finished"};

// A Redis, a client, and a worker; each test decides how the worker's jobs end.
struct Batches {
  RedisServer redis;
  Connection connection{redis.address()};
  Client client{redis.url()};
  std::uint64_t number = 0;
  std::string held_queue;
  Strings held = {};

  Batches() { connection.run(register_incarnation(identity, "{}", field)); }

  Batch batch_with_callbacks(const BatchOptions& options = {}) {
    Batch batch(client, options);
    for (std::size_t i = 0; i < all_events.size(); ++i) batch.on(all_events.at(i), Report{event_names.at(i)});
    return batch;
  }
  static void push_rows(Batch& batch, int rows) {
    batch.push([&](BatchJobs& jobs) {
      for (int row = 0; row < rows; ++row) jobs.enqueue(ImportRow{row});
    });
  }

  // Settles the held jobs with these outcomes, and fetches up to `want` jobs of the queue.
  void settle(const std::vector<Outcome>& outcomes, const std::string& queue, int want) {
    Settlement settlement;
    settlement.identity = identity;
    settlement.field = field;
    settlement.number = number;
    settlement.held_queue = held_queue;
    settlement.outcomes = outcomes;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (const auto end = end_of_job(outcomes[i].kind)) append_held(settlement.let_go, held.at(i), 0, *end);
    }
    settlement.draw = {queue};
    settlement.want = want;
    const Settled settled = read_settled(connection.run(settle_and_fetch(settlement, wall_now())).view());
    BOOST_REQUIRE(!settled.fenced);
    number = settled.number;
    held_queue = settled.queue;
    held = settled.payloads;
  }
  // Fetches as many jobs as there are kinds, and ends each with its kind.
  void perform(const std::string& queue, const std::vector<Kind>& kinds) {
    settle({}, queue, static_cast<int>(kinds.size()));
    BOOST_REQUIRE_EQUAL(held.size(), kinds.size());
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const bool keeps = kinds[i] == Kind::retry || kinds[i] == Kind::move_to_dead;
      outcomes.push_back({kinds[i], keeps ? held[i] : "", keeps ? 4e9 : 0.0});
    }
    settle(outcomes, "none", 0);
  }
  // Moves all entries of a sorted set to their queues, as an operator who retries them does.
  void retry_all(const std::string& set) {
    for (const auto& [payload, score] : redis.zrange(set)) {
      redis.command({"ZREM", RedisKey(set), payload});
      redis.command({"LPUSH", RedisKey("queue:" + Payload::parse(payload).string("queue").value()), payload});
    }
  }

  BatchRecord record(const std::string& bid) {
    const std::vector<Command> ask = ask_batch(bid);
    const Reply hash = redis.command(ask[0]), children = redis.command(ask[1]);
    return read_batch(bid, hash.view(), children.view()).value();
  }
  std::string counts(const std::string& bid) {
    const BatchRecord batch = record(bid);
    return fmt::format("{}: {} = {} + {} + {}, {} failing", to_string(batch.state), batch.total, batch.succeeded,
                       batch.pending, batch.dead, batch.failing);
  }
  // The events whose callbacks wait in the queue, oldest first.
  Strings pushed(const std::string& queue = "callbacks") {
    Strings events;
    for (const std::string& payload : redis.lrange("queue:" + queue))
      events.insert(events.begin(), Payload::parse(payload).string("batch_callback").value_or("none"));
    return events;
  }
};

}  // namespace brood::batch_tests
