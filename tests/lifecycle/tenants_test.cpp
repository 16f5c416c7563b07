#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <algorithm>
#include <map>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Pushes Ledger jobs called <tenant>-0, <tenant>-1 ..., as Ruby's client does.
void push(RedisServer& redis, const Ledger& ledger, const std::string& tenant, int count, int milliseconds) {
  std::vector<std::string> payloads;
  for (int i = 0; i < count; ++i) {
    payloads.push_back(payload_text(
        "Ledger",
        "[\"" + ledger.path() + "\",\"" + tenant + "-" + std::to_string(i) + "\"," + std::to_string(milliseconds) + "]",
        i + 1));
  }
  enqueue(redis, payloads, "images~" + tenant);
}

std::string tenant_of(const Ledger::Run& run) { return run.id.substr(0, run.id.find('-')); }

std::ptrdiff_t position_of_first(const Ledger& ledger, const std::string& tenant) {
  const std::vector<Ledger::Run> runs = ledger.runs();
  return std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return tenant_of(run) == tenant; }) -
         runs.begin();
}

}  // namespace

BOOST_AUTO_TEST_CASE(many_jobs_of_one_tenant_delay_none_of_another_under_kill_9) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  push(redis, ledger, "big", 3'000, 2);
  const BroodProcess brood(redis, {.workers = 4, .queues = {"images~*"}});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(200); }, 30s), brood.log_tail());

  int pushed = 3'000;
  for (int i = 0; i < 8; ++i) {
    const std::string tenant = "small" + std::to_string(i);
    push(redis, ledger, tenant, 10, 2);
    pushed += 10;
    const auto workers = brood.workers();
    if (!workers.empty()) ::kill(workers[static_cast<std::size_t>(i) % workers.size()], SIGKILL);
    BOOST_REQUIRE_MESSAGE(
        eventually([&] { return ledger.has_done(static_cast<std::size_t>(200 + 100 * (i + 1))); }, 30s),
        brood.log_tail());
  }
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(static_cast<std::size_t>(pushed)); }, 60s),
                        brood.log_tail());
  for (int i = 0; i < 8; ++i) BOOST_TEST(position_of_first(ledger, "small" + std::to_string(i)) < 2'500);
  BOOST_TEST(eventually([&] { return redis.keys("brood:tenants:*").empty(); }), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_job_of_a_new_tenant_begins_within_two_seconds_whichever_client_pushes_it) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const BroodProcess brood(redis, {.workers = 2, .queues = {"default", "*"}});
  BOOST_REQUIRE(brood.wait_ready());
  push(redis, ledger, "a", 1, 0);
  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 4s), brood.log_tail());
  push(redis, ledger, "b", 1, 0);
  BOOST_TEST(eventually([&] { return ledger.has_done(2); }, 3s), brood.log_tail());
  push(redis, ledger, "a", 1, 0);
  BOOST_TEST(eventually([&] { return ledger.begins() == 3; }, 3s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(tenants_share_by_weight_and_each_has_its_cap) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  for (const char* const tenant : {"acme", "b", "c"}) push(redis, ledger, tenant, 100, 10);
  const BroodProcess brood(redis, {.workers = 6, .config = R"(
queues = ["images~*"]
[tenants.images]
acme = 3
[limits.each]
queues = ["images~*"]
concurrent = 2
per = "tenant"
)"});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(300); }, 40s), brood.log_tail());
  const std::vector<Ledger::Run> runs = ledger.runs();
  for (const Ledger::Run& run : runs) {
    const auto beside = std::count_if(runs.begin(), runs.end(), [&](const Ledger::Run& other) {
      return tenant_of(other) == tenant_of(run) && other.began <= run.began && other.ended > run.began;
    });
    BOOST_REQUIRE(beside <= 2);
  }
}
