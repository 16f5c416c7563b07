#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <exception>
#include <locale>
#include <string>

#include "shared/base/unique_fd.hpp"

namespace brood {

// State of the process that a worker relies on and a job may change: signal mask, the dispositions of the signals that
// the worker uses (and of crashes), the alternative stack, the terminate handler, alarms of all three clocks, resource
// limits, working directory, umask, floating-point environment, locale (of C, of its thread and of C++), and the signal
// at the supervisor's death.  The constructor notes it after the libraries are loaded.  It is restored after each job,
// so that a job does not affect later ones.
class ProcessState {
 public:
  ProcessState();

  // Restores the state that lies in the process's own memory.
  void restore_own() const;
  // Restores the state that the kernel keeps; only a system call can have changed it.  Returns false if a job has
  // lowered a hard limit, which only a privileged process can raise again.
  bool restore_kernels() const;

 private:
  bool floating_point_is_as_noted() const;
  void restore_locale() const;
  bool restore_limits() const;

  struct Disposition {
    int signal;
    struct sigaction action;
  };

  sigset_t mask_{};
  std::array<Disposition, 11> dispositions_;
  stack_t alternative_stack_{};
  std::terminate_handler terminate_;
  int parent_death_signal_ = 0;
  mode_t umask_ = 0;
  UniqueFd opened_directory_;
  std::string directory_;  // its path; empty: the directory did not exist any more
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::fenv_t floating_point_{};
  std::string c_locale_;
  locale_t thread_locale_;
  std::locale cpp_locale_;
  bool counts_user_time_ = false, counts_processor_time_ = false;  // such an alarm was set before the first job
  std::array<rlimit, 8> limits_{};
};

}  // namespace brood
