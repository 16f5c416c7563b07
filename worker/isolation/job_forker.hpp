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

// The copy of the worker has ended, and so has whatever it ran.
class ForkerGone : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A copy of a worker as it was before its first job, which forks a process for each job that asks for one: so nothing
// that a job has done to the worker's memory, or to that of another such process, is there.  It performs nothing itself
// and adopts what the jobs leave behind.  It dies with the worker, and the job's process with it.
//
// It is no child that a job's wait() finds, since its end sends no signal.
class JobForker {
 public:
  // All of it happens in the copy, or in the processes that it forks.
  struct Setup {
    std::string title;                              // of the copy, for ps
    std::function<void()> let_go;                   // in the copy: closes what is the worker's alone
    std::function<void()> begin;                    // in a job's process, before any signal can reach it
    std::function<void(UniqueFd channel)> perform;  // then; the process ends when it returns
  };

  // Throws LibraryError when a library has started threads in this process, which a copy would not have.
  static void require_one_thread(const std::string& isolated_class);

  // Likewise, and std::system_error when there is no copy to be had.
  JobForker(Setup setup, const std::string& isolated_class);
  JobForker(const JobForker&) = delete;
  JobForker& operator=(const JobForker&) = delete;

  // Whether it can be asked: it lives, and no job has closed the descriptor.
  bool is_there() const;

  // Forks a process that speaks through `channel`; one at a time.  Returns 0, or the errno for which that cannot be
  // done now.  Throws ForkerGone.
  int start(UniqueFd channel);

  // How a job's process has ended: nothing that it started runs any more.
  struct End {
    int fork_error = 0;       // not 0: there was no process
    int status = 0;           // as waitpid() tells it
    int killed = 0;           // processes that it had left behind
    std::int64_t cpu_us = 0;  // of all of them
    std::uint64_t peak_kb = 0;
    std::int64_t forkers_cpu_us = 0;  // in its life, for its own work
  };
  // nullopt: it runs.  Throws ForkerGone.
  std::optional<End> take_end();
  // Readable when take_end() has something to say.
  int descriptor() const { return socket_.get(); }

  // Sends a signal to the job's process.
  void signal(int signal) const;

  // Ends it: what it and the jobs have used counts for this process from then on.  Returns how it ended.
  int leave();

 private:
  UniqueFd socket_;
  pid_t pid_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// For signal handlers of the worker: passes the signal on to the process of the job that runs.  False when none does.
bool pass_to_job_process(int signal);

}  // namespace brood
