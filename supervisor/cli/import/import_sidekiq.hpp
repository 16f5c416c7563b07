#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

struct SidekiqFile {
  std::string path, text;
};

inline constexpr std::string_view standard_input = "standard input";  // as the path of a file

// A setting of Sidekiq's files without a counterpart in brood.toml, or with another meaning there.
struct ImportNote {
  std::string place;  // "config/sidekiq.yml:7"
  std::string name;   // of the setting: "pidfile"
  std::string text;   // why, and what to do instead
};

struct Imported {
  std::string toml;            // the text of a brood.toml, with the notes as comments at its end
  std::size_t translated = 0;  // settings that have a counterpart
  std::vector<ImportNote> notes = {};
};

struct ImportRequest {
  SidekiqFile config;                        // config/sidekiq.yml
  std::optional<SidekiqFile> schedule = {};  // config/schedule.yml of the gem sidekiq-cron
  std::vector<SidekiqFile> ruby = {};        // classes with limits of the gem sidekiq-throttled
  std::string environment = "production";    // the section of the file that counts
  std::function<std::optional<std::string>(const std::string& name)> variable = {};  // of this process' environment
};

// Translates the configuration of Sidekiq 6 to 8, with the sections of the gems sidekiq-scheduler and
// sidekiq-limit_fetch, the schedule of sidekiq-cron and the limits of sidekiq-throttled.  Pure.  Throws ConfigError if
// a file is not YAML, or not a map.
Imported import_sidekiq(const ImportRequest& request);

}  // namespace brood
