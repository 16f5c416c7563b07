#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/statsd_receiver.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// The figure of this machine, as exported to Prometheus.
double dropped(const BroodProcess& brood, const RedisServer& redis) {
  const std::string text =
      run_brood({"status", "--format", "prometheus", "--redis", redis.url()}, brood.environment()).output;
  const std::size_t at = text.find("\nbrood_statsd_dropped_total{");
  return at == text.npos ? -1 : std::atof(text.c_str() + text.find(' ', at));
}

const std::string once = R"("retry":false)";

}  // namespace

BOOST_AUTO_TEST_CASE(counts_add_up_over_crashes_and_kills) {
  RedisServer redis;
  StatsdReceiver receiver;
  BroodProcess brood(redis, {.workers = 2,
                             .queues = {"mails", "default"},
                             .config = "[statsd]\naddress = \"" + receiver.address() +
                                       "\"\ntags = [\"env:test\"]\n[worker]\nmax_crashes = 1\n"});
  std::vector<std::string> mails, jobs;
  for (int number = 0; number < 20; ++number) mails.push_back(payload_text("Greet", "[]", number));
  for (int number = 20; number < 22; ++number) mails.push_back(payload_text("Fail", "[\"as told\"]", number, once));
  for (int number = 22; number < 25; ++number) jobs.push_back(payload_text("Segfault", "[]", number, once));
  jobs.push_back(payload_text("Segfault", "[]", 25));
  jobs.push_back(payload_text("Greet", "[]", 26, R"("expiry":1)"));
  enqueue(redis, mails, "mails");
  enqueue(redis, jobs);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return no_job_is_left(redis) && redis.size_of("dead") == 1; }, 60s),
                        brood.log_tail());
  enqueue(redis, {payload_text("Sleep", "[60000]", 27, once)});
  const auto sleeps = [&] {
    return run_brood({"status", "--json", "--redis", redis.url()}, brood.environment())
               .output.find(R"("state":"busy")") != std::string::npos;
  };
  BOOST_REQUIRE_MESSAGE(eventually(sleeps, 30s), brood.log_tail());
  for (const pid_t worker : brood.workers()) kill(worker, SIGKILL);

  BOOST_TEST(eventually(
                 [&] {
                   return receiver.sum("sidekiq.jobs.count") == 27 &&
                          receiver.sum("sidekiq.jobs.recovered.fetch") >= 5 && receiver.sum("sidekiq.jobs.poison") == 1;
                 },
                 60s),
             receiver.text());
  BOOST_TEST(receiver.sum("sidekiq.jobs.success") == 20);
  BOOST_TEST(receiver.sum("sidekiq.jobs.success", "worker:Greet,queue:mails,env:test") == 20);
  BOOST_TEST(receiver.sum("sidekiq.jobs.failure") == 7);
  BOOST_TEST(receiver.sum("sidekiq.jobs.failure", "worker:Fail,queue:mails,error_type:std::") == 2, receiver.text());
  BOOST_TEST(receiver.sum("sidekiq.jobs.failure", "worker:Segfault,queue:default,error_type:SIGSEGV") == 4);
  BOOST_TEST(receiver.sum("sidekiq.jobs.failure", "worker:Sleep,queue:default,error_type:SIGKILL") == 1);
  BOOST_TEST(receiver.lines("sidekiq.jobs.perform", "|ms|#worker:Greet") == 20);
  BOOST_TEST(receiver.lines("sidekiq.jobs.perform_dist", "|d|#worker:Greet") == 20);
  BOOST_TEST(receiver.sum("sidekiq.jobs.poison", "worker:Segfault,queue:default") == 1);
  BOOST_TEST(receiver.sum("sidekiq.jobs.expired", "worker:Greet,queue:default") == 1);
  BOOST_TEST(dropped(brood, redis) == 0);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_away_or_does_not_read_holds_up_nothing_and_losses_are_counted) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::string path = directory / "statsd.sock";
  BroodProcess brood(redis, {.workers = 1, .config = "[statsd]\naddress = \"unix:" + path + "\"\n"});
  enqueue(redis, {payload_text("Greet", "[]", 1)});
  BOOST_TEST(eventually([&] { return dropped(brood, redis) >= 1; }, 30s), brood.log_tail());

  StatsdReceiver receiver(path);
  enqueue(redis, {payload_text("Greet", "[]", 2)});
  BOOST_TEST(eventually([&] { return receiver.sum("sidekiq.jobs.count") == 1; }, 30s), receiver.text());
  const double before = dropped(brood, redis);

  // More than an unread socket holds.
  std::vector<std::string> jobs;
  for (int number = 3; number < 4'003; ++number) jobs.push_back(payload_text("Greet", "[]", number));
  enqueue(redis, jobs);

  BOOST_TEST(eventually([&] { return no_job_is_left(redis); }, 60s), brood.log_tail());
  BOOST_TEST(eventually([&] { return dropped(brood, redis) > before; }, 30s));
}
