#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <chrono>
#include <set>

#include "shared/api/opening.hpp"
#include "shared/base/clock.hpp"
#include "shared/json/json.hpp"
#include "tests/support/shard_servers.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

Api api_of(const ShardServers& shards) { return detail::Opening::api({.shards = shards.addresses(), .dead = {}}); }

std::string job(const std::string& jid, const std::string& more = "") {
  return R"({"class":"OkJob","args":[9],"queue":"low","jid":")" + jid + '"' + more + "}";
}

void add(RedisServer& redis, const std::string& set, const std::string& score, const std::string& jid) {
  redis.command({"ZADD", set, score, job(jid)});
}

void push(RedisServer& redis, const std::string& queue, const std::string& jid) {
  redis.command({"SADD", "queues", queue});
  redis.command({"LPUSH", "queue:" + queue, job(jid)});
}

// Writes the heartbeat of a process with `busy` jobs.
void beat(RedisServer& redis, const std::string& identity, int busy, const std::string& queues = R"(["low"])") {
  redis.command({"SADD", "processes", identity});
  redis.command({"HSET", identity, "info",
                 R"({"hostname":"h","started_at":1795237318.5,"pid":1,"tag":"","concurrency":8,"queues":)" + queues +
                     R"(,"labels":[],"identity":")" + identity + "\"}",
                 "busy", std::to_string(busy), "beat", std::to_string(epoch_seconds(wall_now())), "quiet", "false",
                 "rss", "1000", "rtt_us", "50"});
}

template <typename Jobs>
Strings jids(const Jobs& jobs) {
  Strings all;
  for (const auto& one : jobs) all.push_back(one.jid);
  return all;
}

Strings jids_of(const JobSet& set, JobSet::Order order) {
  Strings all;
  set.each(
      [&](const SetEntry& entry) {
        all.push_back(entry.jid);
        return true;
      },
      order);
  return all;
}

using boost::test_tools::per_element;

}  // namespace

BOOST_AUTO_TEST_CASE(an_api_names_its_shards_and_shows_one_by_itself) {
  ShardServers shards(3);
  push(shards[1], "low", "j1");
  Api api = api_of(shards);
  BOOST_TEST(api.shards() == (Strings{"a", "b", "c"}), per_element());
  BOOST_TEST(api.shard("b").queue("low").size() == 1U);
  BOOST_TEST(api.shard("a").queue("low").size() == 0U);
  try {
    api.shard("d");
    BOOST_ERROR("there is no such shard");
  } catch (const std::invalid_argument& error) {
    BOOST_TEST(std::string(error.what()) == R"(there is no shard "d", but "a", "b", "c")");
  }
  RedisServer alone;
  BOOST_TEST(Api{alone.url()}.shards() == Strings{""}, per_element());
}

BOOST_AUTO_TEST_CASE(numbers_are_sums_and_a_latency_is_the_longest) {
  ShardServers shards(2);
  for (std::size_t i = 0; i < 2; ++i) {
    shards[i].command({"SET", "stat:processed", std::to_string(10 + i)});
    shards[i].command({"SET", "stat:failed", "2"});
    add(shards[i], "retry", "1", "r");
    push(shards[i], "low", "j" + std::to_string(i));
    beat(shards[i], "h:1:0123456789ab", 2);
  }
  beat(shards[1], "h:2:0123456789ab", 1);
  push(shards[1], "high", "j2");
  shards[0].command({"LPUSH", "queue:low", job("old", R"(,"enqueued_at":1700000000.0)")});
  shards[0].command({"LPUSH", "queue:low", job("new")});
  shards[0].command({"RPOP", "queue:low"});
  shards[1].command({"SADD", "paused", "low"});

  Api api = api_of(shards);
  const Stats stats = api.stats();
  BOOST_TEST(stats.processed == 21U);
  BOOST_TEST(stats.failed == 4U);
  BOOST_TEST(stats.retries == 2U);
  BOOST_TEST(stats.enqueued == 4U);
  BOOST_TEST(stats.busy == 5U);
  BOOST_TEST(stats.processes == 2U);  // one of them beats in both

  const std::vector<QueueSummary> queues = api.queue_summaries();
  BOOST_REQUIRE(queues.size() == 2U);
  BOOST_TEST(queues[0].name == "high");
  BOOST_TEST(queues[1].size == 3U);
  BOOST_TEST(queues[1].latency > 1e6);
  BOOST_TEST(queues[1].paused);
  BOOST_TEST(!queues[0].paused);
  BOOST_TEST(api.queue("low").latency() > 1e6);
  BOOST_TEST(api.queues().size() == 2U);
}

