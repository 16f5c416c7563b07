#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace brood {

// The fields of /proc/PID/stat, numbered as in proc(5).
class ProcessStat {
 public:
  // Returns nullopt if there is no such process, or it is hidden.
  static std::optional<ProcessStat> read(pid_t pid);
  // The same from the line of that file; nullopt if `line` is not one.  The name in it may hold spaces and parentheses.
  static std::optional<ProcessStat> parse(const std::string& line);

  char state() const { return fields_[0][0]; }
  pid_t parent() const { return static_cast<pid_t>(number(4)); }
  std::uint64_t start_time() const { return number(22); }  // clock ticks since boot
  // A field from the 4th on; 0 if this kernel has no such field.
  std::uint64_t number(std::size_t field) const;

 private:
  std::vector<std::string> fields_;  // from the third, the state, on
};

// The children of this process, with zombies, at most `most`.
std::vector<pid_t> own_children(std::size_t most);

}  // namespace brood
