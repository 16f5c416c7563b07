#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

// The attempts of a hostile job in its sandbox.  Each returns whether it succeeded; one that fails changes nothing.

struct EscapeTargets {
  std::string directory, secret;
  pid_t worker = 0, supervisor = 0;
  pid_t bystander = 0;  // an idle process: it stands for all processes of the same user
};
using EscapeAttempt = std::pair<const char*, std::function<bool()>>;

// Attempts that every sandbox refuses, whatever its files and network.
std::vector<EscapeAttempt> attempts_by_calls(const EscapeTargets& targets);
// Attempts that a sandbox refuses if it names readable and writable files, and allows no network.
std::vector<EscapeAttempt> attempts_by_files(const EscapeTargets& targets);
