// Where the password of a Redis can be seen.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* secret = "correct-horse-battery";

bool tells(const std::string& text) { return text.find(secret) != std::string::npos; }

std::string arguments_of(pid_t pid) { return text_of_file("/proc/" + std::to_string(pid) + "/cmdline"); }
std::string environment_of(pid_t pid) { return text_of_file("/proc/" + std::to_string(pid) + "/environ"); }

std::string shown_by_ps(pid_t pid) {
  std::string words = arguments_of(pid);
  for (char& c : words) c = c == '\0' ? ' ' : c;
  return words;
}

// A command that waits for its standard input.
class WaitingCommand {
 public:
  explicit WaitingCommand(std::vector<std::string> words) {
    int ends[2];
    BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    words.insert(words.begin(), BROOD_BINARY_DIR "/bin/brood");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[0], STDIN_FILENO);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    close(ends[0]);
    input_ = ends[1];
  }
  ~WaitingCommand() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(input_);
  }
  pid_t pid() const { return pid_; }
  // Whether it is past the start of main(): it waits in a read.
  bool waits() const {
    return eventually(
        [&] { return text_of_file("/proc/" + std::to_string(pid_) + "/wchan") != "0" && is_connected(); });
  }

 private:
  bool is_connected() const {
    return text_of_file("/proc/" + std::to_string(pid_) + "/status").find("State:\tS") != std::string::npos;
  }
  pid_t pid_ = -1;
  int input_ = -1;
};

// The environment of a job's program.
std::string environment_of_a_program(const std::string& config, const std::map<std::string, std::string>& environment,
                                     bool by_command_line) {
  RedisServer redis({.password = secret});
  const TemporaryDirectory directory;
  const std::string program = directory.write("say", "#!/bin/sh\nenv >\"$1.part\"\nmv \"$1.part\" \"$1\"\n");
  chmod(program.c_str(), 0755);
  BroodOptions options{.workers = 1, .config = config + "\n[commands.Say]\nrun = [\"" + program + "\", \"{0}\"]\n"};
  options.environment = environment;
  if (!by_command_line) options.environment["REDIS_URL"] = redis.url();
  std::optional<BroodProcess> brood;
  if (by_command_line)
    brood.emplace(redis, options);
  else
    brood.emplace(options);
  enqueue(redis, {payload_text("Say", "[\"" + (directory / "said") + "\"]", 1)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return access((directory / "said").c_str(), F_OK) == 0; }, 30s),
                        brood->log_tail());
  return text_of_file(directory / "said");
}

// The memory of another process.
class Memory {
 public:
  enum class What { all, dumped };
  explicit Memory(pid_t pid)
      : directory_("/proc/" + std::to_string(pid)),
        memory_(open((directory_ + "/mem").c_str(), O_RDONLY | O_CLOEXEC)) {}

  bool is_readable() const { return static_cast<bool>(memory_); }

