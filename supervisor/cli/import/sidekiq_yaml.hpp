#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace brood {

// A value of a YAML file of Sidekiq: aliases and merge keys are resolved, and a name such as `:concurrency` has lost
// its colon.
struct YamlValue {
  enum class Kind { none, text, list, map } kind = Kind::none;
  int line = 0;            // counted from 1
  std::string text = {};   // of a scalar, as written
  bool is_quoted = false;  // the scalar is quoted, so it is no number
  std::vector<YamlValue> list = {};
  std::vector<std::pair<std::string, YamlValue>> map = {};  // in the file's order

  // The text of a scalar without the colon of a symbol; empty for other values.
  std::string word() const;
  const YamlValue* find(const std::string& name) const;  // nullptr if there is no such member, or this is no map
  // Its value as a whole number; nullopt for other values.
  std::optional<long long> number() const;
  // `true`, `yes` or `on`, and their opposites; nullopt for other values.
  std::optional<bool> truth() const;
};

// An ERB tag, `<%= ... %>`, within a line.
struct ErbTag {
  int line = 0;
  std::string code;
  std::optional<std::string> value = {};  // its replacement; nullopt if it cannot be evaluated
  bool is_of_environment = false;         // the value is a variable's, perhaps a secret, and no default in the file
};

struct SidekiqYaml {
  YamlValue root;
  std::vector<ErbTag> tags = {};
};

// Reads the text of a file.  Sidekiq evaluates ERB before it reads YAML.  This evaluates only `ENV["NAME"]`,
// `ENV.fetch("NAME")` and the two with a default, by `environment`; other tags are removed from their line.  Pure.
// Throws ConfigError, which names `path` and the line, if the text is not YAML, or is nested or repeated too deeply.
SidekiqYaml read_sidekiq_yaml(const std::string& path, const std::string& text,
                              const std::function<std::optional<std::string>(const std::string& name)>& environment);

// The value as JSON, as Ruby would read the YAML: numbers, true, false and null unless they are quoted.
std::string json_of(const YamlValue& value);

}  // namespace brood
