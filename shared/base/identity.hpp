#pragma once

#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <string>

namespace brood {

// The name of a supervisor for Sidekiq's tools and for other supervisors.  Fixed for the process's life.
struct Identity {
  std::string name;           // <hostname>:<pid>:<12 hex digits>, safe to print in HTML
  std::string hostname;       // characters outside [A-Za-z0-9_.@/-] replaced by '-': keys are cut at its end
  std::string boot_id;        // /proc/sys/kernel/random/boot_id
  std::string pid_namespace;  // "pid:[4026531836]"
  pid_t pid = 0;
  std::uint64_t start_time = 0;   // clock ticks since boot: field 22 of /proc/<pid>/stat
  std::string runtime_directory;  // of its scoreboard, for adopters of its jobs on this host; empty: not known

  std::optional<uid_t> user;  // the process's owner; nullopt: an older brood wrote the record without it

  static Identity of_this_process();

  // Whether the other has the same boot and pid namespace; if not, its pids mean nothing here.  Even if it has, they
  // may be another machine's: machines that were cloned while running share all of this.
  bool same_boot(const Identity& other) const;
};

// Field 22 of /proc/<pid>/stat; 0 when there is no such process (a zombie counts as gone).
std::uint64_t process_start_time(pid_t pid);

// Returns true while exactly this process (pid, start_time) of our own user lives, or may live.  If /proc hides
// processes (hidepid, ProtectProc=), it does not show a process of our user that cannot be dumped, such as a
// supervisor.  If the pid is another user's, our process is gone.
bool process_lives(pid_t pid, std::uint64_t start_time);

// The same for a supervisor, which may run as another user.
bool supervisor_lives(const Identity& identity);

// Returns true while any process that may be this user's has this pid.
bool pid_is_taken(pid_t pid);

// The facts that can be known of a process that /proc does not show.
struct HiddenProcess {
  int error = 0;                   // errno of kill(pid, 0); 0: it may be signalled
  bool asking_is_refused = false;  // by this process's own seccomp filter
};
// Pure: whether it may still be the process of `user` that once had this pid.
bool may_be_hidden(const HiddenProcess& process, const std::optional<uid_t>& user, uid_t own_user);

}  // namespace brood
