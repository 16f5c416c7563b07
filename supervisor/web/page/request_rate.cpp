#include "supervisor/web/page/request_rate.hpp"

#include <algorithm>
#include <cmath>

namespace brood {

std::optional<std::chrono::seconds> RequestRate::wait_of(const std::string& name, SteadyTime now) {
  if (a_second_ <= 0) return std::nullopt;
  const double most = 2 * a_second_;
  const std::lock_guard lock(mutex_);
  auto found = allowances_.find(name);
  if (found == allowances_.end()) {
    make_room();
    found = allowances_.emplace(name, Allowance{most, now}).first;
  }
  Allowance& allowance = found->second;
  const double seconds = std::max(0.0, std::chrono::duration<double>(now - allowance.counted_at).count());
  allowance.left = std::min(most, allowance.left + seconds * a_second_);
  allowance.counted_at = now;
  if (allowance.left >= 1) {
    allowance.left -= 1;
    return std::nullopt;
  }
  return std::chrono::seconds(std::max(1, static_cast<int>(std::ceil((1 - allowance.left) / a_second_))));
}

std::size_t RequestRate::names() const {
  const std::lock_guard lock(mutex_);
  return allowances_.size();
}

void RequestRate::make_room() {
  if (allowances_.size() < most_names) return;
  allowances_.erase(std::min_element(allowances_.begin(), allowances_.end(), [](const auto& one, const auto& other) {
    return one.second.counted_at < other.second.counted_at;
  }));
}

}  // namespace brood
