#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/redis/async_connection.hpp"
#include "shared/store/report/ruby_processes.hpp"

namespace brood {

// Asks Redis which processes of Ruby's Sidekiq live.
class RubyProcessesLook {
 public:
  explicit RubyProcessesLook(AsyncConnection& redis) : redis_(redis) {}

  // Calls `then` with all that live, after two round trips; nullopt if Redis does not answer.
  using Then = std::function<void(const std::optional<std::vector<RubyProcess>>&)>;
  void look(const Then& then);

 private:
  void ask_of(const std::vector<std::string>& identities, const Then& then);

  AsyncConnection::Scope redis_;
};

}  // namespace brood
