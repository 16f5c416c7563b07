#include "shared/store/kept_report.hpp"

#include <boost/test/unit_test.hpp>

#include <brood/api.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/job_search.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string identity = "host:1:0123456789ab", field = "2.17";
const WallTime now{std::chrono::seconds(1'800'000'000)};

std::string keeper(const std::string& jid, const std::string& more = "") {
  return R"({"class":"A","args":[],"queue":"a","jid":")" + jid + R"(","keep_result":60)" + more + "}";
}

Outcome succeeded(const std::string& result) {
  Outcome outcome;
  outcome.last_run = std::make_shared<const EndOfRun>(EndOfRun{.result = result, .elapsed = 0.25});
  return outcome;
}

// A worker that has fetched these jobs.
struct Fixture {
  RedisServer server;
  Connection redis{server.address()};
  Settlement next;

  void hold(const std::vector<std::string>& payloads) {
    if (next.field.empty()) redis.run(register_incarnation(identity, "{}", field));
    for (const std::string& payload : payloads) redis.call({"LPUSH", keys::queue("a"), payload});
    next.identity = identity;
    next.field = field;
    next.draw = {"a"};
    next.outcomes.clear();
    next.let_go.clear();
    next.want = static_cast<int>(payloads.size());
    take(payloads.size());
  }
  void take(std::size_t count) {
    const Settled settled = read_settled(redis.run(settle_and_fetch(next, now)).view());
    BOOST_REQUIRE(settled.payloads.size() == count);
    next.number = settled.number;
    next.held_queue = settled.queue;
  }
  void settle(const std::vector<std::string>& payloads, const std::vector<Outcome>& outcomes) {
    next.outcomes = outcomes;
    next.want = 0;
    for (std::size_t i = 0; i < payloads.size(); ++i)
      if (const auto end = end_of_job(outcomes[i].kind))
        append_held(next.let_go, payloads[i], 0, *end, 60, &outcomes[i]);
    take(0);
  }
  std::optional<JobReport> report(const std::string& jid) {
    return read_kept_report(redis.call(ask_report(jid)).view());
  }
  DeadWorker dead(const std::vector<EntryState>& entries) const {
    return {.identity = identity, .slot = 2, .incarnation = 17, .record = DeadWorker::Record{next.number, entries}};
  }
  RecoveryResult recover(const DeadWorker& worker, const Outcome& charged = {}) {
    return brood::recover(
        redis, worker, {}, [&](const std::string&, const std::string&) { return charged; },
        [](const std::string& payload, const std::string&) {
          return Outcome{Outcome::Kind::move_to_dead, payload, 1};
        });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_settle_writes_the_report, Fixture) {
  const std::vector<std::string> jobs{keeper("j1"), keeper("j2"), R"({"class":"A","args":[],"jid":"j3"})"};
  hold(jobs);
  settle(jobs, {succeeded("[1,\"two\"]"), {Outcome::Kind::move_to_dead, R"({"error_class":"E"})", 1}, Outcome{}});

  BOOST_REQUIRE(report("j1"));
  BOOST_TEST((report("j1")->state == JobState::done));
  BOOST_TEST(report("j1")->result.text == "[1,\"two\"]");
  BOOST_TEST((report("j1")->elapsed == 250ms));
  BOOST_TEST(report("j2").value().error_class == "E");
  BOOST_TEST(server.integer({"TTL", RedisKey("brood:report:j1")}) > 50);
  BOOST_TEST(server.keys("brood:report:*").size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_retry_writes_no_report_and_the_success_after_a_death_writes_it_anew, Fixture) {
  const std::string job = keeper("j1");
  hold({job});
  settle({job}, {{Outcome::Kind::retry, job, 1}});
  BOOST_TEST(!report("j1"));

  hold({job});
  settle({job}, {{Outcome::Kind::move_to_dead, keeper("j1", R"(,"error_class":"E")"), 1}});
  BOOST_TEST((report("j1").value().state == JobState::dead));

  hold({job});
  settle({job}, {succeeded("7")});
  BOOST_TEST((report("j1").value().state == JobState::done));
  BOOST_TEST(report("j1")->error_class == "");
  BOOST_TEST(server.size_of("brood:report:j1") == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_recovery_writes_reports_of_what_it_settles, Fixture) {
  hold({keeper("j1"), keeper("j2"), keeper("j3"), keeper("j4")});
  DeadWorker worker = dead({EntryState::succeeded, EntryState::succeeded, EntryState::running, EntryState::fetched});
  worker.record->outcomes = {succeeded("[1]"), std::nullopt};

  recover(worker, {Outcome::Kind::move_to_dead, R"({"error_class":"SIGSEGV","error_message":"at 0x10"})", 1});

  BOOST_TEST(report("j1").value().result.text == "[1]");
  BOOST_TEST((report("j2").value().state == JobState::done));
  BOOST_TEST(report("j2")->result.text == "null");
  BOOST_TEST((report("j3").value().state == JobState::dead));
  BOOST_TEST(report("j3")->error_class == "SIGSEGV");
  BOOST_TEST(!report("j4"));
}

BOOST_FIXTURE_TEST_CASE(a_deleted_job_leaves_a_report, Fixture) {
  Api api(server.url());
  redis.call({"LPUSH", keys::queue("a"), keeper("j1"), keeper("j2")});
  redis.call({"ZADD", keys::schedule, "9000000000", keeper("j3")});
  redis.call({"ZADD", keys::retry, "9000000000", keeper("j4", R"(,"error_class":"E","error_message":"m")")});

  BOOST_TEST(api.queue("a").remove(api.queue("a").find("j1").value()));
  api.queue("a").clear();
  BOOST_TEST(api.scheduled().remove(api.scheduled().find("j3").value()));
  BOOST_TEST(api.retries().remove(api.retries().find("j4").value()));

  for (const char* const jid : {"j1", "j2", "j3", "j4"}) {
    BOOST_REQUIRE_MESSAGE(report(jid), jid);
    BOOST_TEST((report(jid)->state == JobState::dead), jid);
  }
  BOOST_TEST(report("j1")->error_class == "JobDeleted");
  BOOST_TEST(report("j4")->error_class == "E");
}

BOOST_FIXTURE_TEST_CASE(a_key_of_another_type_keeps_no_job_from_its_end, Fixture) {
  const std::string job = keeper("j1");
  redis.call({"SET", RedisKey("brood:report:j1"), "mine"});
  hold({job});
  settle({job}, {succeeded("1")});

  BOOST_TEST(server.get("brood:report:j1").value_or("") == "mine");
}

BOOST_FIXTURE_TEST_CASE(waiting_leaves_the_report_and_its_time_to_live, Fixture) {
  const std::string job = keeper("j1");
  hold({job});
  std::thread settles([&] {
    std::this_thread::sleep_for(200ms);
    settle({job}, {succeeded("\"x\"")});
  });
  Client client(server.url());

  const auto first = client.wait("j1", 20s);
  settles.join();
  const auto second = client.wait("j1", 20s);

  BOOST_REQUIRE(first && second);
  BOOST_TEST(first->result_as<std::string>() == "x");
  BOOST_TEST(second->result.text == first->result.text);
  BOOST_TEST(server.integer({"TTL", RedisKey("brood:report:j1")}) > 0);
}

BOOST_FIXTURE_TEST_CASE(a_wait_without_a_report_ends_at_its_timeout, Fixture) {
  Client client(server.url());
  const auto began = std::chrono::steady_clock::now();
  BOOST_TEST(!client.wait("nobody", 150ms));
  BOOST_TEST((std::chrono::steady_clock::now() - began >= 150ms));
  BOOST_TEST(!client.wait("nobody", 0ms));
  BOOST_TEST(!client.wait("nobody", -5s));
}

BOOST_FIXTURE_TEST_CASE(many_wait_for_one_job_without_polling, Fixture) {
  const std::string job = keeper("j1");
  hold({job});
  std::vector<std::thread> waiters;
  std::atomic<int> told = 0;
  for (int i = 0; i < 3; ++i) waiters.emplace_back([&] { told += Client(server.url()).wait("j1", 60s) ? 1 : 0; });
  BOOST_TEST(eventually([&] { return server.figure("clients", "blocked_clients") == 3; }));
  const long before = server.commands_processed();
  std::this_thread::sleep_for(500ms);
  BOOST_TEST(server.commands_processed() - before < 5);

  settle({job}, {succeeded("1")});
  for (std::thread& waiter : waiters) waiter.join();

  BOOST_TEST(told == 3);
}

BOOST_FIXTURE_TEST_CASE(a_job_is_found_where_it_lies, Fixture) {
  Client client(server.url());
  redis.call({"LPUSH", keys::queue("b"), R"({"class":"A","args":[],"jid":"queued"})"});
  redis.call({"ZADD", keys::schedule, "9000000000", R"({"class":"A","args":[],"jid":"scheduled"})"});
  redis.call({"ZADD", keys::retry, "9000000000", R"({"class":"A","args":[],"jid":"retrying","error_class":"E"})"});
  redis.call({"ZADD", keys::dead, "1800000000", R"({"class":"A","args":[],"jid":"dead","error_message":"m"})"});
  hold({R"({"class":"A","args":[],"jid":"running"})"});

  for (const JobState state :
       {JobState::queued, JobState::scheduled, JobState::retrying, JobState::dead, JobState::running}) {
    const auto found = client.find(to_string(state));
    BOOST_REQUIRE_MESSAGE(found, to_string(state));
    BOOST_TEST((found->state == state), to_string(state));
    BOOST_TEST(found->jid == to_string(state));
  }
  BOOST_TEST(client.find("retrying")->error_class == "E");
  BOOST_TEST(client.find("dead")->error_message == "m");
  BOOST_TEST(client.find("dead")->ended_at.has_value());
  BOOST_TEST(!client.find("unknown"));
}

BOOST_FIXTURE_TEST_CASE(a_dead_job_that_is_retried_is_not_told_as_dead, Fixture) {
  const std::string job = keeper("j1");
  hold({job});
  settle({job}, {{Outcome::Kind::move_to_dead, keeper("j1", R"(,"error_class":"E")"), 1}});
  redis.call({"ZADD", keys::dead, "1", job});
  Client client(server.url());
  BOOST_TEST((client.find("j1").value().state == JobState::dead));
  BOOST_TEST(client.find("j1")->error_class == "E");

  redis.call({"DEL", keys::dead});
  hold({job});
  BOOST_TEST((client.find("j1").value().state == JobState::running));
  BOOST_TEST(!client.wait("j1", 300ms));
  std::thread settles([&] {
    std::this_thread::sleep_for(300ms);
    settle({job}, {succeeded("1")});
  });
  const auto report = client.wait("j1", 20s);
  settles.join();

  BOOST_TEST((report.value().state == JobState::done));
}
