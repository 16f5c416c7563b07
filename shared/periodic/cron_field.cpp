#include "shared/periodic/cron_field.hpp"

#include <utility>

#include "shared/base/ascii.hpp"
#include "shared/periodic/cron_rule.hpp"

namespace brood {

std::optional<int> CronField::named(std::string_view word) const {
  if (word.size() != 3) return std::nullopt;
  const std::array<char, 3> lower{ascii::lower(word[0]), ascii::lower(word[1]), ascii::lower(word[2])};
  for (std::size_t i = 0; i < words.size(); i += 3) {
    if (words.substr(i, 3) == std::string_view(lower.data(), lower.size())) return least + static_cast<int>(i / 3);
  }
  return std::nullopt;
}

void CronField::refuse(std::string_view text, const std::string& why) const {
  throw CronError("the " + std::string(name) + " " + shown_rule(text) + " " + why);
}

std::optional<std::string_view> fields_of_nickname(std::string_view nickname) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> meanings{{{"@yearly", "0 0 1 1 *"},
                                                                                          {"@annually", "0 0 1 1 *"},
                                                                                          {"@monthly", "0 0 1 * *"},
                                                                                          {"@weekly", "0 0 * * 0"},
                                                                                          {"@daily", "0 0 * * *"},
                                                                                          {"@midnight", "0 0 * * *"},
                                                                                          {"@hourly", "0 * * * *"}}};
  for (const auto& [name, fields] : meanings) {
    if (nickname == name) return fields;
  }
  return std::nullopt;
}

}  // namespace brood
