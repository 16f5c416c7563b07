#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <thread>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/localhost.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";
constexpr const char* unresolved = BROOD_BINARY_DIR "/tests/job_libraries/libunresolved_jobs.so";
constexpr const char* unruly = BROOD_BINARY_DIR "/tests/job_libraries/libunruly_jobs.so";
constexpr int configuration = 78;

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool logs(const BroodProcess& brood, const std::string& text, std::chrono::milliseconds timeout = 20s) {
  return eventually([&] { return holds(brood.log(), text); }, timeout);
}

// The number of times that the supervisor itself, not one of its workers, has logged this.
int times_said(const BroodProcess& brood, const std::string& event) {
  const std::string log = brood.log(), wanted = "pid=" + std::to_string(brood.pid()) + " event=" + event;
  int times = 0;
  for (std::size_t at = log.find(wanted); at != std::string::npos; at = log.find(wanted, at + 1)) ++times;
  return times;
}

std::size_t threads_of(pid_t pid) {
  std::error_code gone;
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", gone);
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// A Redis that reports an INFO unlike any Redis of this machine, and answers OK to everything else.
class ForeignRedis {
 public:
  explicit ForeignRedis(const std::string& info)
      : info_("$" + std::to_string(info.size()) + "\r\n" + info + "\r\n"),
        listener_(check("socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    check("bind", bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    check("listen", listen(listener_.get(), 16));
    thread_ = std::thread([this] { serve(); });
  }
  ~ForeignRedis() {
    stopping_ = true;
    thread_.join();
  }
  ForeignRedis(const ForeignRedis&) = delete;
  ForeignRedis& operator=(const ForeignRedis&) = delete;

  std::string path() const { return directory_ / "foreign.sock"; }
  std::string url() const { return "unix://" + path(); }

 private:
  void serve() {
    std::vector<UniqueFd> clients;
    while (!stopping_) {
      std::vector<pollfd> all{{listener_.get(), POLLIN, 0}};
      for (const UniqueFd& client : clients) all.push_back({client.get(), POLLIN, 0});
      if (poll(all.data(), all.size(), 10) <= 0) continue;
      for (std::size_t i = 1; i < all.size(); ++i) {
        if (all[i].revents != 0 && !answer(all[i].fd)) clients[i - 1].reset();
      }
      std::erase_if(clients, [](const UniqueFd& client) { return !client; });
      if (all[0].revents != 0) clients.emplace_back(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
  }

  // brood's first commands to an unknown server come at once, and end with INFO.
  bool answer(int client) {
    char request[65536];
    const ssize_t got = recv(client, request, sizeof request, MSG_DONTWAIT);
    if (got <= 0) return false;
    const std::string text(request, static_cast<std::size_t>(got));
    std::string reply = holds(text, "INFO") ? info_ : "+OK\r\n";
    for (auto at = text.find("\r\n*"); at != std::string::npos; at = text.find("\r\n*", at + 1))
      reply = "+OK\r\n" + reply;
    return send(client, reply.data(), reply.size(), MSG_NOSIGNAL) > 0;
  }

  const std::string info_;
  TemporaryDirectory directory_;
  UniqueFd listener_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_library_that_is_not_there_is_a_configuration_error_and_the_log_says_so) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 2, .libraries = {"/nowhere/libjobs.so"}});
  BOOST_TEST(brood.wait_exit().value_or(-1) == configuration, brood.log_tail());
  BOOST_TEST(holds(brood.log(), "/nowhere/libjobs.so: no such file"), brood.log_tail());
  BOOST_TEST(holds(brood.log(), "event=no_worker_became_ready"));
}

BOOST_AUTO_TEST_CASE(a_library_that_does_not_load_is_a_configuration_error_in_the_loaders_words) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .libraries = {examples, unresolved}});
  BOOST_TEST(brood.wait_exit().value_or(-1) == configuration, brood.log_tail());
  BOOST_TEST(holds(brood.log(), "undefined symbol: _Z19nobody_defines_thisv"), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_worker_that_hangs_while_it_loads_is_replaced_after_the_boot_timeout) {
  RedisServer redis;
  const TemporaryDirectory gate;
  // The first process to load passes, and all others hang until the gate is open.
  BroodProcess brood(redis, {.workers = 2,
                             .libraries = {unruly},
                             .config = "boot_timeout = \"3s\"\n",
                             .environment = {{"BROOD_TEST_GATE", gate.path()}}});
  BOOST_TEST(logs(brood, "event=worker_did_not_start"), brood.log_tail());
  BOOST_TEST(holds(brood.log(), "it was not ready within boot_timeout"), brood.log_tail());
  BOOST_TEST(eventually([&] { return times_said(brood, "worker_did_not_start") >= 3; }, 40s), brood.log_tail());
  BOOST_TEST(!brood.wait_exit(0ms).has_value());

  gate.write("open", "");

  BOOST_TEST(logs(brood, "event=ready"), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
}

// The library cannot be opened, and a job's forker cannot get a socket.
BOOST_AUTO_TEST_CASE(a_start_that_lacks_descriptors_is_tried_again_until_there_are_some) {
  const std::vector<std::string> lone{unruly}, two{unruly, examples};
  for (const auto& [libraries, words] :
       {std::pair(two, "cannot be read now: Too many open files"), std::pair(lone, "Too many open files")}) {
    RedisServer redis;
    const TemporaryDirectory gate;
    BroodProcess brood(redis, {.workers = 1,
                               .libraries = libraries,
                               .config = "[classes.Babble]\nisolation = \"process\"\n",
                               .environment = {{"BROOD_TEST_SCARCITY", gate.path()}}});
    BOOST_TEST(eventually([&] { return times_said(brood, "worker_did_not_start") >= 5; }, 40s), brood.log_tail());
    BOOST_TEST(holds(brood.log(), words), brood.log_tail());
    BOOST_TEST(!brood.wait_exit(0ms).has_value(), brood.log_tail());

    gate.write("open", "");

    BOOST_TEST(logs(brood, "event=ready", 40s), brood.log_tail());
  }
}

BOOST_AUTO_TEST_CASE(a_check_of_what_can_run_says_so_and_starts_nothing) {
  const TemporaryDirectory directory;
  const std::string config = directory.write("brood.toml", "concurrency = 3\n[capsules.images]\nconcurrency = 2\n");
  // Redis may be away: a check before a deploy must not depend on it.
  const CommandResult result =
      run_brood({"run", "--check", "-C", config, "-r", examples, "--redis", "unix://" + (directory / "no.sock")},
                {{"RUNTIME_DIRECTORY", directory / "run"}, {"STATE_DIRECTORY", directory / "state"}});
  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(holds(result.output, "5 workers in 2 capsules"), result.output);
  BOOST_TEST(holds(result.output, "Greet"), result.output);
  BOOST_TEST(holds(result.output, "warning: it does not answer now"), result.output);
  BOOST_TEST(holds(result.output, "brood can run, except as in the warnings"), result.output);
  BOOST_TEST(!holds(result.output, "everything can run"), result.output);
  BOOST_TEST(result.errors == "");
  BOOST_TEST(!std::filesystem::exists(directory / "run"));
}

BOOST_AUTO_TEST_CASE(a_check_of_what_cannot_run_names_the_reason_and_exits_78) {
  const TemporaryDirectory directory;
  const std::string redis = "unix://" + (directory / "no.sock");
  const struct {
    std::vector<std::string> arguments;
    std::string reason;
  } bad[] = {
      {{"-r", "/nowhere/libjobs.so"}, "/nowhere/libjobs.so: no such file"},
      {{"-r", directory.write("libjobs.so", "not ELF")}, "is not a shared object"},
      {{"-r", unresolved}, "undefined symbol: _Z19nobody_defines_thisv"},
      {{"-C", directory.write("unknown.toml", "concurency = 3\n")}, "concurency"},
      {{"-C", directory.write("broken.toml", "concurrency = \n")}, "broken.toml"},
      {{"-C", directory / "missing.toml"}, "missing.toml"},
      {{"-q", "no<such>name"}, "no<such>name"},
  };
  for (const auto& one : bad) {
    std::vector<std::string> arguments = {"run", "--check", "--redis", redis};
    arguments.insert(arguments.end(), one.arguments.begin(), one.arguments.end());
    const CommandResult result = run_brood(arguments);
    BOOST_TEST(result.status == configuration, one.reason + ": " + result.output + result.errors);
    BOOST_TEST(holds(result.errors, one.reason), result.errors);
    BOOST_TEST(!holds(result.output, "everything can run"));
  }
}

BOOST_AUTO_TEST_CASE(a_check_refuses_each_name_that_cannot_work_and_warns_of_each_that_stands_for_nothing_here) {
  const TemporaryDirectory directory;
  const std::string periodic = "[periodic.p]\ncron = \"0 3 * * *\"\nclass = ";
  const struct {
    std::string config, words;
    bool is_refused;
  } cases[] = {
      {periodic + "\"Gret\"\n", "periodic.p: no job class \"Gret\" is loaded; did you mean \"Greet\"?", true},
      {periodic + "\"Greet\"\nargs = [1, 2, 3]\n", "periodic.p: Greet takes 0 to 1 argument, got 3", true},
      {periodic + "\"Greet\"\nargs = [\"World\"]\nqueue = \"other\"\n",
       "periodic.p: no capsule fetches the queue other", false},
      {periodic + "\"Ruby::Report\"\nqueue = \"ruby\"\n", "so another process must perform Ruby::Report", false},
      {periodic + "\"Greet\"\nargs = [1]\nqueue = \"other\"\n", "periodic.p: Greet: ", true},
      {"[classes.Gret.sandbox]\nnetwork = false\n", "classes.Gret: no job class \"Gret\" is loaded", true},
      {"[classes.Gret]\nisolation = \"process\"\n", "classes.Gret: no job class \"Gret\" is loaded", true},
      {"[classes.Gret]\nexpired = \"dead\"\n", "classes.Gret: no job class \"Gret\" is loaded", false},
      {"[limits.l]\nclasses = [\"Gret\"]\nconcurrent = 1\n", "limits.l: no job class \"Gret\" is loaded", false},
      {"[limits.l]\nqueues = [\"other\"]\nconcurrent = 1\n", "limits.l: no capsule fetches the queue other", false},
      {"[log]\nfile = \"/nowhere/brood.log\"\n", "log.file: /nowhere/brood.log cannot be written", true},
      {"[web]\nlisten = \"127.0.0.1:1\"\nusers = \"/nowhere/users\"\n", "web.users: /nowhere/users", true},
      {"[otlp]\nendpoint = \"http://127.0.0.1:4318\"\nheaders_file = \"/nowhere/headers\"\n",
       "otlp.headers_file: /nowhere/headers", true},
      {"[otlp]\nendpoint = \"http://no-such-host.invalid:4318\"\n", "the host no-such-host.invalid is not known",
       false},
  };
  for (const auto& one : cases) {
    const std::string config = directory.write("brood.toml", one.config);
    const CommandResult result =
        run_brood({"run", "--check", "-C", config, "-r", examples, "--redis", "unix://" + (directory / "no.sock")});
    BOOST_TEST(result.status == (one.is_refused ? configuration : 0), one.config << result.output << result.errors);
    BOOST_TEST(holds(one.is_refused ? result.errors : result.output, one.words), result.output << result.errors);
    BOOST_TEST(!holds(result.output, "everything can run"), one.config << result.output);
  }
}

BOOST_AUTO_TEST_CASE(a_check_without_any_library_says_that_no_job_can_run) {
  const TemporaryDirectory directory;
  const std::string config = directory.write("brood.toml", "[classes.Resize.sandbox]\nnetwork = false\n");
  const CommandResult result =
      run_brood({"run", "--check", "-C", config, "--redis", "unix://" + (directory / "no.sock")});
  BOOST_TEST(result.status == 0, result.output << result.errors);
  BOOST_TEST(holds(result.output, "brood can start, and no job can run"), result.output);
}

BOOST_AUTO_TEST_CASE(a_check_takes_names_that_stand_for_something) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::string config = directory.write(
      "brood.toml",
      "queues = [\"default\", \"*\"]\n[periodic.p]\ncron = \"0 3 * * *\"\nclass = \"Greet\"\nargs = [\"World\"]\n"
      "queue = \"other\"\n[classes.Greet.sandbox]\nnetwork = false\n[classes.Ruby]\nshow_args = \"none\"\n"
      "[limits.l]\nclasses = [\"Greet\"]\nqueues = [\"other\"]\nconcurrent = 1\n[log]\nfile = \"" +
          (directory / "brood.log") + "\"\n");
  const CommandResult result = run_brood({"run", "--check", "-C", config, "-r", examples, "--redis", redis.url()});
  BOOST_TEST(result.status == 0, result.output << result.errors);
  BOOST_TEST(holds(result.output, "everything can run"), result.output);
  BOOST_TEST(!std::filesystem::exists(directory / "brood.log"));
}

