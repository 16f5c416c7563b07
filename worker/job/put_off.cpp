#include "worker/job/put_off.hpp"

#include <algorithm>
#include <utility>

namespace brood {
namespace {

// As Sidekiq's users know it.
constexpr std::chrono::seconds put_off_step{300};

std::int64_t times_put_off(const Payload& job) {
  return std::clamp<std::int64_t>(job.integer("overrated").value_or(0), 0, most_put_offs);
}

}  // namespace

Performed put_off_over_limit(Performed performed, const Payload& job, double jitter) {
  const bool is_put_off = performed.kind == Performed::Kind::failed && times_put_off(job) < performed.most_put_off;
  if (!is_put_off) return performed;
  performed.kind = Performed::Kind::over_limit;
  performed.delay = performed.put_off;
  if (performed.delay.count() >= 0) return performed;
  const auto within_a_step = std::chrono::duration<double>(put_off_step) * jitter;
  performed.delay = put_off_step * (times_put_off(job) + 1) + std::chrono::seconds(1) +
                    std::chrono::floor<std::chrono::milliseconds>(within_a_step);
  return performed;
}

std::vector<Payload::Edit> put_off_once_more(const Payload& job) {
  return {{"overrated", std::to_string(times_put_off(job) + 1)}};
}

std::optional<Payload> without_put_offs(const Payload& job) {
  if (!job.raw("overrated")) return std::nullopt;
  return job.with({{"overrated", std::nullopt}});
}

}  // namespace brood
