#include "worker/job/library_text.hpp"

#include "shared/json/json.hpp"

namespace brood {

std::string read_text(const abi::Text& text, std::string_view otherwise) {
  if (text.data == nullptr || text.size == 0) return std::string(otherwise);
  return utf8_prefix(std::string_view(text.data, text.size), longest_text);
}

}  // namespace brood
