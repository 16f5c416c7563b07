#pragma once

#include <optional>
#include <string>
#include <vector>

#include "supervisor/cli/import/sidekiq_yaml.hpp"

namespace brood {

// A rule of sidekiq-cron or sidekiq-scheduler as the lines of [periodic.NAME].
struct ImportedRule {
  std::vector<std::string> lines = {};     // empty if it has no counterpart
  std::vector<std::string> problems = {};  // each a sentence
};

// A rule without a class is for the class of its name, as in sidekiq-scheduler.  Pure.
ImportedRule import_rule(const std::string& name_of_rule, const YamlValue& rule);

// The rule of cron(8) for "every 15m" of sidekiq-scheduler; nullopt if there is none.  Pure.
std::optional<std::string> cron_for_interval(const std::string& interval);

// A text in TOML, quoted.
std::string toml_string(const std::string& text);
// A value in TOML; nullopt if it contains null, which TOML lacks.
std::optional<std::string> toml_of(const YamlValue& value);

}  // namespace brood
