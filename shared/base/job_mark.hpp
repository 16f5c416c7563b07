#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace brood {

// The mark by which a supervisor recognises its jobs, whatever they do to their names, parents and descriptors.  Each
// child of a supervisor has a lower hard limit of RLIMIT_LOCKS than the supervisor itself, and the number names the
// supervisor.  All processes that a job starts inherit the limit.  Only CAP_SYS_RESOURCE can raise it.  The kernel
// shows it to processes of the same user, even for a process that is hidden otherwise.  Since Linux 2.4.25 the limit
// has no other effect.
using FileLocks = std::uint64_t;
inline constexpr FileLocks no_mark = ~FileLocks{0};  // RLIM_INFINITY

// Pure: the limit for the children of this supervisor, whose own limit is `own`.  It names the supervisor.  If `own` is
// too low for that, it is one less than `own`.  nullopt: `own` is 0, and no limit is lower.
std::optional<FileLocks> mark_for_children(pid_t supervisor, std::uint64_t start_time, FileLocks own);

// Pure: whether the process with this limit descends from exactly this supervisor.  True also if another process has
// lowered its limit to this value; such a process could have signalled it as well.
bool proves_descent(FileLocks limit, pid_t supervisor, std::uint64_t start_time);

// Pure: whether this limit is the mark of another supervisor's children, or no mark.  Returns false if the supervisor's
// pid or start time is unknown (0).
bool disproves_descent(FileLocks limit, pid_t supervisor, std::uint64_t start_time);

// The hard limit of a process; 0 is the calling one.  nullopt if it is gone, or is another user's.
std::optional<FileLocks> file_locks_of(pid_t pid);

// Call it in a child of the supervisor.  Returns false if the limit cannot be lowered.
bool mark_as_job(pid_t supervisor, std::uint64_t start_time);

}  // namespace brood
