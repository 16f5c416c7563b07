#include "supervisor/cli/status/exposition.hpp"

#include "shared/base/log_line.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_label = 200;  // characters

// The format has three escapes; other characters that could control a terminal are made printable.
std::string escaped(std::string_view value) {
  std::string text;
  const auto append = [&](std::string_view line) {
    for (const char c : log::printable(line)) {
      if (c == '\\' || c == '"') text += '\\';
      text += c;
    }
  };
  const std::string cut = utf8_prefix(value, longest_label);
  std::string_view rest = cut;
  for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    append(rest.substr(0, end));
    text += "\\n";
    rest.remove_prefix(end + 1);
  }
  append(rest);
  return text;
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  said_.clear();
  // In OpenMetrics a counter's family name lacks the end that its sample has.
  constexpr std::string_view end = "_total";
  if (format_ == Format::openmetrics && type == "counter" && name.ends_with(end)) name.remove_suffix(end.size());
  text_ += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

void Exposition::buckets(const Labels& labels, const std::vector<double>& bounds, std::span<const std::uint64_t> counts,
                         double sum) {
  const std::string name = name_;
  std::uint64_t all = 0;
  name_ = name + "_bucket";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    Labels with_bound = labels;
    with_bound.emplace_back("le", i < bounds.size() ? fmt::format("{}", bounds[i]) : "+Inf");
    add(with_bound, fmt::format("{}", all));
  }
  name_ = name + "_count";
  Labels own = labels;
  said_.clear();
  add(own, fmt::format("{}", all));
  name_ = name + "_sum";
  said_.clear();
  add(own, fmt::format("{}", sum));
  name_ = name;
  said_.clear();
}

void Exposition::add(const Labels& labels, const std::string& value) {
  std::string set;
  for (const auto& [name, content] : labels)
    set += fmt::format("{}{}=\"{}\"", set.empty() ? "" : ",", name, escaped(content));
  if (!said_.insert(set).second) return;
  text_ += fmt::format("{}{} {}\n", name_, set.empty() ? "" : "{" + set + "}", value);
}

}  // namespace brood
