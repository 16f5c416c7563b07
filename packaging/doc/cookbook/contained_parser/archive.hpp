#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The format: "ARC1", the number of entries (32 bits, little endian), and for each the offset of its text from the
// beginning of the file and the length of that text, 32 bits each.
class Archive {
 public:
  explicit Archive(std::string bytes);

  std::size_t entries() const { return entries_; }
  std::size_t words_in(std::size_t entry) const;

 private:
  std::uint32_t number_at(std::size_t offset) const;

  std::string bytes_;
  std::size_t entries_ = 0;
};
