#include "worker/session/fenced_backoff.hpp"

#include <algorithm>

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto first_backoff = 100ms;
constexpr auto longest_backoff = 5'000ms;
constexpr auto peace = 10s;  // longer than the longest pause
constexpr std::size_t many = 3;
constexpr std::size_t most_doublings = 6;

}  // namespace

FencedBackoff::Fenced FencedBackoff::fenced(SteadyTime now) {
  if (fences_ > 0 && now - last_ > peace && fences_ < many) fences_ = 0;
  if (fences_++ == 0) first_ = now;
  last_ = now;
  Fenced verdict;
  if (fences_ > 1)
    verdict.pause = std::min<std::chrono::milliseconds>(first_backoff * (1 << std::min(fences_ - 2, most_doublings)),
                                                        longest_backoff);
  verdict.first_of_many = fences_ == many;
  verdict.one_of_many = fences_ > many;
  return verdict;
}

std::optional<FencedBackoff::Over> FencedBackoff::settled(SteadyTime now) {
  if (fences_ == 0 || now - last_ <= peace) return std::nullopt;
  const Over over{fences_, last_ - first_};
  fences_ = 0;
  return over.fences >= many ? std::optional(over) : std::nullopt;
}

}  // namespace brood
