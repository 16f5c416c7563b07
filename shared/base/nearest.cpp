#include "shared/base/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "shared/base/ascii.hpp"

namespace brood {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest_word = 64;  // bounds the time, which grows with the product of both lengths
  if (word.size() > longest_word) return std::nullopt;
  const std::size_t furthest = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = furthest + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = ascii::equal_in_any_case(word, candidate) ? 1 : edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace brood
