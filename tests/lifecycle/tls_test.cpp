// `brood run` and its commands over TLS.
#include <signal.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/redis_clients.hpp"
#include "tests/support/test_authority.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

RedisServer::Options tls_server(const RedisServer::TlsFiles& files) { return {.append_only = true, .tls = files}; }

std::string tls_section(const std::string& ca, const std::string& more = "") {
  return "[redis.tls]\nca = \"" + ca + "\"\n" + more;
}

std::size_t connections_by_tls(RedisServer& redis) { return RedisClient::of(redis, "brood-worker").size(); }

}  // namespace

BOOST_AUTO_TEST_CASE(ten_thousand_jobs_are_done_over_tls_though_redis_is_killed) {
  const TestAuthority authority;
  RedisServer redis(tls_server(authority.issue()));
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), 10'000);
  BroodProcess brood(redis, {.workers = 2, .config = tls_section(authority.ca())});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(500); }, 60s), brood.log_tail());
  redis.restart();
  BOOST_TEST(eventually([&] { return no_job_is_left(redis); }, 120s), brood.log_tail());
  BOOST_TEST(ledger.judge(10'000).lost.empty());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_renewed_certificate_and_authority_are_taken_at_hup) {
  const TestAuthority authority("First"), next("Second");
  const TemporaryDirectory directory;
  const std::string ca = directory / "ca.pem";
  std::filesystem::copy_file(authority.ca(), ca);
  RedisServer redis(tls_server(authority.issue()));
  BroodProcess brood(redis, {.workers = 1, .config = tls_section(ca)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return connections_by_tls(redis) == 1; }, 30s), brood.log_tail());
  const pid_t before = brood.workers().front();

  // An empty file is refused, and everything goes on.
  std::ofstream(ca, std::ios::trunc).close();
  CommandResult restart = run_brood({"restart"}, brood.environment());
  BOOST_TEST(restart.status != 0);
  BOOST_TEST(contains(restart.output + restart.errors, "holds no certificate"), restart.output + restart.errors);
  BOOST_TEST(contains(restart.output + restart.errors, "redis.tls.ca"));

  // So is one that does not know the server.
  std::filesystem::copy_file(next.ca(), ca, std::filesystem::copy_options::overwrite_existing);
  restart = run_brood({"restart"}, brood.environment());
  BOOST_TEST(restart.status != 0);
  BOOST_TEST(contains(restart.output + restart.errors, "unknown authority"), restart.output + restart.errors);
  BOOST_TEST((brood.workers() == std::vector<pid_t>{before}));

  redis.show(next.issue());
  restart = run_brood({"restart"}, brood.environment());
  BOOST_TEST(restart.status == 0, restart.output + restart.errors);
  redis.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  enqueue(redis, {payload_text("Fail", "[]", 1)});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  // The supervisor reconnects too: only it beats.
  BOOST_TEST(eventually(
                 [&] {
                   const std::string log = brood.log();
                   return log.rfind("event=redis_is_back") != log.npos &&
                          log.rfind("event=redis_is_back") > log.rfind("event=redis_away");
                 },
                 30s),
             brood.log_tail());
}

