#include "supervisor/cli/exposition.hpp"

#include "shared/job/json.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_label = 200;  // characters

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : utf8_prefix(value, longest_label)) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  said_.clear();
  text_ += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

void Exposition::add(const Labels& labels, const std::string& value) {
  std::string set;
  for (const auto& [name, content] : labels)
    set += fmt::format("{}{}=\"{}\"", set.empty() ? "" : ",", name, escaped(content));
  if (!said_.insert(set).second) return;
  text_ += fmt::format("{}{} {}\n", name_, set.empty() ? "" : "{" + set + "}", value);
}

}  // namespace brood
