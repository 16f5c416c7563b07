#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "shared/base/job_mark.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {

// The process at the other end of a connection.  The kernel noted its pid when it connected; it may have ended since,
// and the pid may be another process's.
class Asker {
 public:
  // Call it at once when the connection has been accepted: a kernel before Linux 6.5 cannot tell which process
  // connected, only which one has its pid now.  nullopt: the kernel does not say who connected.
  static std::optional<Asker> of(int connection);

  pid_t pid() const { return pid_; }
  uid_t user() const { return user_; }
  // It has not ended, so that what is read of its pid meanwhile is its own.
  bool lives() const;

 private:
  pid_t pid_ = 0;
  uid_t user_ = 0;
  UniqueFd process_;              // pidfd; none: the kernel gives none
  std::uint64_t start_time_ = 0;  // known where there is no pidfd; 0: nothing is known of it
};

// Who asks a supervisor for something.
enum class Standing {
  trusted,   // root, or the supervisor's own user by a process that no job has started
  job,       // a job has started it, of this or of another supervisor
  gone,      // it has ended
  hidden,    // the kernel does not show its mark
  unmarked,  // the supervisor's own limit is 0, so its jobs have no mark
};

struct SeenAsker {
  uid_t user = 0;  // the kernel's word
  bool lives = false;
  std::optional<FileLocks> limit;  // file_locks_of() it
};

// Pure.  By what the asker itself is, whatever else runs: see job_mark.hpp.  `own_user` and `own_limit` are the
// supervisor's.
Standing standing_of(const SeenAsker& asker, uid_t own_user, FileLocks own_limit);

// Looks at it and says so.
Standing standing_of(const Asker& asker, FileLocks own_limit);

}  // namespace brood