BOOST_AUTO_TEST_CASE(what_an_operator_must_correct_is_reported_by_the_check_and_at_the_start) {
  const TestAuthority authority, stranger("Stranger");
  RedisServer redis(tls_server(authority.issue()));
  const TemporaryDirectory home;
  const std::map<std::string, std::string> environment = {{"RUNTIME_DIRECTORY", home / "run"},
                                                          {"STATE_DIRECTORY", home / "state"}};
  const auto run = [&](const std::string& config, std::vector<std::string> more) {
    std::vector<std::string> words = {"run", "-C", home.write("brood.toml", config), "--redis", redis.url()};
    words.insert(words.end(), more.begin(), more.end());
    return run_brood(words, environment);
  };
  CommandResult result = run(tls_section(authority.ca()), {"--check"});
  BOOST_TEST(result.status == 0, result.output + result.errors);
  BOOST_TEST(contains(result.output, "rediss://127.0.0.1"), result.output);

  result = run(tls_section(stranger.ca()), {"--check"});
  BOOST_TEST(result.status == EX_TEMPFAIL);
  BOOST_TEST(contains(result.errors, "certificate"), result.errors);
  result = run("[redis]\ngive_up_after = \"1ms\"\n" + tls_section(stranger.ca()), {});
  BOOST_TEST(result.status == EX_TEMPFAIL, result.errors);
  BOOST_TEST(contains(result.errors, "event=redis_given_up"), result.errors);
  BOOST_TEST(contains(result.errors, "certificate"), result.errors);

  for (const std::string& option : {std::string("--check"), std::string("-v")}) {
    result = run(tls_section("/nowhere"), {option});
    BOOST_TEST(result.status == EX_CONFIG);
    BOOST_TEST(contains(result.errors, "brood.toml:2: redis.tls.ca: /nowhere cannot be read"), result.errors);
  }
  const RedisServer::TlsFiles one = authority.issue(), other = authority.issue();
  result = run(tls_section(authority.ca(), "cert = \"" + one.cert + "\"\nkey = \"" + other.key + "\"\n"), {"--check"});
  BOOST_TEST(result.status == EX_CONFIG);
  BOOST_TEST(contains(result.errors, "brood.toml:4: redis.tls.key"), result.errors);
}