  bool holds(const std::string& text, What what) const {
    std::istringstream maps(text_of_file(directory_ + "/smaps"));
    std::string line;
    unsigned long begin = 0, end = 0;
    while (std::getline(maps, line)) {
      unsigned long from = 0, to = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) std::tie(begin, end) = std::pair(from, to);
      if (!line.starts_with("VmFlags:")) continue;
      if (what == What::dumped && line.find(" dd") != line.npos) continue;
      std::string bytes(end - begin, '\0');
      const ssize_t count = pread(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(begin));
      bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (bytes.find(text) != bytes.npos) return true;
    }
    return false;
  }

 private:
  std::string directory_;
  UniqueFd memory_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(ps_shows_no_password_of_a_command_however_it_was_given) {
  RedisServer redis({.password = secret});
  for (const std::vector<std::string>& given :
       {std::vector<std::string>{"--redis", redis.url()}, std::vector<std::string>{"--redis=" + redis.url()},
        std::vector<std::string>{"--redis", "unix:///nowhere", "--redis", redis.url()}}) {
    std::vector<std::string> words = {"enqueue", "--bulk", "-"};
    words.insert(words.end(), given.begin(), given.end());
    words.push_back("--json");
    const WaitingCommand command(words);
    BOOST_REQUIRE(command.waits());
    BOOST_TEST(eventually([&] { return !tells(arguments_of(command.pid())); }), shown_by_ps(command.pid()));
    BOOST_TEST(shown_by_ps(command.pid()).find("***@") != std::string::npos, shown_by_ps(command.pid()));
    BOOST_TEST(shown_by_ps(command.pid()).find("--json") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(an_address_without_a_password_is_shown_as_it_is) {
  RedisServer redis;
  const WaitingCommand command({"enqueue", "--bulk", "-", "--redis", redis.url()});
  BOOST_REQUIRE(command.waits());
  BOOST_TEST(shown_by_ps(command.pid()).find(redis.url()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_supervisor_and_its_successor_hide_the_password_and_keep_it) {
  RedisServer redis({.password = secret});
  BroodProcess brood(redis, {.workers = 1});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  BOOST_TEST(!tells(arguments_of(brood.pid())));
  for (const pid_t worker : brood.workers()) {
    BOOST_TEST(!tells(arguments_of(worker)));
    BOOST_TEST(!tells(environment_of(worker)));
  }
  for (int upgrades = 1; upgrades <= 2; ++upgrades) {
    // A process that polls it constantly sees no password either.
    const pid_t watcher = fork();
    if (watcher == 0) {
      for (;;) {
        if (tells(arguments_of(brood.pid()))) _exit(1);
      }
    }
    brood.signal(SIGUSR2);
    const auto took_over = [&] {
      const std::string log = brood.log(), event = "event=supervisor_took_over";
      std::size_t count = 0;
      for (std::size_t at = log.find(event); at != log.npos; at = log.find(event, at + 1)) ++count;
      return static_cast<int>(count) == upgrades;
    };
    BOOST_REQUIRE_MESSAGE(eventually(took_over, 60s), brood.log_tail());
    BOOST_REQUIRE_MESSAGE(eventually([&] { return run_brood({"restart"}, brood.environment()).status == 0; }, 60s),
                          brood.log_tail());
    int status = 0;
    BOOST_TEST(waitpid(watcher, &status, WNOHANG) == 0, "the password was seen in the arguments");
    kill(watcher, SIGKILL);
    waitpid(watcher, nullptr, 0);
    BOOST_TEST(!tells(environment_of(brood.pid())));
  }
  enqueue(redis, {payload_text("Fail", "[]", 1)});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  BOOST_TEST(!tells(brood.log()));
}

// Everything that a job starts can read the environment, and many programs print it.
BOOST_AUTO_TEST_CASE(the_environment_of_a_program_holds_the_password_only_where_that_is_set) {
  for (const bool by_command_line : {true, false}) {
    const std::string by_default = environment_of_a_program("", {}, by_command_line);
    BOOST_TEST(!tells(by_default), by_default);
    BOOST_TEST(by_default.find("BROOD_REDIS_URL=unix:///") != std::string::npos, by_default);
    BOOST_TEST(by_default.find("BROOD_REDIS_PASSWORD_FILE=/") != std::string::npos, by_default);
    BOOST_TEST(tells(environment_of_a_program("[redis]\nshare_with_jobs = \"password\"\n", {}, by_command_line)));
    const std::string told = environment_of_a_program("[redis]\nshare_with_jobs = false\n", {}, by_command_line);
    BOOST_TEST(!tells(told), told);
    BOOST_TEST(told.find("BROOD_REDIS") == std::string::npos, told);
    BOOST_TEST(told.find("BROOD_JID=") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_command_of_a_program_logs_in_by_a_file_that_is_ours_alone) {
  RedisServer redis({.password = secret});
  redis.command({"ACL", "SETUSER", "app", "on", std::string(">") + secret, "~*", "&*", "+@all"});
  const TemporaryDirectory directory;
  const std::string program =
      directory.write("again", "#!/bin/sh\n" BROOD_BINARY_DIR "/bin/brood enqueue Fail -q default >\"$1\" 2>&1\n");
  chmod(program.c_str(), 0755);
  const std::string config = "\n[commands.Again]\nrun = [\"" + program + "\", \"{0}\"]\n";
  const std::string socket = redis.socket_path();
  for (const std::string& url : {redis.url(), "unix://app:" + std::string(secret) + "@" + socket + "?db=0"}) {
    redis.flush();
    BroodProcess brood(BroodOptions{.workers = 1, .config = config, .arguments = {"--redis", url}});
    enqueue(redis, {payload_text("Again", "[\"" + (directory / "said") + "\"]", 1)});
    BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail()
                                                                                 << text_of_file(directory / "said"));
    const std::string file = brood.home() / "run/redis-password." + std::to_string(brood.pid());
    struct stat about {};
    BOOST_REQUIRE(stat(file.c_str(), &about) == 0);
    BOOST_TEST((about.st_mode & 0777) == 0400u);
    BOOST_TEST(text_of_file(file) == secret);
    brood.term();
    BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
    BOOST_TEST(access(file.c_str(), F_OK) != 0);
  }
}

BOOST_AUTO_TEST_CASE(a_password_may_be_a_credential_of_the_service) {
  RedisServer redis({.password = secret});
  const TemporaryDirectory credentials;
  credentials.write("redis", std::string(secret) + "\n");
  const std::string section =
      "[redis]\nurl = \"unix://" + redis.socket_path() + "\"\npassword_file = \"credential:redis\"\n";
  BroodProcess brood(
      BroodOptions{.workers = 1, .config = section, .environment = {{"CREDENTIALS_DIRECTORY", credentials.path()}}});
  enqueue(redis, {payload_text("Fail", "[]", 1)});
  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  const CommandResult without = run_brood({"queues", "list", "-C", brood.home() / "brood.toml"});
  BOOST_TEST(without.status != 0);
  BOOST_TEST(without.errors.find("/run/credentials/brood.service/redis") != std::string::npos, without.errors);
}

BOOST_AUTO_TEST_CASE(the_environment_that_a_command_was_started_with_shows_no_password) {
  RedisServer redis({.password = secret});
  setenv("REDIS_URL", redis.url().c_str(), 1);
  const WaitingCommand command({"enqueue", "--bulk", "-"});
  unsetenv("REDIS_URL");
  BOOST_REQUIRE(command.waits());
  BOOST_TEST(eventually([&] { return !tells(environment_of(command.pid())); }));
  BOOST_TEST(environment_of(command.pid()).find("REDIS_URL=unix://***@") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_benchmark_shows_its_redis_without_the_password) {
  RedisServer redis({.password = secret});
  const pid_t bench = fork();
  if (bench == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDOUT_FILENO);
    execl(BROOD_BINARY_DIR "/bin/brood", "brood", "bench", "--redis", redis.url().c_str(), "--jobs", "20000", nullptr);
    _exit(127);
  }
  const std::string comm = "/proc/" + std::to_string(bench) + "/comm";
  const bool became = eventually([&] { return text_of_file(comm) == "brood-bench\n" && !tells(arguments_of(bench)); });
  bool told = false;
  int status = 0;
  while (waitpid(bench, &status, WNOHANG) == 0) told |= tells(arguments_of(bench));
  BOOST_TEST(became);
  BOOST_TEST(!told);
}

#ifndef __SANITIZE_ADDRESS__  // it maps more than can be read, and keeps freed memory
// Reads what a core file would contain: everything mapped, except what is marked as not to be dumped.
BOOST_AUTO_TEST_CASE(no_core_file_of_a_worker_would_hold_a_password_that_a_file_gave) {
  RedisServer redis({.password = secret});
  const TemporaryDirectory directory;
  const std::string file = directory.write("password", std::string(secret) + "\n");
  BroodProcess brood(BroodOptions{
      .workers = 1,
      .config = "[redis]\nurl = \"unix://" + redis.socket_path() + "\"\npassword_file = \"" + file + "\"\n"});
  enqueue(redis, {payload_text("Fail", "[]", 1)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  for (const pid_t process : {brood.workers().front(), brood.pid()}) {
    const Memory memory(process);
    if (!memory.is_readable()) continue;  // not root, and the supervisor's memory is not readable
    BOOST_TEST(memory.holds(secret, Memory::What::all));
    BOOST_TEST(!memory.holds(secret, Memory::What::dumped));
  }
}
#endif

BOOST_AUTO_TEST_CASE(what_a_crash_leaves_behind_holds_no_password) {
  RedisServer redis({.password = secret});
  BroodProcess brood(redis, {.workers = 1});
  enqueue(redis, {payload_text("Segfault", "[]", 1)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 60s), brood.log_tail());
  BOOST_TEST(!tells(redis.zrange("retry").front().first));
  BOOST_TEST(!tells(brood.log()));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(brood.home().path())) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && !name.starts_with("redis-password."))
      BOOST_TEST(!tells(text_of_file(entry.path())), name);
  }
}
