#include <stdlib.h>
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <csignal>
#include <ctime>
#include <fstream>
#include <sstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test_authority.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

CommandResult metrics(const std::string& url, const std::map<std::string, std::string>& environment = {}) {
  return run_brood({"status", "--format", "prometheus", "--redis", url}, environment);
}

// The errors that promtool reports.
std::string complaints(const std::string& text) {
  const TemporaryDirectory directory;
  directory.write("metrics", text);
  const int status =
      system(("promtool check metrics <" + (directory / "metrics") + " >" + (directory / "said") + " 2>&1").c_str());
  std::ifstream file(directory / "said");
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    BOOST_TEST_MESSAGE("SKIP: there is no promtool");
    return "";
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? said : "refused: " + said;
}

// The number of workers that have begun a job.  A job that is in flight may not run yet.
long busy_workers(const BroodProcess& brood) {
  const std::string status = run_brood({"status", "--json"}, brood.environment()).output, busy = R"("state":"busy")";
  long count = 0;
  for (std::size_t at = status.find(busy); at != status.npos; at = status.find(busy, at + 1)) ++count;
  return count;
}

// The first number of that name, which belongs to all processes together.
double number(const CommandResult& result, const std::string& member) {
  const std::size_t at = result.output.find("\"" + member + "\":");
  return at == std::string::npos ? -1 : std::atof(result.output.c_str() + at + member.size() + 3);
}

// The sum of all samples of that name whose labels contain `labels`.
double sum_of(const std::string& text, const std::string& name, const std::string& labels) {
  double sum = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "{") && line.find(labels) != line.npos)
      sum += std::atof(line.c_str() + line.rfind(' '));
  }
  return sum;
}

