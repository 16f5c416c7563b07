#include "supervisor/cli/terminal/count_text.hpp"

#include <fmt/format.h>

namespace brood {

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t digits = 3; digits < text.size(); digits += 4) text.insert(text.size() - digits, ",");
  return text;
}

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", grouped(number), number == 1 ? one : many);
}

std::string there_are(std::uint64_t number, std::string_view one, std::string_view many) {
  return (number == 1 ? "there is " : "there are ") + counted(number, one, many);
}

}  // namespace brood
