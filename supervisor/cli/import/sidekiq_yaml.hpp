#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace brood {

// A value of a YAML file of Sidekiq: aliases and merge keys are resolved, and a name such as `:concurrency` has lost
// its colon.
struct YamlValue {
  enum class Kind { none, text, list, map } kind = Kind::none;
  int line = 0;              // counted from 1
  std::string text = {};     // of a scalar, as written
  bool is_quoted = false;    // the scalar is quoted, so it is no number
  bool is_withheld = false;  // the scalar has a part that may be a secret of the environment, and no text here
  std::vector<YamlValue> list = {};
  std::vector<std::pair<std::string, YamlValue>> map = {};  // in the file's order

  // The text of a scalar without the colon of a symbol; empty for other values.
  std::string word() const;
  const YamlValue* find(const std::string& name) const;  // nullptr if there is no such member, or this is no map
  // Its value as a whole number, also one such as 15_552_000; nullopt for other values.
  std::optional<long long> number() const;
  // Its value as a number that may have a fraction, in digits; nullopt for other values and negative ones.
  std::optional<std::string> decimal() const;
  // `true`, `yes` or `on`, and their opposites; nullopt for other values.
  std::optional<bool> truth() const;
  // Whether the scalar, or one in the list or map, is withheld.
  bool holds_withheld() const;
  int last_line() const;  // of all its parts
};

// An ERB tag, `<%= ... %>`, within a line.
struct ErbTag {
  int line = 0;
  std::string code;
  std::string variable = {};              // that it names
  std::optional<std::string> value = {};  // its replacement; nullopt if it cannot be evaluated
  bool is_of_environment = false;         // the value is the variable's, and no default in the file
  bool is_withheld = false;               // the value may be a secret: see may_be_secret()
};

struct SidekiqYaml {
  YamlValue root;
  std::vector<ErbTag> tags = {};
};

// Whether the value of an environment variable must not be written into a file: the variable has a name such as API_KEY
// or REDIS_URL, or the value is neither a number nor a cron rule nor a short word, which has no spaces.
bool may_be_secret(std::string_view variable, std::string_view value);

// Reads the text of a file.  Sidekiq evaluates ERB before it reads YAML.  This evaluates only `ENV["NAME"]`,
// `ENV.fetch("NAME")` and the two with a default, by means of `environment`, and removes other tags from their lines.
// Leaves out values that may be secret.  Pure.  Throws ConfigError, which names `path` and the line, if the text is not
// YAML, or is nested or repeated too deeply.
SidekiqYaml read_sidekiq_yaml(const std::string& path, const std::string& text,
                              const std::function<std::optional<std::string>(const std::string& name)>& environment);

// The value as JSON, as Ruby would read the YAML: numbers, true, false and null unless they are quoted.
std::string json_of(const YamlValue& value);

}  // namespace brood
