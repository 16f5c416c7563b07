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

// The event that a call waits for did not happen within the patience of a Supervised.  The message ends with the last
// lines of the log.
class BROOD_API TimedOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An attempt that ended its worker.  Without a native stack, such as after SIGKILL, the texts about places are empty.
struct BROOD_API Crash {
  std::string signal;     // "SIGSEGV"; empty: the process ended by itself, such as by exit()
  std::string code;       // "SEGV_MAPERR"
  std::string address;    // "0x10"
  std::string top_frame;  // the job's own innermost frame: "#0 Resize::perform() at resize.cpp:17 (libjobs.so+0x13c0)"
  std::string fingerprint;  // equal for crashes of the same class, kind of error, place and build
  std::string json;         // the member `crash` of the retry record
};

// How a job ended, or its last attempt so far.
struct BROOD_API Outcome {
  // The end of the job.
  enum class Kind {
    succeeded,  // it has succeeded
    retried,    // it has failed, and waits in `retry`
    dead,       // it has failed for the last time, or was killed, and is in `dead`
    discarded,  // it has failed, and is not stored: it has no retries, or a hook returned brood::discard
  };
  Kind kind = Kind::succeeded;  // the end of the last attempt so far
  int runs = 0;                 // number of runs that have begun

  // The failure, as in the retry record: "JobTimeout", "SIGSEGV", or the name of the exception's type.  Empty after
  // success.
  std::string error_class;
  std::string message;                      // the failure's message
  std::vector<std::string> backtrace = {};  // the stack of a crash; otherwise as many lines as the option `backtrace`
  std::optional<Crash> crash = {};          // set if the last attempt ended its worker: a crash, a timeout
  std::optional<SetEntry> entry = {};       // the entry in `retry` or `dead`; nullopt: it is in neither

  // Returns one line for people: "retried after 1 run: SIGSEGV: SIGSEGV (SEGV_MAPERR) at 0x10 in Resize, worker 0, up
  // 0s".
  std::string text() const;
};

// The options of a Supervised.
struct BROOD_API SupervisedOptions {
  std::vector<std::string> libraries = {};                        // job libraries, as for -r
  int workers = 2;                                                // as for -c; 0: as in `config`
  std::vector<std::string> queues = {"*"};                        // as for -q; empty: as in `config`
  std::string config = {};                                        // TOML, such as "[worker]\njob_timeout = \"1s\"\n"
  std::map<std::string, std::string> environment = {};            // added to the test's own environment
  std::chrono::milliseconds patience = std::chrono::seconds(30);  // how long each call waits
  // The path of the program brood.  Empty: that in the variable BROOD_PROGRAM, else that installed with this library,
  // else the first in PATH.
  std::string program = {};
};

// A whole `brood run` with forked workers and a private Redis in a temporary directory.  With it a test can check the
// behaviour of a job in production: crashes, timeouts, retries, middleware, events.
//
//   brood::testing::Supervised brood({.libraries = {"build/libjobs.so"}});
//   const std::string jid = brood.client().enqueue(ResizeImage{.path = "evil.png"});
//   const auto outcome = brood.wait_for(jid);
//   check(outcome.kind == brood::testing::Outcome::Kind::retried);
//   check(outcome.crash->signal == "SIGSEGV");
//
// It needs the programs `brood` and `redis-server`.  It starts in about 100 ms.  Several may run at once, in one test
// program or in many.  The destructor ends the processes and removes the directory.  If the test program ends in
// another way, even by SIGKILL, the processes and the directory are removed soon after.  Use it from one thread at a
// time.  The copy in a forked child has no effect.  While a Fake or an Inline exists, it gets the pushes of client().
//
// Every call throws TimedOut when its patience ends; RedisError; and std::runtime_error with the log's last lines if
// brood has ended by itself, such as for a library that cannot be loaded.
//
// If `config` has no [log], log_jobs is added, and if it has no poll_interval, one of 100 ms.  If `config` has a [log],
// it should set log_jobs = true: the log lines show that a job has succeeded.
class BROOD_API Supervised {
 public:
  // Returns when every worker is ready.  Throws std::invalid_argument if the program `brood` is not found.
  explicit Supervised(SupervisedOptions options = {});
  ~Supervised();  // ends everything at once, by SIGKILL
  Supervised(const Supervised&) = delete;
  Supervised& operator=(const Supervised&) = delete;

  Client& client();               // a client of its Redis
  Api& api();                     // the content of its Redis
  std::string redis_url() const;  // unix://..., for further clients
  std::string log() const;        // the whole log of supervisor, workers and jobs
  std::string directory() const;  // the temporary directory; the test may use it too

  // Waits until the job neither waits in a queue or the schedule nor runs, and returns its outcome.  An Interrupted job
  // runs again first.  A job in `retry` counts as ended; after run_now() the call waits for its next attempt.
  Outcome wait_for(std::string_view jid);
  // Moves a job from `schedule`, `retry` or `dead` to its queue.  Throws std::invalid_argument if none of them has it.
  void run_now(std::string_view jid);
  void wait_until_idle();  // waits until no queue has a job, and no job runs

  // Waits until the job runs.  Returns the pid of the process that runs it.
  int worker_of(std::string_view jid);
  void kill_worker_of(std::string_view jid);  // by SIGKILL, as the kernel does when memory runs out

  void set_patience(std::chrono::milliseconds patience);  // for further calls

  // Stops brood as `systemctl stop` does: running jobs may end, workers get their last events.  Throws
  // std::runtime_error if the exit status is not 0.  Only log() and directory() can be used afterwards.
  void stop();

 private:
  struct __attribute__((visibility("hidden"))) State;
  std::unique_ptr<State> state_;
};

}  // namespace brood::testing
