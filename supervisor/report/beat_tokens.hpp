#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The random numbers that a supervisor leaves in Redis, another with each heartbeat: by them it knows whether it alone
// beats under its name.  A machine that was cloned while it ran has the same processes, with the same names, and what
// one of them writes after that the other never wrote.  Pure: tests invent the numbers.
class BeatTokens {
 public:
  // A reply may be lost and a command late, and a Redis that starts again or fails over may know an older heartbeat, if
  // it is not a minute old: of that many heartbeats none is forgotten, at one every two seconds.
  static constexpr std::size_t remembered = 64;

  // Of a supervisor that begins: whatever is there already is another's.
  BeatTokens() = default;
  // Of a program that takes over in the same process, by what the one before told it.  One that told nothing knew of no
  // tokens: then what is there is taken for its own until a heartbeat has been answered.
  explicit BeatTokens(std::string_view told);

  void add(std::uint64_t token);
  void beat_was_answered() { accepts_any_ = false; }

  // As the heartbeat script takes them: one after the other, or "*", which is any.
  std::string known() const;
  // For the next program.
  std::string told() const;

 private:
  std::deque<std::string> tokens_;  // oldest first
  bool accepts_any_ = false;
};

std::string token_text(std::uint64_t token);
// Another one each time, in the copies of this process too.  Never 0.
std::uint64_t random_token();

// Whether a heartbeat with this token may be of the supervisor that noted `noted` before it sent them.  A heartbeat
// without a token ("") may be anybody's.
bool may_be_its_beat(const std::string& token, const std::vector<std::uint64_t>& noted);

}  // namespace brood
