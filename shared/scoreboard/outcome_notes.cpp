#include "shared/scoreboard/outcome_notes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace brood {
namespace {

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * 0x9e37'79b9'7f4a'7c15;
  return sum ^ sum >> 32;
}

// A checksum that shows accidental writes.  It does not protect against forgery.
std::uint64_t sum_of(const OutcomeNotes::Head& head, std::string_view text) {
  std::uint64_t sum = mixed(head.number, std::bit_cast<std::uint64_t>(head.score));
  sum = mixed(sum, std::uint64_t{head.kind} << 32 | head.begin);
  sum = mixed(sum, head.size);
  for (std::size_t at = 0; at < text.size(); at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(text.size() - at, sizeof word));
    sum = mixed(sum, word);
  }
  return sum;
}

bool exists(int entry) { return entry >= 0 && static_cast<std::size_t>(entry) < OutcomeNotes::entries; }

}  // namespace

bool OutcomeNotes::write(int entry, std::uint64_t number, std::size_t begin, const OutcomeNote& note) {
  if (!exists(entry) || begin > text_bytes || note.payload.size() > text_bytes - begin) return false;
  std::memcpy(text + begin, note.payload.data(), note.payload.size());
  Head head{
      number, note.score, note.kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(note.payload.size()),
      0};
  head.sum = sum_of(head, note.payload);
  heads[static_cast<std::size_t>(entry)] = head;
  return true;
}

void OutcomeNotes::forget(int entry) {
  if (exists(entry)) heads[static_cast<std::size_t>(entry)] = {~std::uint64_t{0}, 0, 0, 0, 0, 0};
}

std::optional<OutcomeNote> OutcomeNotes::read(int entry, std::uint64_t number) const {
  if (!exists(entry)) return std::nullopt;
  const Head head = heads[static_cast<std::size_t>(entry)];
  if (head.number != number || head.begin > text_bytes || head.size > text_bytes - head.begin) return std::nullopt;
  OutcomeNote note{head.kind, head.score, std::string(text + head.begin, head.size)};
  if (head.sum != sum_of(head, note.payload)) return std::nullopt;
  return note;
}

}  // namespace brood