bool has(const CommandResult& result, const std::string& line) {
  return ("\n" + result.output).find("\n" + line) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(promtool_finds_nothing_to_complain_of_whatever_the_queues_are_called) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2, .queues = {"default"}});
  enqueue(redis, {payload_text("Segfault", "[]", 1)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  enqueue(redis, {payload_text("Sleep", "[60000]", 2)});
  BOOST_REQUIRE(eventually([&] { return busy_workers(brood) == 1; }, 30s));
  enqueue(redis, {payload_text("Zip", "[]", 3)}, "say \"hi\"\\\n");
  enqueue(redis, {payload_text("Zip", "[]", 4)}, "a\xff");
  enqueue(redis, {payload_text("Zip", "[]", 5)}, "a\xfe");  // the same name as the other once it is made UTF-8
  redis.command({"SADD", "paused", "a\xff"});
  BOOST_REQUIRE(eventually([&] { return redis.size_of("processes") == 1; }));

  const CommandResult result = metrics(redis.url(), brood.environment());

  BOOST_TEST(result.status == 0);
  BOOST_TEST(complaints(result.output) == "");
  BOOST_TEST(has(result, "brood_redis_up 1\n"));
  BOOST_TEST(has(result, "brood_jobs_retries 1\n"));
  BOOST_TEST(has(result, "brood_jobs_in_flight 1\n"), result.output);
  BOOST_TEST(!has(result, "brood_oldest_in_flight_seconds 0\n"));
  BOOST_TEST(has(result, "brood_queue_size{queue=\"say \\\"hi\\\"\\\\\\n\"} 1\n"), result.output);
  BOOST_TEST(result.output.find("class=\"Segfault\",error=\"SIGSEGV\"") != std::string::npos);
  BOOST_TEST(result.output.find("brood_class_crashed_total{identity=") != std::string::npos);
  const std::size_t failed = result.output.find("\nbrood_class_failed_total{");
  BOOST_TEST(result.output.substr(failed + 1, result.output.find('\n', failed + 1) - failed - 1)
                 .ends_with("class=\"Segfault\"} 1"),
             result.output);
  BOOST_TEST(has(result, "brood_queue_served{queue=\"default\"} 1\n"), result.output);
  BOOST_TEST(has(result, "brood_queue_served{queue=\"say \\\"hi\\\"\\\\\\n\"} 0\n"), result.output);
  BOOST_TEST(result.output.find("state=\"busy\"} 1\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(with_redis_away_what_is_left_can_still_be_scraped) {
  const TemporaryDirectory directory;
  const CommandResult result = metrics("unix://" + (directory / "no.sock"), {{"RUNTIME_DIRECTORY", directory.path()}});
  BOOST_TEST(result.status == 69);
  BOOST_TEST(has(result, "brood_redis_up 0\n"));
  BOOST_TEST(complaints(result.output) == "");
}

BOOST_AUTO_TEST_CASE(status_shows_how_long_the_oldest_job_has_been_in_flight_and_silent_holders_of_jobs) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  enqueue(redis, {payload_text("Sleep", "[60000]", 1)});
  BOOST_REQUIRE(eventually([&] { return busy_workers(brood) == 1 && redis.size_of("processes") == 1; }, 30s));
  const std::vector<std::string> words = {"status", "--json", "--redis", redis.url()};
  const CommandResult here = run_brood(words, brood.environment());
  BOOST_TEST(number(here, "in_flight") == 1);
  BOOST_TEST(number(here, "oldest_in_flight") > 0);
  BOOST_TEST(number(here, "oldest_in_flight") < 1e6);
  // A process of another machine is shown by its heartbeat.
  const std::string identity = redis.smembers("processes")[0];
  CommandResult elsewhere;
  BOOST_TEST(eventually([&] {  // the next heartbeat undoes it
    redis.command({"HSET", identity + ":work", "x", R"({"queue":"default","payload":"{}","run_at":1000})"});
    elsewhere = run_brood(words, {{"RUNTIME_DIRECTORY", "/nowhere"}});
    return number(elsewhere, "oldest_in_flight") > 1e6;
  }));
  BOOST_TEST(elsewhere.output.find(R"("silent":[])") != std::string::npos);

  redis.command({"HSET", "brood:processes", "there:1:0123456789ab", "{}"});
  redis.command({"HSET", "brood:inflight:there:1:0123456789ab", "0.1", "1 default"});
  redis.command({"LPUSH", "brood:inflight:there:1:0123456789ab:0.1:default", payload_text("Zip", "[]", 2)});
  const CommandResult silent = run_brood({"status", "--redis", redis.url()}, brood.environment());
  BOOST_TEST(silent.output.find("Without a heartbeat") != std::string::npos, silent.output);
  BOOST_TEST(silent.output.find("in flight 2, the oldest for ") != std::string::npos, silent.output);
}

BOOST_AUTO_TEST_CASE(waiting_running_and_crashing_add_up_by_class_and_queue_over_crashes_and_kills) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2, .queues = {"mails", "default"}});
  const std::string once = R"("retry":false)";
  const auto now = std::chrono::system_clock::now().time_since_epoch() / 1ms;
  const auto mail = [&](int number, const std::string& enqueued_at) {
    return R"({"class":"Greet","args":[],"queue":"mails","jid":"mail)" + std::to_string(number) +
           R"(","created_at":1,"enqueued_at":)" + enqueued_at + "}";
  };
  std::vector<std::string> mails{mail(0, "null"), mail(1, std::to_string(now + 3'600'000))};  // a clock that is ahead
  for (int i = 2; i < 20; ++i) mails.push_back(mail(i, std::to_string(now - 100'000)));
  enqueue(redis, mails, "mails");
  std::vector<std::string> crashes{payload_text("Fail", "[\"as told\"]", 50, once)};
  for (int i = 51; i < 54; ++i) crashes.push_back(payload_text("Segfault", "[]", i, once));
  enqueue(redis, crashes);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return no_job_is_left(redis); }, 60s), brood.log_tail());
  enqueue(redis, {payload_text("Sleep", "[60000]", 60, once)});
  BOOST_REQUIRE(eventually([&] { return busy_workers(brood) == 1; }, 30s));
  for (const pid_t worker : brood.workers()) kill(worker, SIGKILL);

  std::string text;
  BOOST_TEST(eventually(
                 [&] {
                   text = metrics(redis.url(), brood.environment()).output;
                   return sum_of(text, "brood_queue_run_seconds_count", R"(queue="default")") == 5;
                 },
                 30s),
             text);

  BOOST_TEST(sum_of(text, "brood_queue_run_seconds_count", R"(queue="mails")") == 20);
  BOOST_TEST(sum_of(text, "brood_queue_wait_seconds_count", R"(queue="mails")") == 19);  // counted for an unknown queue
  BOOST_TEST(sum_of(text, "brood_queue_wait_seconds_bucket", R"(queue="mails",le="60")") == 1);
  BOOST_TEST(sum_of(text, "brood_queue_wait_seconds_bucket", R"(queue="mails",le="21600")") == 19);
  BOOST_TEST(sum_of(text, "brood_queue_wait_seconds_sum", R"(queue="mails")") >= 18 * 100);
  BOOST_TEST(sum_of(text, "brood_class_wait_seconds_count", R"(class="Greet")") == 19);
  BOOST_TEST(sum_of(text, "brood_queue_failed_total", R"(queue="mails")") == 0);
  BOOST_TEST(sum_of(text, "brood_queue_failed_total", R"(queue="default")") == 5);
  BOOST_TEST(sum_of(text, "brood_queue_wait_seconds_count", R"(queue="default")") == 5);
  BOOST_TEST(sum_of(text, "brood_class_wait_seconds_count", R"(class="Segfault")") == 3);
  BOOST_TEST(sum_of(text, "brood_class_crashes_total", R"(class="Segfault",error="SIGSEGV")") == 3);
  BOOST_TEST(sum_of(text, "brood_class_crashes_total", R"(class="Sleep",error="SIGKILL")") == 1);
  BOOST_TEST(sum_of(text, "brood_class_crashes_total", "") == 4);
  BOOST_TEST(sum_of(text, "brood_class_crashed_total", "") == 4);
  BOOST_TEST(sum_of(text, "brood_class_failed_total", "") == 5);
  BOOST_TEST(eventually([&] { return redis.get("stat:failed").value_or("") == "5"; }, 30s));
  BOOST_TEST(complaints(text) == "");
}

