#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// The options of a test's `brood run`.
struct BroodOptions {
  int workers = 2;
  bool sets_workers = true;              // passes -c; else the configuration sets them
  std::vector<std::string> queues{};     // as for -q; empty: brood's default
  std::vector<std::string> libraries{};  // job libraries; empty: the examples
  std::string shutdown_timeout{};        // as for -t
  std::string config{};                  // TOML, written to a file and given by -C
  std::vector<std::string> arguments{};  // additional ones
  std::map<std::string, std::string> environment{};
  std::string program{};              // empty: the one that was built
  std::vector<std::string> prefix{};  // a command that executes it, such as setpriv with its arguments
  // The parent of the runtime and state directories; null: a new directory.  Give two processes the same one to make
  // the second recover what the first left.
  std::shared_ptr<TemporaryDirectory> home{};
};

// The last lines of a log, for the message of a failed test.  Reads them when it is printed: a test builds its message
// before it has waited for what it checks.
class LogTail {
 public:
  explicit LogTail(std::string file) : file_(std::move(file)) {}
  operator std::string() const;
  friend std::ostream& operator<<(std::ostream& out, const LogTail& tail) { return out << std::string(tail); }
  friend std::string operator+(const LogTail& tail, const std::string& more) { return std::string(tail) + more; }
  friend std::string operator+(const std::string& before, const LogTail& tail) { return before + std::string(tail); }
  friend std::string operator+(const LogTail& one, const LogTail& other) {
    return std::string(one) + std::string(other);
  }

 private:
  std::string file_;
};

// The real program, as a user would start it.  It ends with the test, even if the test is killed.  Construct it on the
// main thread: the kernel kills it when the thread that started it ends.
class BroodProcess {
 public:
  explicit BroodProcess(const RedisServer& redis, BroodOptions options = {});
  explicit BroodProcess(BroodOptions options);  // without options about Redis it starts its own
  ~BroodProcess();                              // kills what is left of it and its workers
  BroodProcess(const BroodProcess&) = delete;
  BroodProcess& operator=(const BroodProcess&) = delete;

  void start();  // starts it again after an exit, in the same directories

  pid_t pid() const { return pid_; }
  std::vector<pid_t> workers() const;                                                   // the living ones
  bool wait_ready(std::chrono::milliseconds timeout = std::chrono::seconds(20)) const;  // until every worker is ready

  void signal(int number) const;
  void term() const;
  void quiet() const;
  void kill9();  // and waits until it is gone

  // Its exit status (128 + signal if it was killed); nullopt if it still runs after `timeout`.
  std::optional<int> wait_exit(std::chrono::milliseconds timeout = std::chrono::seconds(30));

  std::string log() const;  // standard error of all its starts
  LogTail log_tail() const;
  // Sets its configuration for the next start.
  void configure(const std::string& config) { options_.config = config; }
  const TemporaryDirectory& home() const { return *options_.home; }

  // The environment with which a command of the same user finds it.
  std::map<std::string, std::string> environment() const;

 private:
  BroodOptions options_;
  pid_t pid_ = -1;
  std::optional<int> status_;
  struct Survivor {
    pid_t pid;
    std::uint64_t start_time;
  };
  std::vector<Survivor> survivors_;  // children of supervisors that were killed
};

// The output of `brood <arguments>`, and how it ended.
struct CommandResult {
  int status = -1;
  std::string output;  // standard output
  std::string errors;  // standard error
};
CommandResult run_brood(const std::vector<std::string>& arguments,
                        const std::map<std::string, std::string>& environment = {});

// The pids of `pid`'s children, without zombies.
std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> workers_of(pid_t supervisor);  // found by their titles
bool process_exists(pid_t pid);                   // a zombie does not count

}  // namespace brood