BOOST_AUTO_TEST_CASE(sets_are_paged_by_score_over_all_shards) {
  ShardServers shards(3);
  for (int i = 0; i < 60; ++i)
    add(shards[static_cast<std::size_t>(i) % 3], "retry", std::to_string(i), std::to_string(i));
  Api api = api_of(shards);
  const JobSet set = api.retries();
  BOOST_TEST(set.size() == 60U);
  BOOST_TEST(jids(set.page(0, 4)) == (Strings{"0", "1", "2", "3"}), per_element());
  BOOST_TEST(jids(set.page(2, 4)) == (Strings{"8", "9", "10", "11"}), per_element());
  BOOST_TEST(jids(set.page(0, 2, JobSet::Order::highest_first)) == (Strings{"59", "58"}), per_element());
  BOOST_TEST(set.page(20, 4).empty());
  const Strings up = jids_of(set, JobSet::Order::lowest_first), down = jids_of(set, JobSet::Order::highest_first);
  BOOST_REQUIRE(up.size() == 60U);
  for (std::size_t i = 0; i < 60; ++i) {
    BOOST_TEST(up[i] == std::to_string(i));
    BOOST_TEST(down[i] == std::to_string(59 - i));
  }
  BOOST_TEST(jids(set.fetch(7, 9)) == (Strings{"7", "8", "9"}), per_element());
  std::size_t scanned = 0;
  set.scan("", [&](const SetEntry&) { return ++scanned < 1000; });
  BOOST_TEST(scanned == 60U);
}

BOOST_AUTO_TEST_CASE(a_long_set_is_walked_page_by_page_in_every_shard) {
  ShardServers shards(2);
  for (int i = 0; i < 700; ++i) add(shards[i < 500 ? 0 : 1], "dead", std::to_string(i % 350), std::to_string(i));
  Api api = api_of(shards);
  double last = -1;
  std::set<std::string> seen;
  api.dead().each(
      [&](const SetEntry& entry) {
        BOOST_REQUIRE(entry.score >= last);
        last = entry.score;
        seen.insert(entry.jid);
        return true;
      },
      JobSet::Order::lowest_first);
  BOOST_TEST(seen.size() == 700U);
}

