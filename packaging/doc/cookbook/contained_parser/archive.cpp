#include "archive.hpp"

#include <stdexcept>
#include <utility>

namespace {

std::size_t count_words(const char* text, std::size_t length) {
  std::size_t words = 0;
  bool within = false;
  for (std::size_t i = 0; i < length; ++i) {
    const bool space = text[i] == ' ' || text[i] == '\n';
    if (!space && !within) ++words;
    within = !space;
  }
  return words;
}

}  // namespace

Archive::Archive(std::string bytes) : bytes_(std::move(bytes)) {
  if (bytes_.size() < 8 || !bytes_.starts_with("ARC1")) throw std::runtime_error("no archive");
  entries_ = number_at(4);
  if (bytes_.size() < 8 + entries_ * 8) throw std::runtime_error("the archive is cut off");
}

// The bug: offset and length are not compared with the size of the file.
std::size_t Archive::words_in(std::size_t entry) const {
  const std::size_t offset = number_at(8 + entry * 8);
  const std::size_t length = number_at(12 + entry * 8);
  return count_words(bytes_.data() + offset, length);
}

std::uint32_t Archive::number_at(std::size_t offset) const {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i > 0; --i) number = number << 8 | static_cast<unsigned char>(bytes_.at(offset + i - 1));
  return number;
}
