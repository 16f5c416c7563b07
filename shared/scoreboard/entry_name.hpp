#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace brood {

// The name that an entry of a table in shared memory belongs to.  Any worker may claim an entry, by compare-and-swap,
// and never gives it back.  A job may scribble over it: a name whose hash is not the claimed one counts as none.
struct EntryName {
  std::atomic<std::uint64_t> hash;  // of the name; 0: vacant
  std::atomic<std::uint32_t> named;
  char name[256];

  static constexpr std::size_t longest = sizeof(name) - 1;

  // Makes it the entry of `wanted`, which has this hash.  Returns false if it is another's.
  bool claim(std::string_view wanted, std::uint64_t hash_of_wanted);
  // The name; empty if the entry is vacant, or scribbled over.
  std::string owner() const;
};

std::uint64_t hash_of_name(std::string_view name);

// Finds the entry of a name that is neither empty nor too long, or claims one.  Returns entries.size() if the table is
// full.
template <typename Entries>
std::size_t claim_entry(Entries& entries, std::string_view name) {
  const std::uint64_t hash = hash_of_name(name);
  for (std::size_t step = 0; step < entries.size(); ++step) {
    const std::size_t index = (hash + step) % entries.size();
    if (entries[index].claim(name, hash)) return index;
  }
  return entries.size();
}

}  // namespace brood
