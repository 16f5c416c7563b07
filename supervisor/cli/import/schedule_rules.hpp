#pragma once

#include <optional>
#include <string>
#include <vector>

#include "supervisor/cli/import/sidekiq_yaml.hpp"

namespace brood {

// A rule of sidekiq-cron or sidekiq-scheduler as the lines of [periodic.NAME].
struct ImportedRule {
  std::vector<std::string> lines = {};     // empty: it has no counterpart
  std::vector<std::string> problems = {};  // each a sentence
};

// Pure.
ImportedRule import_rule(const YamlValue& rule);

// The rule of cron(8) for "every 15m" of sidekiq-scheduler; nullopt: there is none.  Pure.
std::optional<std::string> cron_for_interval(const std::string& interval);

// A text as TOML has it, in quotes.
std::string toml_string(const std::string& text);
// A value as TOML has it; nullopt: it holds null, which TOML has not.
std::optional<std::string> toml_of(const YamlValue& value);

}  // namespace brood
