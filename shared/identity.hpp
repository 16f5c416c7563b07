#pragma once

#include <sys/types.h>
#include <cstdint>
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

  static Identity of_this_process();

  // The value in the hash brood:processes, and back.  parse returns false for text that is not such a record.
  std::string record() const;
  static bool parse(const std::string& name, const std::string& record, Identity& out);

  bool same_host(const Identity& other) const;  // same boot and same pid namespace: its pids mean something to us
};

// Field 22 of /proc/<pid>/stat; 0 when there is no such process (a zombie counts as gone).
std::uint64_t process_start_time(pid_t pid);

// True while the very process (pid, start_time) lives.
bool process_lives(pid_t pid, std::uint64_t start_time);

// True while any process has this pid.
bool pid_is_taken(pid_t pid);

}  // namespace brood
