#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>
#include <brood/client.hpp>

namespace brood::testing {

// What was waited for did not come within the patience of a Supervised; the message ends with the last lines of the
// log.
class BROOD_API TimedOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What is known of an attempt that ended its worker.  Without a native stack, after a SIGKILL say, the texts of places
// are empty.
struct BROOD_API Crash {
  std::string signal;   // "SIGSEGV"; empty: it ended by itself, by exit() say
  std::string code;     // "SEGV_MAPERR"
  std::string address;  // "0x10"
  std::string
      top_frame;  // the innermost one of the job's own: "#0 Resize::perform() at resize.cpp:17 (libjobs.so+0x13c0)"
  std::string fingerprint;  // the same for crashes of one class in one way at one place of one build
  std::string json;         // the whole member `crash` of the retry record
};

// How a job ended, or its last attempt so far.
struct BROOD_API Outcome {
  // What became of it.
  enum class Kind {
    succeeded,  // done
    retried,    // failed, and waits in `retry`
    dead,       // failed for the last time, or was killed, and lies in `dead`
    discarded,  // failed, and is stored nowhere: no retries, or brood::discard
  };
  Kind kind = Kind::succeeded;  // so far
  int runs = 0;                 // that were begun

  // Why, unless it succeeded, as the retry record has it: "JobTimeout", "SIGSEGV", the name of what was thrown.
  std::string error_class;
  std::string message;                      // likewise: its words
  std::vector<std::string> backtrace = {};  // the stack of a crash; else empty unless the job's option says so
  std::optional<Crash> crash = {};          // when the last attempt ended its worker: a crash, a timeout
  std::optional<SetEntry> entry = {};       // as it lies in `retry` or `dead`

  // One line for people: "retried after 1 run: SIGSEGV: SIGSEGV (SEGV_MAPERR) at 0x10 in Resize, worker 0, up 0s".
  std::string text() const;
};

// How a Supervised runs.
struct BROOD_API SupervisedOptions {
  std::vector<std::string> libraries = {};                        // of jobs, as -r takes them
  int workers = 2;                                                // as -c; 0: what `config` says
  std::vector<std::string> queues = {"*"};                        // as -q; none: what `config` says
  std::string config = {};                                        // TOML, such as "[worker]\njob_timeout = \"1s\"\n"
  std::map<std::string, std::string> environment = {};            // on top of the test's own
  std::chrono::milliseconds patience = std::chrono::seconds(30);  // how long each call waits
  // The brood to run; empty: what BROOD_PROGRAM in the environment names, else the one that is installed with this
  // library, else the first in PATH.
  std::string program = {};
};

// A whole `brood run` with forked workers and a private Redis in a temporary directory, for a test to see what really
// becomes of a job: crashes, timeouts, retries, middleware, events.
//
//   brood::testing::Supervised brood({.libraries = {"build/libjobs.so"}});
//   const std::string jid = brood.client().enqueue(ResizeImage{.path = "evil.png"});
//   const auto outcome = brood.wait_for(jid);
//   check(outcome.kind == brood::testing::Outcome::Kind::retried);
//   check(outcome.crash->signal == "SIGSEGV");
//
// It wants the program `brood` and a redis-server.  It starts in some 100 ms.  Several may run at once, in one test
// program or in many.  Processes and directory are gone when the destructor returns, and soon after the test program
// has ended in any other way, by SIGKILL too.  For one thread at a time; what a forked child does with its copy has no
// effect.  While a Fake or an Inline lives, what client() pushes goes there.
//
// Every call throws TimedOut when its patience ends, RedisError, and std::runtime_error with the log's last lines when
// brood has ended by itself, for a library that cannot be loaded, say.
//
// `log_jobs` and a `poll_interval` of 100 ms are added to a `config` that has no [log] and no poll_interval; where it
// has a [log], that should say log_jobs = true, by which a success is known.
class BROOD_API Supervised {
 public:
  // Returns when every worker is ready.  Throws std::invalid_argument where there is no program `brood`.
  explicit Supervised(SupervisedOptions options = {});
  ~Supervised();  // at once, by SIGKILL
  Supervised(const Supervised&) = delete;
  Supervised& operator=(const Supervised&) = delete;

  Client& client();               // of its Redis, as api() is
  Api& api();                     // what lies there
  std::string redis_url() const;  // for further clients: unix://...
  std::string log() const;        // all of it, of the supervisor, its workers and their jobs
  std::string directory() const;  // the temporary one: a place for files of the test, too

  // Waits until the job neither waits in a queue or the schedule nor runs.  One that is Interrupted runs again first.
  // A job in `retry` has ended: run_now() makes another attempt at once, which this then waits for.
  Outcome wait_for(std::string_view jid);
  // From `schedule`, `retry` or `dead` onto its queue.  Throws std::invalid_argument where it is in none of them.
  void run_now(std::string_view jid);
  void wait_until_idle();  // nothing waits in a queue, nothing runs

  // Waits until the job runs; the process that runs it.
  int worker_of(std::string_view jid);
  void kill_worker_of(std::string_view jid);  // by SIGKILL, as the kernel does it that has no memory left

  void set_patience(std::chrono::milliseconds patience);  // of further calls

  // As `systemctl stop`: running jobs may end, workers see their last events.  Throws std::runtime_error when its exit
  // status is not 0.  Only log() and directory() are of use afterwards.
  void stop();

 private:
  struct __attribute__((visibility("hidden"))) State;
  std::unique_ptr<State> state_;
};

}  // namespace brood::testing
