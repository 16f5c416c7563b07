#pragma once

#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <string>

namespace brood {

// Who a supervisor is, to Sidekiq's tools and to other supervisors.  Fixed for the process's life.
struct Identity {
  std::string name;           // <hostname>:<pid>:<12 hex digits>, safe to print in HTML
  std::string hostname;       // characters outside [A-Za-z0-9_.@/-] replaced by '-': keys are cut at its end
  std::string boot_id;        // /proc/sys/kernel/random/boot_id
  std::string pid_namespace;  // "pid:[4026531836]"
  pid_t pid = 0;
  std::uint64_t start_time = 0;   // clock ticks since boot: field 22 of /proc/<pid>/stat
  std::string runtime_directory;  // where its scoreboard lies, for an heir on the same host; empty: not told

  std::optional<uid_t> user;  // whose process it is; nullopt: its record, by an older brood, does not say

  static Identity of_this_process();

  // Same boot and same pid namespace, without which its pids mean nothing to us.  No proof that they do: machines that
  // were cloned while they ran have all of this in common, and so do the processes that they ran.
  bool same_boot(const Identity& other) const;
};

// Field 22 of /proc/<pid>/stat; 0 when there is no such process (a zombie counts as gone).
std::uint64_t process_start_time(pid_t pid);

// True while the very process (pid, start_time) of this process's own user lives, or may: where /proc hides processes
// (hidepid, ProtectProc=), one of our user that cannot be dumped, as supervisors cannot, is there but not to be seen.
// One that is there and another user's is not it: that user has the pid now.
bool process_lives(pid_t pid, std::uint64_t start_time);

// The same of a supervisor, which may be another user's.
bool supervisor_lives(const Identity& identity);

// True while any process that may be this user's has this pid.
bool pid_is_taken(pid_t pid);

// What is known of a process that /proc does not show.
struct HiddenProcess {
  int error = 0;                   // of asking whether it may be signalled
  bool asking_is_refused = false;  // by a filter of this very process
};
// Pure: whether that may be the process that once had its pid, which was `user`'s.
bool may_be_hidden(const HiddenProcess& process, const std::optional<uid_t>& user, uid_t own_user);

}  // namespace brood
