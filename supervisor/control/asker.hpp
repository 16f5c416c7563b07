#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "shared/base/job_mark.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {

// The process at the other end of a connection.  The kernel noted its pid at the connect.  The process may have ended
// since, and its pid may belong to another process.
class Asker {
 public:
  // Call this right after accept(): before Linux 6.5 the kernel does not report which process connected, only which one
  // has its pid now.  Returns nullopt if the kernel reports no peer.
  static std::optional<Asker> of(int connection);

  pid_t pid() const { return pid_; }
  uid_t user() const { return user_; }
  // Whether the process still runs.  If it does, what was read of its pid before belongs to it.
  bool lives() const;

 private:
  pid_t pid_ = 0;
  uid_t user_ = 0;
  UniqueFd process_;              // pidfd; empty if the kernel gives none
  std::uint64_t start_time_ = 0;  // known if there is no pidfd; 0: nothing is known
};

// Whether a supervisor trusts a process that asks it for something.
enum class Standing {
  trusted,   // root, or a process of the supervisor's own user that no job has started
  job,       // a job of this or of another supervisor has started it
  gone,      // it has ended
  hidden,    // the kernel does not show its mark
  unmarked,  // the supervisor's own limit is 0, so its jobs have no mark
};

struct SeenAsker {
  uid_t user = 0;  // from the kernel
  bool lives = false;
  std::optional<FileLocks> limit;  // file_locks_of() it
};

// Pure.  Judges the asker by its own properties alone: see job_mark.hpp.  `own_user` and `own_limit` are the
// supervisor's.
Standing standing_of(const SeenAsker& asker, uid_t own_user, FileLocks own_limit);

Standing standing_of(const Asker& asker, FileLocks own_limit);

}  // namespace brood
