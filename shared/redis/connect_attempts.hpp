#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace brood {

// Decides how a lost connection is opened again: which endpoint is tried next, after which rest (50 ms, doubling to 5
// s, half of it random), and which failures are reported to the owner.  A host with several endpoints has failed when
// each of them has.  Pure, except for the random part.
class ConnectAttempts {
 public:
  struct Verdict {
    std::chrono::milliseconds rest;  // until the next attempt
    bool tells;                      // report it: once per loss, and once per streak of failures
  };

  explicit ConnectAttempts(std::uint32_t seed) : random_(seed) {}

  // No endpoint has been tried yet.
  void begin();
  // The index of the endpoint to try now, of `count`.
  std::size_t next_endpoint(std::size_t count);
  void succeeded();

  // An attempt has failed, or a connection is lost that had stood for `stood`.  `refused`: the server has answered, in
  // `why`, that it does not serve us.  A connection that ends as soon as it has begun counts as a failed attempt.
  Verdict failed(const std::string& why, bool refused, std::optional<std::chrono::nanoseconds> stood);

  // Why there is no connection: if several endpoints fail, the reason of the one that has refused us.
  const std::string& last_failure() const { return last_failure_; }
  void note(std::string why) { last_failure_ = std::move(why); }
  // How the server refused us at the last failure; empty: it did not answer.
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
