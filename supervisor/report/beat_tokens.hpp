#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The random numbers that a supervisor leaves in Redis, a new one with each heartbeat.  Pure: tests invent the numbers.
//
// They show whether it alone sends heartbeats under its name.  A machine that was cloned while it ran has the same
// processes with the same names, but from then on each of the two writes numbers that the other never wrote.
class BeatTokens {
 public:
  // How many tokens to remember.  Redis may hold an older token of ours: a reply may be lost, a command delayed, and a
  // Redis that restarts or fails over may return to a heartbeat of up to a minute ago.  With a heartbeat every two
  // seconds, this many are enough.
  static constexpr std::size_t remembered = 64;

  // For a new supervisor: a token that is already in Redis belongs to another one.
  BeatTokens() = default;
  // For a program that takes over in the same process, from the previous program's told().  If that program knew of no
  // tokens, any token in Redis counts as its own until a heartbeat has been answered.
  explicit BeatTokens(std::string_view told);

  void add(std::uint64_t token);
  // Adds the tokens of another shard of the same supervisor.
  void add(const BeatTokens& others);
  void beat_was_answered() { accepts_any_ = false; }

  // For the heartbeat script: the tokens one after the other, or "*" for any.
  std::string known() const;
  // For the next program's constructor.
  std::string told() const;

 private:
  std::deque<std::string> tokens_;  // oldest first
  bool accepts_any_ = false;
};

std::string token_text(std::uint64_t token);
// A new number each time, even in copies of this process.  Never 0.
std::uint64_t new_beat_token();

// Whether the supervisor with the tokens `noted` may have sent the heartbeat with this token.  A supervisor notes each
// token before it sends it.  A heartbeat without a token ("") may be any supervisor's.
bool may_be_its_beat(const std::string& token, const std::vector<std::uint64_t>& noted);

}  // namespace brood
