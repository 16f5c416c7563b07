#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "shared/base/unique_fd.hpp"

namespace brood {

// The copy of the worker has ended, and so has the job that it ran.
class ForkerGone : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A copy of a worker as it was before its first job.  It forks a process for each job that needs one, so that such a
// process has no traces of earlier jobs in its memory.  The copy performs no job itself, and adopts the processes that
// jobs leave behind.  It ends with the worker, and the job's process with it.
//
// A job's wait() does not find this child of the worker, since its end sends no signal.
class JobForker {
 public:
  // These run in the copy, or in the processes that it forks.
  struct Setup {
    std::string title;                              // of the copy, for ps
    std::function<void()> let_go;                   // in the copy: closes what only the worker may use
    std::function<void()> begin;                    // in a job's process, before any signal can reach it
    std::function<void(UniqueFd channel)> perform;  // then; the process ends when it returns
  };

  // Throws LibraryError if a library has started threads in this process, which a copy would not have.
  static void require_one_thread(const std::string& isolated_class);

  // Makes the copy.  Throws LibraryError as require_one_thread(), and std::system_error if it cannot be made.
  JobForker(Setup setup, const std::string& isolated_class);
  JobForker(const JobForker&) = delete;
  JobForker& operator=(const JobForker&) = delete;

  // Whether it can be used: it lives, and no job has closed the descriptor.
  bool is_there() const;

  // Forks a process that uses `channel`; one at a time.  Returns 0, or the errno if that is not possible now.  Throws
  // ForkerGone.
  int start(UniqueFd channel);

  // How a job's process has ended.  All processes that it had started have ended, too.
  struct End {
    int fork_error = 0;       // not 0: there was no process
    int status = 0;           // as waitpid() tells it
    int killed = 0;           // processes that it had left behind
    std::int64_t cpu_us = 0;  // of all of them
    std::uint64_t peak_kb = 0;
    std::int64_t forkers_cpu_us = 0;  // in its life, for its own work
  };
  // The end of the process that start() has forked; nullopt: it still runs.  Throws ForkerGone.
  std::optional<End> take_end();
  // Readable when take_end() has an end.
  int descriptor() const { return socket_.get(); }

  // Sends a signal to the job's process.
  void signal(int signal) const;

  // Ends the copy and reaps it: then its usage and that of the jobs count for this process.  Returns its wait status.
  int leave();

 private:
  UniqueFd socket_;
  pid_t pid_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// For signal handlers of the worker: passes the signal on to the process of the running job.  Returns false if none
// runs.
bool pass_to_job_process(int signal);

}  // namespace brood