BOOST_AUTO_TEST_CASE(a_server_with_a_certificate_of_its_own_is_pinned_or_not_verified_with_a_warning) {
  const TestAuthority host("Hosted Redis");
  const RedisServer::TlsFiles files = host.self_signed();
  RedisServer redis(tls_server(files));
  const TemporaryDirectory home;
  const auto check = [&](const std::string& verify, const std::map<std::string, std::string>& more = {}) {
    std::map<std::string, std::string> environment = {{"RUNTIME_DIRECTORY", home / "run"},
                                                      {"STATE_DIRECTORY", home / "state"}};
    environment.insert(more.begin(), more.end());
    const std::string section = verify.empty() ? "" : "[redis.tls]\nverify = \"" + verify + "\"\n";
    return run_brood({"run", "-C", home.write("brood.toml", section), "--redis", redis.url(), "--check"}, environment);
  };
  CommandResult result = check("full");
  BOOST_TEST(result.status == EX_TEMPFAIL);
  const std::size_t begin = result.errors.find("its fingerprint is ") + 19;
  const std::string pin = "pin:" + result.errors.substr(begin, 95);
  BOOST_TEST(pin == "pin:" + host.fingerprint_of(files), result.errors);
  result = check(pin);
  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(!contains(result.output, "verify"), result.output);
  for (const auto& none : {check("none"), check("", {{"BROOD_REDIS_TLS_VERIFY", "none"}})}) {
    BOOST_TEST(none.status == 0, none.errors);
    BOOST_TEST(contains(none.output + none.errors, "warning: [redis.tls] verify = \"none\" accepts any server"),
               none.output + none.errors);
  }
  result = check("pin:" + std::string(64, '0'));
  BOOST_TEST(result.status == EX_TEMPFAIL);
  BOOST_TEST(contains(result.errors, "does not pin"), result.errors);

  // Also for workers, a job's own client and a renewed certificate.
  const std::string program =
      home.write("again", "#!/bin/sh\nexec " BROOD_BINARY_DIR "/bin/brood enqueue Fail -q default\n");
  chmod(program.c_str(), 0755);
  const auto configured = [&](const std::string& pins) {
    return home.write("brood.toml", "concurrency = 1\n[redis]\nurl = \"" + redis.url() +
                                        "\"\n[redis.tls]\nverify = \"" + pins + "\"\n[commands.Again]\nrun = [\"" +
                                        program + "\"]\n");
  };
  BroodProcess brood({.workers = 1, .sets_workers = false, .arguments = {"-C", configured(pin)}});
  enqueue(redis, {payload_text("Again", "[]", 1)});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  const TestAuthority next("Hosted Redis");
  redis.show(next.self_signed());
  CommandResult restart = run_brood({"restart"}, brood.environment());
  BOOST_TEST(restart.status != 0);
  BOOST_TEST(contains(restart.output + restart.errors, "does not pin"), restart.output + restart.errors);
  configured(pin + "," + next.fingerprint_of(next.self_signed()));
  restart = run_brood({"restart"}, brood.environment());
  BOOST_TEST(restart.status == 0, restart.output + restart.errors);
  redis.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  enqueue(redis, {payload_text("Again", "[]", 2)});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 2; }, 30s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(commands_and_the_programs_of_jobs_find_what_tls_needs) {
  const TestAuthority authority;
  RedisServer::TlsFiles files = authority.issue();
  files.requires_clients = true;
  RedisServer redis(tls_server(files));
  const RedisServer::TlsFiles client = authority.issue();
  const TemporaryDirectory directory;
  const std::string section =
      tls_section(authority.ca(), "cert = \"" + client.cert + "\"\nkey = \"" + client.key + "\"\n");
  const std::string config = directory.write("brood.toml", "[redis]\nurl = \"" + redis.url() + "\"\n" + section);

  // Once with the configuration, once with the environment.
  BOOST_TEST(run_brood({"enqueue", "Any", "-C", config}).status == 0);
  BOOST_TEST(run_brood({"queues", "list", "--json", "-C", config}).status == 0);
  const CommandResult status = run_brood({"status", "-C", config});
  BOOST_TEST(contains(status.output, "enqueued 1"), status.output + status.errors);
  std::map<std::string, std::string> environment = {{"REDIS_URL", redis.url()},
                                                    {"BROOD_REDIS_TLS_CA", authority.ca()},
                                                    {"BROOD_REDIS_TLS_CERT", client.cert},
                                                    {"BROOD_REDIS_TLS_KEY", client.key}};
  BOOST_TEST(run_brood({"enqueue", "Any", "-q", "other"}, environment).status == 0);
  environment.erase("BROOD_REDIS_TLS_KEY");
  const CommandResult without = run_brood({"enqueue", "Any", "-q", "other"}, environment);
  BOOST_TEST(without.status != 0);
  BOOST_TEST(contains(without.errors, "BROOD_REDIS_TLS_CERT"), without.errors);

  const std::string program =
      directory.write("again", "#!/bin/sh\n" BROOD_BINARY_DIR
                               "/bin/brood enqueue Fail -q default >\"$1.part\" 2>&1\nmv \"$1.part\" \"$1\"\n");
  chmod(program.c_str(), 0755);
  BroodProcess brood(redis,
                     {.workers = 1, .config = section + "\n[commands.Again]\nrun = [\"" + program + "\", \"{0}\"]\n"});
  redis.flush();
  enqueue(redis, {payload_text("Again", "[\"" + (directory / "said") + "\"]", 1)});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail()
                                                                               << text_of_file(directory / "said"));
}

// The template has no connection: each worker forked from it opens its own.
BOOST_AUTO_TEST_CASE(workers_of_a_template_and_a_program_that_takes_over_speak_tls) {
  const TestAuthority authority;
  RedisServer redis(tls_server(authority.issue()));
  BroodProcess brood(redis, {.workers = 2, .config = tls_section(authority.ca()) + "[worker]\npreload = true\n"});
  const auto does_a_job = [&](long number) {
    redis.flush();
    enqueue(redis, {payload_text("Fail", "[]", number)});
    return eventually([&] { return redis.size_of("retry") == 1; }, 30s);
  };
  BOOST_REQUIRE_MESSAGE(eventually([&] { return connections_by_tls(redis) == 2; }, 30s), brood.log_tail());
  for (const pid_t worker : brood.workers()) kill(worker, SIGKILL);
  BOOST_TEST(does_a_job(1), brood.log_tail());
  brood.signal(SIGUSR2);
  BOOST_TEST(eventually([&] { return contains(brood.log(), "event=supervisor_took_over"); }, 60s), brood.log_tail());
  BOOST_TEST(does_a_job(2), brood.log_tail());
}
