#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "shared/base/unique_fd.hpp"
#include "shared/redis/address.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// A server that answers everything with the same bytes, for answers that no real Redis would send.
class ScriptedServer {
 public:
  struct Manners {
    bool wait_for_request = true;  // else it sends as soon as it has accepted
    bool hang_up = false;          // closes after it has sent, else waits for the client to close
    bool forever = false;          // repeats itself until the client closes
  };

  explicit ScriptedServer(std::string speech) : ScriptedServer(std::move(speech), Manners()) {}
  ScriptedServer(std::string speech, Manners manners);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  RedisAddress address() const;
  int accepted() const { return accepted_; }

 private:
  void run();
  void speak_to(int client);

  std::string speech_;
  Manners manners_;
  TemporaryDirectory directory_;
  UniqueFd listener_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> accepted_ = 0;
  std::thread thread_;
};

}  // namespace brood
