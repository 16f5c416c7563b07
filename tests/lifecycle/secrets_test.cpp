// Who may see the password of a Redis.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* secret = "correct-horse-battery";

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool tells(const std::string& text) { return text.find(secret) != std::string::npos; }

std::string arguments_of(pid_t pid) { return content("/proc/" + std::to_string(pid) + "/cmdline"); }
std::string environment_of(pid_t pid) { return content("/proc/" + std::to_string(pid) + "/environ"); }

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
  // It is past the beginning of main(): it waits in a read.
  bool waits() const {
    return eventually([&] { return content("/proc/" + std::to_string(pid_) + "/wchan") != "0" && is_connected(); });
  }

 private:
  bool is_connected() const {
    return content("/proc/" + std::to_string(pid_) + "/status").find("State:\tS") != std::string::npos;
  }
  pid_t pid_ = -1;
  int input_ = -1;
};

// What a program of a job finds in its environment.
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
  return content(directory / "said");
}

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
    // Whoever looks at it all the time sees none either.
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

BOOST_AUTO_TEST_CASE(programs_that_are_not_to_know_the_redis_find_no_password_in_their_environment) {
  BOOST_TEST(tells(environment_of_a_program("", {}, true)));
  BOOST_TEST(tells(environment_of_a_program("", {}, false)));
  const std::string config = "[redis]\nshare_with_jobs = false\n";
  for (const bool by_command_line : {true, false}) {
    const std::string told = environment_of_a_program(config, {}, by_command_line);
    BOOST_TEST(!tells(told), told);
    BOOST_TEST(told.find("BROOD_JID=") != std::string::npos);
  }
}