BOOST_AUTO_TEST_CASE(a_check_that_finds_another_process_at_a_queue_does_not_say_that_everything_can_run) {
  RedisServer redis;
  redis.command({"SADD", "processes", "host:1:aa"});
  redis.command({"HSET", "host:1:aa", "info", R"({"hostname":"host","pid":1,"queues":["default"]})", "beat",
                 std::to_string(std::time(nullptr)), "busy", "0"});
  const CommandResult result = run_brood({"run", "--check", "-r", examples, "--redis", redis.url()});
  BOOST_TEST(result.status == 0, result.output << result.errors);
  BOOST_TEST(holds(result.output, "\nwarning: "), result.output);
  BOOST_TEST(!holds(result.output, "everything can run"), result.output);
}

BOOST_AUTO_TEST_CASE(a_sandbox_of_a_class_that_is_not_there_lets_no_worker_start) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1, .config = "[classes.Gret.sandbox]\nnetwork = false\n"});
  BOOST_TEST(brood.wait_exit().value_or(-1) == configuration, brood.log_tail());
  BOOST_TEST(holds(brood.log(), "classes.Gret: no job class"), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_check_tells_of_a_library_that_ends_or_holds_up_its_process) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "first");
  const auto check = [&](const std::string& variable, const std::string& boot_timeout) {
    const std::string config = directory.write("brood.toml", "boot_timeout = \"" + boot_timeout + "\"\n");
    return run_brood({"run", "--check", "-C", config, "-r", unruly, "--redis", "unix://" + (directory / "no.sock")},
                     {{variable, directory.path()}});
  };
  const CommandResult ended = check("BROOD_TEST_EXIT", "60s"), held_up = check("BROOD_TEST_GATE", "1s");
  BOOST_TEST(ended.status == configuration, ended.output);
  BOOST_TEST(holds(ended.errors, "loading the libraries ended the process that tried: exited with 0"), ended.errors);
  BOOST_TEST(held_up.status == 75, held_up.output);
  BOOST_TEST(holds(held_up.errors, "loading the libraries took longer than boot_timeout, 1s"), held_up.errors);
}