// Counted by its worker, by the recovery of a crash and by the scheduler, while the dead set is at its limit.
BOOST_AUTO_TEST_CASE(each_job_that_dies_is_counted_though_the_dead_set_is_full) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .config = "dead_max_jobs = 1\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const auto died = [&] {
    return sum_of(metrics(redis.url(), brood.environment()).output, "brood_jobs_died_total", "");
  };
  BOOST_TEST(died() == 0);
  enqueue(redis, {payload_text("Fail", "[]", 1, R"("retry":0)"), payload_text("Fail", "[]", 2, R"("retry":0)")});
  BOOST_TEST(eventually([&] { return died() == 2; }, 30s), brood.log_tail());
  enqueue(redis, {payload_text("Segfault", "[]", 3, R"("retry":0)")});
  BOOST_TEST(eventually([&] { return died() == 3; }, 30s), brood.log_tail());
  redis.command({"ZADD", "schedule", "1", "no job at all"});
  BOOST_TEST(eventually([&] { return died() == 4; }, 60s), brood.log_tail());
  BOOST_TEST(redis.size_of("dead") <= 1U);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_last_restart_is_exported) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .config = "poll_interval = \"1s\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  const auto told = [&] { return metrics(redis.url(), brood.environment()).output; };
  BOOST_TEST(sum_of(told(), "brood_last_restart_successful", "") == 1);
  BOOST_TEST(told().find("\nbrood_last_restart_seconds{") == std::string::npos);
  const double first_loaded = sum_of(told(), "brood_process_loaded_seconds", "");
  BOOST_TEST(first_loaded > 1e9);
  BOOST_TEST(sum_of(told(), "brood_process_generation", "") == 1);
  brood.signal(SIGHUP);
  BOOST_TEST(eventually([&] { return sum_of(told(), "brood_restarts_total", "\"done\"") == 1; }, 60s));
  BOOST_TEST(sum_of(told(), "brood_last_restart_seconds", "") > 1e9);
  BOOST_TEST(eventually([&] { return sum_of(told(), "brood_process_generation", "") == 2; }, 60s));
  BOOST_TEST(sum_of(told(), "brood_process_loaded_seconds", "") > first_loaded);
  std::ofstream(brood.home() / "brood.toml") << "concurrency = \"many\"\n";
  brood.signal(SIGHUP);
  BOOST_TEST(eventually([&] { return sum_of(told(), "brood_restarts_total", "\"refused\"") == 1; }, 60s),
             brood.log_tail());
  BOOST_TEST(sum_of(told(), "brood_last_restart_successful", "") == 0);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_connections_certificates_is_exported) {
  const TestAuthority authority;
  RedisServer redis({.tls = authority.issue({.valid_to = 10})});
  const RedisServer::TlsFiles own = authority.issue({.valid_to = 20});
  const TemporaryDirectory directory;
  directory.write("brood.toml", "[redis]\nurl = \"" + redis.url() + "\"\n[redis.tls]\nca = \"" + authority.ca() +
                                    "\"\ncert = \"" + own.cert + "\"\nkey = \"" + own.key + "\"\n");
  const CommandResult result = run_brood({"status", "--format", "prometheus", "-C", directory / "brood.toml"});
  BOOST_TEST(has(result, "brood_redis_up 1\n"), result.output + result.errors);
  const auto days = [&](const std::string& side) {
    const double ends = sum_of(result.output, "brood_certificate_expires_seconds", "side=\"" + side + "\"");
    return (ends - static_cast<double>(std::time(nullptr))) / 86'400;
  };
  BOOST_TEST(std::abs(days("server") - 10) < 1.5);
  BOOST_TEST(std::abs(days("client") - 20) < 1.5);
}
