#include "supervisor/report/beat_tokens.hpp"

#include <sys/random.h>

#include <algorithm>

#include <fmt/format.h>

#include "shared/base/check.hpp"

namespace brood {

BeatTokens::BeatTokens(std::string_view told) : accepts_any_(told.empty()) {
  while (!told.empty()) {
    const std::size_t end = std::min(told.find(' '), told.size());
    if (end > 0) tokens_.emplace_back(told.substr(0, end));
    told.remove_prefix(std::min(end + 1, told.size()));
  }
}

void BeatTokens::add(std::uint64_t token) {
  tokens_.push_back(token_text(token));
  if (tokens_.size() > remembered) tokens_.pop_front();
}

void BeatTokens::add(const BeatTokens& others) {
  tokens_.insert(tokens_.end(), others.tokens_.begin(), others.tokens_.end());
}

std::string BeatTokens::known() const { return accepts_any_ ? "*" : told(); }

std::string BeatTokens::told() const { return fmt::format("{}", fmt::join(tokens_, " ")); }

std::string token_text(std::uint64_t token) { return fmt::format("{:016x}", token); }

std::uint64_t new_beat_token() {
  std::uint64_t token = 0;
  while (token == 0) check("getrandom", getrandom(&token, sizeof token, 0));
  return token;
}

bool may_be_its_beat(const std::string& token, const std::vector<std::uint64_t>& noted) {
  return token.empty() ||
         std::any_of(noted.begin(), noted.end(), [&](std::uint64_t one) { return token_text(one) == token; });
}

}  // namespace brood