BOOST_AUTO_TEST_CASE(a_crash_in_a_static_constructor_names_the_library_and_a_check_shows_its_stack) {
  RedisServer redis;
  const std::map<std::string, std::string> crashes{{"BROOD_TEST_CRASH", "1"}};
  BroodProcess brood(redis, {.workers = 1, .libraries = {examples, unruly}, .environment = crashes});
  BOOST_TEST(brood.wait_exit().value_or(-1) == configuration, brood.log_tail());
  BOOST_TEST(holds(brood.log(), std::string(" library=") + unruly), brood.log_tail());

  const CommandResult check = run_brood({"run", "--check", "-r", unruly, "--redis", redis.url()}, crashes);
  BOOST_TEST(check.status == configuration, check.output);
  BOOST_TEST(holds(check.errors, "SIGSEGV (SEGV_MAPERR) at 0x10"), check.errors);
  BOOST_TEST(holds(check.errors, "CrashesWhileLoading::CrashesWhileLoading() at unruly_jobs.cpp:"), check.errors);
}

BOOST_AUTO_TEST_CASE(a_redis_in_cluster_mode_is_refused_with_a_sentence) {
  RedisServer redis(
      RedisServer::Options{.extra = {"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port())}});
  BroodProcess brood(redis, {.workers = 1});
  BOOST_TEST(brood.wait_exit().value_or(-1) == configuration, brood.log_tail());
  BOOST_TEST(holds(brood.log(), "event=redis_unfit"), brood.log_tail());
  BOOST_TEST(holds(brood.log(), "use cluster:// instead"), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_redis_before_6_2_is_refused_with_a_sentence) {
  const ForeignRedis redis("# Server\r\nredis_version:6.0.16\r\nredis_mode:standalone\r\n");
  BroodProcess brood({.workers = 1, .arguments = {"--redis", redis.url()}});
  BOOST_TEST(brood.wait_exit().value_or(-1) == configuration, brood.log_tail());
  BOOST_TEST(holds(brood.log(), "this is Redis 6.0.16; brood needs 6.2 or later"), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_redis_that_may_evict_jobs_is_warned_of_and_used) {
  RedisServer redis(RedisServer::Options{.extra = {"--maxmemory-policy", "allkeys-lru"}});
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 1});
  enqueue_ledger_jobs(redis, ledger.path(), 1);
  BOOST_TEST(logs(brood, "maxmemory-policy is allkeys-lru"), brood.log_tail());
  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 20s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_redis_that_is_not_there_yet_is_waited_for_and_that_is_logged_once) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  redis.kill9();
  BroodProcess brood(redis, {.workers = 1});
  BOOST_REQUIRE_MESSAGE(logs(brood, "event=redis_away"), brood.log_tail());
  BOOST_TEST(!within(3s, [&] { return brood.wait_exit(0ms).has_value(); }), brood.log_tail());  // several attempts long
  BOOST_TEST(times_said(brood, "redis_away") == 1, brood.log_tail());

  redis.restart();
  enqueue_ledger_jobs(redis, ledger.path(), 1);

  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return times_said(brood, "redis_is_back") == 1; }, 30s), brood.log_tail());
  BOOST_TEST(times_said(brood, "redis_away") == 1);
}

