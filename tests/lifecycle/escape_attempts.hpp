#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

// What a hostile job tries in its sandbox.  Each attempt tells whether it succeeded, and leaves as it was what it did
// not succeed with.

struct EscapeTargets {
  std::string directory, secret;
  pid_t worker = 0, supervisor = 0;
  pid_t bystander = 0;  // a process that does nothing: whether it can be reached tells of all of the same user
};
using EscapeAttempt = std::pair<const char*, std::function<bool()>>;

// What no sandbox allows, whatever its files and network.
std::vector<EscapeAttempt> attempts_by_calls(const EscapeTargets& targets);
// What one refuses that names what may be read and written, and allows no network.
std::vector<EscapeAttempt> attempts_by_files(const EscapeTargets& targets);
