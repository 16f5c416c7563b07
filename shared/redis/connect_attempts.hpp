#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace brood {

// How a connection that is lost comes back: which of its endpoints is tried next, after which rest (50 ms doubling to 5
// s, half of it by chance), and which failures are reported to its owner.  A host with several endpoints has failed
// when each of them has.  Pure, but for chance.
class ConnectAttempts {
 public:
  struct Verdict {
    std::chrono::milliseconds rest;  // until the next attempt
    bool tells;                      // once per loss, and once per streak of failures
  };

  explicit ConnectAttempts(std::uint32_t seed) : random_(seed) {}

  // No endpoint has been tried yet.
  void begin();
  // Which of so many endpoints is tried now.
  std::size_t next_endpoint(std::size_t count);
  void succeeded();

  // An attempt has failed: `refused` when the server has answered, in `why`, that it does not want us.  Or a connection
  // is lost that had stood for so long; one that ends as soon as it has begun counts as a failed attempt.
  Verdict failed(const std::string& why, bool refused, std::optional<std::chrono::nanoseconds> stood);

  // Why there is no connection: if several endpoints fail, the reason of the one that has refused us.
  const std::string& last_failure() const { return last_failure_; }
  void note(std::string why) { last_failure_ = std::move(why); }
  // How the server refused us when this last failed; empty: it did not even answer.
  const std::string& refusal() const { return refusal_; }

 private:
  std::minstd_rand random_;
  std::size_t next_ = 0;
  std::chrono::milliseconds next_rest_ = shortest_rest;
  bool told_of_failures_ = false;
  std::string refused_by_one_;  // of the endpoints tried in this turn
  std::string refusal_, last_failure_ = "no connection was opened";

  static constexpr std::chrono::milliseconds shortest_rest{50};
};

}  // namespace brood
