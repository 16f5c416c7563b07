#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace brood {

// A supervisor of this machine that probably lives: its pid is in use.
struct LocalSupervisor {
  std::string identity;
  pid_t pid = 0;
  std::string control;  // the path of its control socket
  std::string instance;
  uid_t user = 0;  // the owner of its scoreboard
};

// The supervisors with a scoreboard in `directory`, by identity.
std::vector<LocalSupervisor> local_supervisors(const std::string& directory);

// The supervisor ended, did not answer in time, or did not follow supervisor/control/control_protocol.hpp.
class NoAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ControlAnswer {
  bool ok = false;
  std::string text;  // JSON if it is ok, else the supervisor's sentence
};

// Sends one request and waits for the whole answer, up to `patience` for each of its lines.  Throws NoAnswer.
ControlAnswer ask(const LocalSupervisor& supervisor, const std::string& verb, const std::vector<std::string>& arguments,
                  std::chrono::milliseconds patience,
                  const std::function<void(const std::string& sentence)>& progress = {});

}  // namespace brood
