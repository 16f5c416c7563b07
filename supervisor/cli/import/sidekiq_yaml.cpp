#include "supervisor/cli/import/sidekiq_yaml.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <set>
#include <string_view>

#include "shared/base/ascii.hpp"
#include "shared/config/config_file.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

// Aliases may repeat a value any number of times, so a small file could become a huge tree.
constexpr std::size_t most_values = 100'000;
constexpr int deepest = 50;

// Stands in the YAML text for a withheld value.  It is a character of Unicode's private use area.
constexpr std::string_view withheld = "\xEE\x80\x80";

constexpr std::size_t longest_plain_word = 24, longest_random_word = 16;

[[noreturn]] void refuse(const std::string& path, int line, const std::string& why) {
  setting::Place{fmt::format("{}:{}", path, line)}.refuse(why);
}

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

std::string without_colon(std::string name) {
  if (name.size() > 1 && name.front() == ':') name.erase(0, 1);
  return name;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  YamlValue read(const YAML::Node& node, int depth = 0) {
    if (++values_ > most_values) refuse(path_, line_of(node), "has too many values, or aliases that repeat too many");
    if (depth > deepest) refuse(path_, line_of(node), "is nested too deeply");
    YamlValue value{.line = line_of(node)};
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        value.kind = YamlValue::Kind::text;
        value.text = node.Scalar();
        value.is_quoted = node.Tag() == "!";
        value.is_withheld = value.text.find(withheld) != value.text.npos;
        if (value.is_withheld) value.text.clear();
        break;
      case YAML::NodeType::Sequence:
        value.kind = YamlValue::Kind::list;
        for (const YAML::Node& element : node) value.list.push_back(read(element, depth + 1));
        break;
      case YAML::NodeType::Map:
        value.kind = YamlValue::Kind::map;
        read_members(node, depth, value);
        break;
      default:
        break;
    }
    return value;
  }

 private:
  void read_members(const YAML::Node& node, int depth, YamlValue& into) {
    std::set<std::string> own;
    for (const auto& member : node) {
      if (!member.first.IsScalar()) refuse(path_, line_of(member.first), "a name of a member is no text");
      if (member.first.Scalar() == "<<") continue;
      std::string name = without_colon(member.first.Scalar());
      if (name.find(withheld) != name.npos) name = "<%= ENV %>";
      YamlValue value = read(member.second, depth + 1);
      value.line = line_of(member.first);
      const auto same = std::ranges::find(into.map, name, [](const auto& known) { return known.first; });
      if (same != into.map.end())
        same->second = std::move(value);  // as in Ruby, the last one counts
      else
        into.map.emplace_back(name, std::move(value));
    }
    for (const auto& member : node) {
      if (member.first.Scalar() != "<<") continue;
      const YamlValue merged = read(member.second, depth + 1);
      for (const YamlValue& source : merged.kind == YamlValue::Kind::list ? merged.list : std::vector{merged}) {
        for (const auto& [name, value] : source.map) {
          if (into.find(name) == nullptr) into.map.emplace_back(name, value);
        }
      }
    }
  }

  const std::string& path_;
  std::size_t values_ = 0;
};

// Reads a piece of Ruby from left to right.
class RubyCode {
 public:
  explicit RubyCode(std::string_view code) : rest_(code) {}

  bool take(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // A quoted text or a plain number; nullopt for anything else.
  std::optional<std::string> literal() {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    std::size_t end = 0;
    if (quote == '"' || quote == '\'') {
      rest_.remove_prefix(1);
      end = rest_.find(quote);
      if (end == rest_.npos) return std::nullopt;
    } else {
      while (end < rest_.size() && ascii::is_digit(rest_[end])) ++end;
      if (end == 0) return std::nullopt;
    }
    const std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + (quote == '"' || quote == '\'' ? 1 : 0));
    const auto is_plain = [](char c) {
      return ascii::is_letter_or_digit(c) || std::string_view("_-.:/~@").find(c) != std::string_view::npos;
    };
    if (!std::ranges::all_of(text, is_plain)) return std::nullopt;
    return text;
  }

  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }

  std::string_view rest_;
};

