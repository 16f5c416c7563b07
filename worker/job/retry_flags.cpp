#include "worker/job/retry_flags.hpp"

#include <algorithm>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

// The lowest two bits are the kind.  The bits above are the count, which is at most 1,000,000 and fits.
constexpr int retry_count_bit = class_flags_end + 2;
constexpr std::int64_t most_retries = 1'000'000;

enum RetryFlag : std::uint32_t { retry_is_yes = 1, retry_is_no = 2, retry_is_count = 3 };  // 0: not known

}  // namespace

std::uint32_t flags_of_retry(const std::optional<RetryOption>& retry) {
  if (!retry) return 0;
  switch (retry->kind) {
    case RetryOption::Kind::no:
      return retry_is_no << class_flags_end;
    case RetryOption::Kind::count: {
      const auto times = static_cast<std::uint32_t>(std::clamp<std::int64_t>(retry->count, 0, most_retries));
      return (retry_is_count << class_flags_end) | (times << retry_count_bit);
    }
    case RetryOption::Kind::yes:
      break;
  }
  return retry_is_yes << class_flags_end;
}

std::optional<RetryOption> retry_of_flags(std::uint32_t flags) {
  switch ((flags >> class_flags_end) & 3U) {
    case retry_is_yes:
      return RetryOption{RetryOption::Kind::yes, 0};
    case retry_is_no:
      return RetryOption{RetryOption::Kind::no, 0};
    case retry_is_count:
      return RetryOption{RetryOption::Kind::count, std::int64_t{flags >> retry_count_bit}};
    default:
      return std::nullopt;
  }
}

}  // namespace brood
