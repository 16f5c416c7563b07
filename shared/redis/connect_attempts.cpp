#include "shared/redis/connect_attempts.hpp"

#include <algorithm>
#include <utility>

namespace brood {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr milliseconds longest_rest = 5s;
constexpr milliseconds shortest_service = 1s;

}  // namespace

void ConnectAttempts::begin() {
  next_ = 0;
  next_rest_ = shortest_rest;
  told_of_failures_ = false;
  refused_by_one_.clear();
  last_failure_ = "still connecting";
}

std::size_t ConnectAttempts::next_endpoint(std::size_t count) {
  const std::size_t now = next_ % count;
  next_ = (next_ + 1) % count;
  return now;
}

void ConnectAttempts::succeeded() {
  next_ = 0;
  told_of_failures_ = false;
  refused_by_one_.clear();
}

ConnectAttempts::Verdict ConnectAttempts::failed(const std::string& why, bool refused,
                                                 std::optional<std::chrono::nanoseconds> stood) {
  if (stood && *stood >= shortest_service) next_rest_ = shortest_rest;
  last_failure_ = why;
  if (refused) refused_by_one_ = why;
  const bool tried_all = stood || next_ == 0;
  if (!tried_all) return {.rest = 0ms, .tells = false};

  refusal_ = std::exchange(refused_by_one_, "");
  if (!refusal_.empty()) last_failure_ = refusal_;
  const bool tells = stood || !told_of_failures_;
  told_of_failures_ = !stood;
  const milliseconds longest = std::exchange(next_rest_, std::min(2 * next_rest_, longest_rest));
  std::uniform_int_distribution<milliseconds::rep> rest(longest.count() / 2, longest.count());
  return {.rest = milliseconds(rest(random_)), .tells = tells};
}

}  // namespace brood
