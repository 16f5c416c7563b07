#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace brood {

// How an entry ended badly; or the result that it has left, if it ended well.
struct OutcomeNote {
  std::uint32_t kind = 0;  // an Outcome::Kind
  double score = 0;
  std::string payload;
};

// The notes of a worker's batch, in its record until the entries are settled.  Thanks to them the jobs behind a failed
// one may begin before that one is settled.  If the worker dies before it settles them, its recovery reads them.
struct OutcomeNotes {
  static constexpr std::size_t entries = 32, text_bytes = 16 * 1024;

  struct Head {
    std::uint64_t number;  // of the batch
    double score;
    std::uint32_t kind, begin, size;
    std::uint64_t sum;  // of all that and the text
  };
  std::array<Head, entries> heads;
  char text[text_bytes];

  // `begin` is where the text goes.  Returns false if it does not fit; then nothing is written.
  bool write(int entry, std::uint64_t number, std::size_t begin, const OutcomeNote& note);

  // Leaves no note of an earlier batch to this entry.
  void forget(int entry);

  // nullopt if there is none for this entry and number, or a job has overwritten it.
  std::optional<OutcomeNote> read(int entry, std::uint64_t number) const;
};

}  // namespace brood
