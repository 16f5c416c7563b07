#include "shared/statsd/statsd.hpp"

#include <string>

namespace brood {

Statsd::Statsd(const StatsdSettings& settings, std::atomic<std::uint64_t>* dropped)
    : lines_(settings), socket_(settings.address), dropped_(dropped) {}

std::uint64_t Statsd::send() {
  if (lines_.empty()) return 0;
  std::uint64_t lost = 0;
  for (const std::string& datagram : lines_.take()) lost += socket_.send(datagram) ? 0 : 1;
  if (lost > 0 && dropped_ != nullptr) dropped_->fetch_add(lost, std::memory_order_relaxed);
  return lost;
}

}  // namespace brood
