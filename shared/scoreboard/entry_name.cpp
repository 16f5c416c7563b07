#include "shared/scoreboard/entry_name.hpp"

namespace brood {

std::uint64_t hash_of_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash != 0 ? hash : 1;
}

// The worker that claimed the entry may have died before it wrote the name, so each worker that finds no name writes
// it. All of them write the same bytes.
bool EntryName::claim(std::string_view wanted, std::uint64_t hash_of_wanted) {
  std::uint64_t found = hash.load();
  if (found == 0 && hash.compare_exchange_strong(found, hash_of_wanted)) found = hash_of_wanted;
  if (found != hash_of_wanted) return false;
  if (named.load(std::memory_order_acquire) != 0) return true;
  for (std::size_t i = 0; i < wanted.size() && i < longest; ++i)
    std::atomic_ref(name[i]).store(wanted[i], std::memory_order_relaxed);
  named.store(1, std::memory_order_release);
  return true;
}

std::string EntryName::owner() const {
  const std::uint64_t claimed = hash.load();
  if (claimed == 0 || named.load(std::memory_order_acquire) == 0) return "";
  std::string read;
  for (std::size_t i = 0; i < longest; ++i) {
    // Only load: the memory may be mapped for reading only.
    const char c = std::atomic_ref(const_cast<char&>(name[i])).load(std::memory_order_relaxed);
    if (c == '\0') break;
    read += c;
  }
  return hash_of_name(read) == claimed ? read : "";
}

}  // namespace brood