// Sets the value of a tag whose code is `ENV["NAME"]`, `ENV.fetch("NAME")`, `ENV["NAME"] || DEFAULT`,
// `ENV.fetch("NAME", DEFAULT)` or `ENV.fetch("NAME") { DEFAULT }`, also within `Integer(...)` or with `.to_i` behind
// it.
void evaluate(ErbTag& tag, const std::function<std::optional<std::string>(const std::string&)>& environment) {
  RubyCode code(tag.code);
  const bool is_wrapped = code.take("Integer(") || code.take("(");
  const bool is_fetch = code.take("ENV.fetch(");
  if (!is_fetch && !code.take("ENV[")) return;
  const std::optional<std::string> name = code.literal();
  if (!name) return;
  std::optional<std::string> value;
  if (is_fetch && code.take(",") && !(value = code.literal())) return;
  if (!code.take(is_fetch ? ")" : "]")) return;
  const bool is_block = code.take("{");
  if ((is_block || code.take("||")) && !(value = code.literal())) return;
  if (is_block && !code.take("}")) return;
  if (is_wrapped && !code.take(")")) return;
  if (!code.take(".to_i")) code.take(".to_s");
  if (!code.at_end()) return;
  tag.variable = *name;
  tag.value = environment(*name);
  tag.is_of_environment = tag.value.has_value();
  if (!tag.is_of_environment) tag.value = value;
  tag.is_withheld = tag.value && may_be_secret(tag.variable, *tag.value);
}

// 15_552_000 without what divides its digits, as Ruby reads it.
std::string undivided(const std::string& text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool divides =
        text[i] == '_' && i > 0 && ascii::is_digit(text[i - 1]) && i + 1 < text.size() && ascii::is_digit(text[i + 1]);
    if (!divides) digits += text[i];
  }
  return digits;
}

// Whether it is a JSON number, which YAML reads as a number too.
bool is_plain_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point), part = text.substr(std::min(point + 1, text.size()));
  if (whole.empty() || (whole.size() > 1 && whole.front() == '0') || text.size() > 30) return false;
  return std::ranges::all_of(whole, ascii::is_digit) && std::ranges::all_of(part, ascii::is_digit) &&
         (point == text.size() || !part.empty());
}

// Whether it looks like "*/5 3 * * 1".
bool may_be_cron(std::string_view text) {
  const auto is_part = [](char c) {
    return ascii::is_digit(c) || std::string_view("*/,- ").find(c) != std::string_view::npos;
  };
  return text.find('*') != text.npos && std::ranges::all_of(text, is_part);
}

// Replaces the ERB tags by their values, without changing line numbers.
std::string without_erb(const std::string& text, std::vector<ErbTag>& tags,
                        const std::function<std::optional<std::string>(const std::string&)>& environment) {
  std::string clean;
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t tag = text.find("<%", at), end = tag == text.npos ? text.npos : text.find("%>", tag);
    const std::size_t plain_end = end == text.npos ? text.size() : tag;
    clean.append(text, at, plain_end - at);
    line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                        text.begin() + static_cast<std::ptrdiff_t>(plain_end), '\n'));
    if (end == text.npos) break;
    std::string code = text.substr(tag + 2, end - tag - 2);
    const int new_lines = static_cast<int>(std::count(code.begin(), code.end(), '\n'));
    const bool is_output = code.starts_with('=') || code.starts_with("-=");
    const bool is_comment = code.starts_with('#');
    while (!code.empty() && (code.back() == '-' || code.back() == ' ')) code.pop_back();
    code.erase(0, std::min(code.find_first_not_of("=- "), code.size()));
    if (!is_comment) {
      ErbTag found{.line = line, .code = code};
      if (is_output) evaluate(found, environment);
      if (found.value) clean += found.is_withheld ? std::string(withheld) : *found.value;
      tags.push_back(std::move(found));
    }
    clean.append(static_cast<std::size_t>(new_lines), '\n');
    line += new_lines;
    at = end + 2;
  }
  return clean;
}

}  // namespace

std::string YamlValue::word() const {
  if (kind != Kind::text) return "";
  return is_quoted ? text : without_colon(text);
}

const YamlValue* YamlValue::find(const std::string& name) const {
  const auto member = std::ranges::find(map, name, [](const auto& one) { return one.first; });
  return member == map.end() ? nullptr : &member->second;
}