BOOST_AUTO_TEST_CASE(a_supervisor_whose_redis_never_comes_obeys_a_stop) {
  RedisServer redis;
  redis.kill9();
  BroodProcess brood(redis, {.workers = 2});
  BOOST_REQUIRE_MESSAGE(logs(brood, "event=redis_away"), brood.log_tail());
  const auto start = std::chrono::steady_clock::now();
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  BOOST_TEST((std::chrono::steady_clock::now() - start < 20s));
}

// getaddrinfo blocks, and a library behind it may start threads: neither may happen in the supervisor.
BOOST_AUTO_TEST_CASE(a_host_name_is_resolved_by_a_child_and_the_supervisor_has_one_thread_throughout,
                     *boost::unit_test::precondition(localhost_is_known)) {
  RedisServer redis(RedisServer::Options{.tcp = true});
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const std::string numeric = redis.url();
  const std::string url = "redis://localhost" + numeric.substr(numeric.rfind(':'));
  BroodProcess brood({.workers = 2, .arguments = {"--redis", url}});
  enqueue_ledger_jobs(redis, ledger.path(), 20, 20);

  std::size_t most_threads = 0;
  const auto watched = [&](auto holds) {
    return eventually(
        [&] {
          most_threads = std::max(most_threads, threads_of(brood.pid()));
          return holds();
        },
        30s);
  };
  BOOST_TEST(watched([&] { return ledger.has_done(20); }), brood.log_tail());
  redis.restart();  // the name is resolved again
  enqueue_ledger_jobs(redis, ledger.path(), 21, 0);
  BOOST_TEST(watched([&] { return ledger.has_done(21); }), brood.log_tail());
  brood.term();
  BOOST_TEST(watched([&] { return brood.wait_exit(0ms).has_value(); }));
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(most_threads == 1U);
}