BOOST_AUTO_TEST_CASE(what_is_done_to_an_entry_is_done_in_its_shard) {
  ShardServers shards(3);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const char* what : {"run", "kill", "remove", "later"}) add(shards[i], "retry", "1", what + std::to_string(i));
  }
  Api api = api_of(shards);
  JobSet retries = api.retries();
  const auto entry = [&](const std::string& jid) {
    const auto found = retries.find(jid);
    BOOST_REQUIRE(found.has_value());
    return *found;
  };
  BOOST_TEST(entry("run2").shard == "c");
  BOOST_TEST(retries.run(entry("run2")));
  BOOST_TEST(shards[2].size_of("queue:low") == 1U);
  BOOST_TEST(retries.kill(entry("kill1")));
  BOOST_TEST(shards[1].size_of("dead") == 1U);
  BOOST_TEST(retries.reschedule(entry("later1"), Time(2'000'000'000s)));
  BOOST_TEST(entry("later1").score == 2e9);
  SetEntry gone = entry("remove0");
  BOOST_TEST(retries.remove(gone));
  BOOST_TEST(!retries.remove(gone));
  SetEntry unknown = entry("remove2");
  unknown.shard.clear();  // it is not set
  BOOST_TEST(retries.remove(unknown));
  BOOST_TEST(retries.size() == 8U);
}

BOOST_AUTO_TEST_CASE(many_entries_are_changed_in_all_shards_and_counted_together) {
  ShardServers shards(3);
  for (int i = 0; i < 30; ++i)
    add(shards[static_cast<std::size_t>(i) % 3], "retry", std::to_string(i), std::to_string(i));
  Api api = api_of(shards);
  std::size_t last = 0, total = 0;
  std::set<std::string> of;
  const BulkResult killed = api.retries().kill_all(
      [&](const SetEntry& entry) {
        of.insert(entry.shard);
        return entry.score < 12;
      },
      [&](std::size_t done, std::size_t all) {
        BOOST_TEST(done >= last);
        last = done;
        total = all;
        return true;
      });
  BOOST_TEST(killed.looked_at == 30U);
  BOOST_TEST(killed.done == 12U);
  BOOST_TEST(last == 30U);
  BOOST_TEST(total == 30U);
  BOOST_TEST(of == (std::set<std::string>{"a", "b", "c"}), per_element());
  BOOST_TEST(shards[1].size_of("dead") == 4U);
  BOOST_TEST(api.retries().run_all().done == 18U);
  BOOST_TEST(api.queue("low").size() == 18U);
  api.dead().clear();
  BOOST_TEST(shards.size_of("dead") == 0U);
}

BOOST_AUTO_TEST_CASE(a_stopped_change_does_not_reach_the_next_shard) {
  ShardServers shards(2);
  for (std::size_t i = 0; i < 2; ++i) add(shards[i], "retry", "1", "j");
  Api api = api_of(shards);
  const BulkResult result = api.retries().remove_if({}, [](std::size_t, std::size_t) { return false; });
  BOOST_TEST(result.stopped);
  BOOST_TEST(shards.size_of("retry") == 1U);
}

BOOST_AUTO_TEST_CASE(the_jobs_of_a_queue_come_shard_after_shard) {
  ShardServers shards(2);
  for (int i = 0; i < 3; ++i) push(shards[0], "low", "a" + std::to_string(i));
  for (int i = 0; i < 3; ++i) push(shards[1], "low", "b" + std::to_string(i));
  Api api = api_of(shards);
  Queue queue = api.queue("low");
  BOOST_TEST(jids(queue.page(0, 4)) == (Strings{"a2", "a1", "a0", "b2"}), per_element());
  BOOST_TEST(jids(queue.page(1, 4)) == (Strings{"b1", "b0"}), per_element());
  BOOST_TEST(queue.page(2, 4).empty());
  Strings all;
  queue.each([&](const JobRecord& one) {
    all.push_back(one.jid + "@" + one.shard);
    return all.size() < 5;
  });
  BOOST_TEST(all == (Strings{"a2@a", "a1@a", "a0@a", "b2@b", "b1@b"}), per_element());
  BOOST_TEST(queue.remove(*queue.find("b1")));
  BOOST_TEST(queue.remove_if([](const JobRecord& one) { return one.jid.ends_with("2"); }).done == 2U);
  BOOST_TEST(queue.size() == 3U);
  queue.pause();
  BOOST_TEST(shards[0].smembers("paused").size() + shards[1].smembers("paused").size() == 2U);
  BOOST_TEST(queue.paused());
  queue.unpause();
  BOOST_TEST(!queue.paused());
  queue.clear();
  BOOST_TEST(shards.size_of("queue:low") == 0U);
}

BOOST_AUTO_TEST_CASE(a_process_that_beats_in_several_shards_is_one_and_asked_once) {
  ShardServers shards(3);
  beat(shards[0], "h:1:0123456789ab", 2, R"(["low"])");
  beat(shards[2], "h:1:0123456789ab", 3, R"(["low","high"])");
  beat(shards[1], "h:2:0123456789ab", 1);
  for (std::size_t i = 0; i < 3; i += 2)
    shards[i].command({"HSET", "h:1:0123456789ab:work", "t" + std::to_string(i),
                       R"({"queue":"low","payload":)" + json_string(job("w" + std::to_string(i))) + R"(,"run_at":)" +
                           std::to_string(1795237318 - i) + "}"});
  Api api = api_of(shards);
  const std::vector<Process> processes = api.processes();
  BOOST_REQUIRE(processes.size() == 2U);
  BOOST_TEST(processes[0].identity == "h:1:0123456789ab");
  BOOST_TEST(processes[0].busy == 5);
  BOOST_TEST(processes[0].concurrency == 8);
  BOOST_TEST(processes[0].queues == (Strings{"low", "high"}), per_element());
  BOOST_TEST(processes[0].shards == (Strings{"a", "c"}), per_element());
  BOOST_TEST(api.process("h:1:0123456789ab")->busy == 5);
  const std::vector<Work> work = api.work();
  BOOST_REQUIRE(work.size() == 2U);
  BOOST_TEST(work[0].job.jid == "w2");
  BOOST_TEST(work[0].job.shard == "c");

  BOOST_TEST(api.stop("h:1:0123456789ab"));
  BOOST_TEST(shards[0].size_of("h:1:0123456789ab-signals") + shards[2].size_of("h:1:0123456789ab-signals") == 1U);
  BOOST_TEST(api.quiet("h:2:0123456789ab"));
  BOOST_TEST(shards[1].size_of("h:2:0123456789ab-signals") == 1U);
  BOOST_TEST(!api.stop("h:3:0123456789ab"));
}

BOOST_AUTO_TEST_CASE(deploys_and_iterations_are_found_in_whichever_shard) {
  ShardServers shards(2);
  Api api = api_of(shards);
  BOOST_TEST(api.mark_deploy("v2"));
  BOOST_TEST(!api.mark_deploy("v2"));
  BOOST_TEST(api.deploy_marks().size() == 1U);
  shards[1].command({"HSET", "it-j1", "ex", "3", "c", "7", "rt", "1.5"});
  BOOST_REQUIRE(api.iteration("j1").has_value());
  BOOST_TEST(api.iteration("j1")->executions == 3);
  BOOST_TEST(!api.iteration("j2"));
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_away_is_reported_and_left_out_or_an_error) {
  ShardServers shards(3);
  for (std::size_t i = 0; i < 3; ++i) {
    add(shards[i], "retry", std::to_string(i), "j" + std::to_string(i));
    push(shards[i], "low", "q" + std::to_string(i));
  }
  shards[1].kill9();
  Api strict = api_of(shards);
  BOOST_CHECK_THROW(strict.stats(), RedisError);
  strict.shard("c").stats();
  BOOST_CHECK_THROW(strict.queue("low").pause(), RedisError);
  BOOST_TEST(shards[2].size_of("paused") == 1U);  // it was asked all the same

  Api api = api_of(shards);
  std::set<std::string> told;
  api.on_away([&](const std::string& shard, const std::string& why) {
    BOOST_TEST(why.find("Redis at") == 0U);
    told.insert(shard);
  });
  BOOST_TEST(api.stats().retries == 2U);
  BOOST_TEST(told == std::set<std::string>{"b"}, per_element());
  BOOST_TEST(jids(api.retries().page(0)) == (Strings{"j0", "j2"}), per_element());
  BOOST_TEST(api.queue("low").size() == 2U);
  SetEntry there = *api.retries().find("j0");
  there.shard = "b";
  BOOST_CHECK_THROW(api.retries().remove(there), RedisError);  // the very one that is meant

  shards[0].kill9();
  shards[2].kill9();
  BOOST_CHECK_THROW(api.stats(), RedisError);
}