std::optional<long long> YamlValue::number() const {
  const std::string digits = undivided(text);
  long long value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [read_to, error] = std::from_chars(digits.data(), end, value);
  if (kind != Kind::text || digits.empty() || error != std::errc() || read_to != end) return std::nullopt;
  return value;
}

std::optional<std::string> YamlValue::decimal() const {
  std::string digits = undivided(text);
  if (kind != Kind::text || !is_plain_number(digits) || digits.starts_with('-')) return std::nullopt;
  return digits;
}

std::optional<bool> YamlValue::truth() const {
  if (kind != Kind::text || is_quoted) return std::nullopt;
  static const std::set<std::string> yes{"true", "True", "TRUE", "yes", "Yes", "on"},
      no{"false", "False", "FALSE", "no", "No", "off"};
  if (yes.contains(text)) return true;
  if (no.contains(text)) return false;
  return std::nullopt;
}

bool YamlValue::holds_withheld() const {
  return is_withheld || std::ranges::any_of(list, &YamlValue::holds_withheld) ||
         std::ranges::any_of(map, [](const auto& member) { return member.second.holds_withheld(); });
}

int YamlValue::last_line() const {
  int last = line;
  for (const YamlValue& element : list) last = std::max(last, element.last_line());
  for (const auto& [name, member] : map) last = std::max(last, member.last_line());
  return last;
}

bool may_be_secret(std::string_view variable, std::string_view value) {
  std::string name(variable);
  std::ranges::transform(name, name.begin(), ascii::lower);
  if (name.ends_with("pw") || name.find("pw_") != name.npos) return true;
  for (const std::string_view word : {"pass", "pwd", "secret", "token", "key", "credential", "auth", "private", "salt",
                                      "cert", "dsn", "url", "uri"}) {
    if (name.find(word) != name.npos) return true;
  }
  if (may_be_cron(value)) return false;
  const auto is_plain = [](char c) {
    return ascii::is_letter_or_digit(c) || std::string_view("_-.:/*").find(c) != std::string_view::npos;
  };
  if (!std::ranges::all_of(value, is_plain) || value.size() > longest_plain_word || value.find("//") != value.npos)
    return true;
  // A long word of letters and digits looks like one that was drawn at random.
  std::size_t letters = 0, digits = 0;
  for (const char c : value) {
    const bool is_digit = ascii::is_digit(c);
    letters = ascii::is_letter_or_digit(c) ? letters + (is_digit ? 0 : 1) : 0;
    digits = ascii::is_letter_or_digit(c) ? digits + (is_digit ? 1 : 0) : 0;
    if (letters > 0 && digits > 1 && letters + digits >= longest_random_word) return true;
  }
  return false;
}

SidekiqYaml read_sidekiq_yaml(const std::string& path, const std::string& text,
                              const std::function<std::optional<std::string>(const std::string& name)>& environment) {
  SidekiqYaml file;
  const std::string clean = without_erb(text, file.tags, environment);
  try {
    file.root = Reader(path).read(YAML::Load(clean));
  } catch (const YAML::Exception& error) {
    refuse(path, error.mark.line + 1, fmt::format("is no YAML: {}", error.msg));
  }
  return file;
}

std::string json_of(const YamlValue& value) {
  switch (value.kind) {
    case YamlValue::Kind::none:
      return "null";
    case YamlValue::Kind::text: {
      if (!value.is_quoted && is_plain_number(undivided(value.text))) return undivided(value.text);
      if (const auto truth = value.truth()) return *truth ? "true" : "false";
      if (!value.is_quoted && (value.text.empty() || value.text == "~" || value.text == "null")) return "null";
      return json_string(value.word());
    }
    case YamlValue::Kind::list: {
      std::string all;
      for (const YamlValue& element : value.list) all += (all.empty() ? "" : ",") + json_of(element);
      return "[" + all + "]";
    }
    case YamlValue::Kind::map: {
      std::string all;
      for (const auto& [name, element] : value.map)
        all += (all.empty() ? "" : ",") + json_string(name) + ":" + json_of(element);
      return "{" + all + "}";
    }
  }
  return "null";
}

}  // namespace brood
