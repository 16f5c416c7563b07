#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace brood {

// A value of a YAML file, as Sidekiq's files use YAML: aliases and merge keys are resolved, and a name such as
// `:concurrency` has lost its colon.
struct YamlValue {
  enum class Kind { none, text, list, map } kind = Kind::none;
  int line = 0;            // counted from 1
  std::string text = {};   // of a scalar, as it is written
  bool is_quoted = false;  // the scalar stands in quotes, so it is no number
  std::vector<YamlValue> list = {};
  std::vector<std::pair<std::string, YamlValue>> map = {};  // in the file's order

  // The text of a scalar without the colon of a symbol; empty: another kind of value.
  std::string word() const;
  const YamlValue* find(const std::string& name) const;  // nullptr: no such member, or no map
  // The whole number that it is; nullopt: another value.
  std::optional<long long> number() const;
  // `true`, `yes` or `on`, and their opposites; nullopt: another value.
  std::optional<bool> truth() const;
};

// A tag of ERB, `<%= ... %>`, that stands in a line.
struct ErbTag {
  int line = 0;
  std::string code;
  std::optional<std::string> value = {};  // it was replaced by this; nullopt: it cannot be evaluated
};

struct SidekiqYaml {
  YamlValue root;
  std::vector<ErbTag> tags = {};
};

// Reads the text of a file.  Sidekiq evaluates ERB before it reads YAML.  Only `ENV["NAME"]`, `ENV.fetch("NAME")` and
// the two with a default are evaluated here, by `environment`; a line with another tag loses the tag.  Pure.
// Throws ConfigError, which names `path` and the line, if the text is no YAML, or is nested or repeated too deeply.
SidekiqYaml read_sidekiq_yaml(const std::string& path, const std::string& text,
                              const std::function<std::optional<std::string>(const std::string& name)>& environment);

// The value as JSON, as Ruby would read the YAML: numbers, true, false and null unless they are quoted.
std::string json_of(const YamlValue& value);

}  // namespace brood
