#include "shared/http/retry_pause.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds first_backoff = 1s, longest_backoff = 60s;
constexpr int most_backoff_doublings = 6;

}  // namespace

std::chrono::milliseconds read_retry_after(const std::string& text, std::chrono::milliseconds most) {
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc::result_out_of_range) return most;
  if (error != std::errc() || end != text.data() + text.size()) return 0ms;
  return std::min<std::chrono::milliseconds>(std::chrono::seconds(seconds), most);
}

std::chrono::milliseconds backoff(int failures, double chance) {
  const auto whole = std::min<std::chrono::milliseconds>(
      first_backoff * (1 << std::clamp(failures - 1, 0, most_backoff_doublings)), longest_backoff);
  return std::chrono::duration_cast<std::chrono::milliseconds>(whole * (0.8 + 0.4 * chance));
}

}  // namespace brood
