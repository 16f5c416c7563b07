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

// The notes of a worker's batch, in its record until the entries are settled.  If the worker dies before that, its
// recovery reads them.  So the jobs behind a failed one may begin before the failed one is settled.
struct OutcomeNotes {
  static constexpr std::size_t entries = 32, text_bytes = 16 * 1024;

  struct Head {
    std::uint64_t number;  // of the batch
    double score;
    std::uint32_t kind, begin, size;
    std::uint64_t sum;  // a checksum of these members and the text
  };
  std::array<Head, entries> heads;
  char text[text_bytes];

  // `begin` is where the text goes.  Returns false if it does not fit; then nothing is written.
  bool write(int entry, std::uint64_t number, std::size_t begin, const OutcomeNote& note);

  // Removes the note that an earlier batch left for this entry.
  void forget(int entry);

  // nullopt if there is none for this entry and number, or a job has overwritten it.
  std::optional<OutcomeNote> read(int entry, std::uint64_t number) const;
};

}  // namespace brood