BOOST_AUTO_TEST_CASE(an_unknown_host_is_waited_for) {
  BroodProcess brood({.workers = 1, .arguments = {"--redis", "redis://no-such-host.invalid:6379"}});
  BOOST_TEST(logs(brood, "event=redis_host_unknown", 40s), brood.log_tail());
  BOOST_TEST(!brood.wait_exit(0ms).has_value());
  BOOST_TEST(!holds(brood.log(), "event=ready"));
  BOOST_TEST(threads_of(brood.pid()) == 1U);
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_runtime_directory_that_was_there_before_keeps_its_mode) {
  RedisServer redis;
  const TemporaryDirectory shared;
  const std::filesystem::path directory = shared / "run";
  std::filesystem::create_directory(directory);
  const auto mode = std::filesystem::perms(0755);
  std::filesystem::permissions(directory, mode);

  // As with RUNTIME_DIRECTORY=/tmp, which a supervisor running as root must not close to others.
  BroodProcess brood(redis, {.workers = 1, .environment = {{"RUNTIME_DIRECTORY", directory.string()}}});
  BOOST_REQUIRE(brood.wait_ready());

  BOOST_TEST((std::filesystem::status(directory).permissions() == mode));
}

// Redis 7.2 and Valkey know a library's name; an older server must not count an error for it.
BOOST_AUTO_TEST_CASE(the_supervisor_names_itself_to_a_server_that_knows_names_of_libraries) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 1});
  BOOST_REQUIRE(brood.wait_ready());

  const auto text = [&](const Command& command) { return std::string(redis.command(command).view().text()); };
  const bool is_known = !redis.command({"CLIENT", "SETINFO", "LIB-NAME", "test"}).view().is_error();
  if (is_known)
    BOOST_TEST(eventually([&] { return holds(text({"CLIENT", "LIST"}), "lib-name=brood lib-ver=0."); }));
  else
    BOOST_TEST(holds(text({"INFO", "errorstats"}), "errorstat_ERR:count=1\r\n"));  // caused by this test
}
