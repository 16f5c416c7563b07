#pragma once

#include <toml++/toml.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shared/config/reading/setting.hpp"

namespace brood {

// One table of the configuration file.  Every value is read by its key and checked; what is absent leaves its target
// alone.  Everything wrong is thrown as ConfigError, which names file, line and key.
class ConfigSection {
 public:
  // `kind` is the section's name in keys_of_section: "capsules.*" for the section "capsules.images".
  ConfigSection(const std::string& file, std::string name, const std::string& kind, const toml::table& table);

  bool has(const std::string& key) const { return table_.contains(key); }
  // The place of a key that is there.
  setting::Place where_is(const std::string& key) const;

  template <typename Number>
  void count(const std::string& key, Number& out, std::int64_t least, std::int64_t most) const {
    if (const auto count = integer(key, least, most)) out = static_cast<Number>(*count);
  }
  template <typename Duration>
  void duration(const std::string& key, Duration& out, std::chrono::milliseconds least,
                std::chrono::milliseconds most) const {
    if (const auto time = milliseconds(key, least, most)) out = std::chrono::duration_cast<Duration>(*time);
  }
  void boolean(const std::string& key, bool& out) const;
  void number(const std::string& key, double& out, double least, double most) const;  // whole, or not
  void size(const std::string& key, std::uint64_t& out) const;

  using TakeText = std::function<void(const setting::Place&, const std::string& text)>;
  // true, false or a number, as JSON.
  void truth_or_count(const std::string& key, std::string& json, std::int64_t most) const;
  // An array, or a string that is one in JSON, as JSON.
  void json_array(const std::string& key, std::string& json) const;
  // Either of both.
  void truth_or_text(const std::string& key, const std::function<void(bool)>& take_truth, const TakeText& take) const;
  void text(const std::string& key, const TakeText& take) const;
  void texts(const std::string& key, const TakeText& take) const;  // an array
  // An array of numbers.
  void counts(const std::string& key, std::int64_t least, std::int64_t most,
              const std::function<void(const setting::Place&, std::int64_t count)>& take) const;
  // All of this section: numbers whose keys are free.
  void own_counts(
      std::int64_t least, std::int64_t most,
      const std::function<void(const setting::Place&, const std::string& name, std::int64_t count)>& take) const;
  // A table of strings whose keys are free.
  void named_texts(
      const std::string& key,
      const std::function<void(const setting::Place&, const std::string& name, const std::string& text)>& take) const;

  // ["critical", "default,2"] or [["critical", 5], ["default", 1]].
  void queues(CapsuleSettings& capsule) const;

  void section(const std::string& key, const std::function<void(const ConfigSection&)>& take) const;
  // [[redis.shard]], again and again: a section for each, in order.
  void repeated_sections(const std::string& key,
                         const std::function<void(const setting::Place&, const ConfigSection&)>& take) const;
  // [capsules.images], [capsules.mail]: a section for each name.
  void named_sections(
      const std::string& key,
      const std::function<void(const std::string& name, const setting::Place&, const ConfigSection&)>& take) const;
  // This section has a section for each name that is no key.
  void own_sections(
      const std::function<void(const std::string& name, const setting::Place&, const ConfigSection&)>& take) const;

 private:
  std::optional<std::int64_t> integer(const std::string& key, std::int64_t least, std::int64_t most) const;
  std::optional<std::chrono::milliseconds> milliseconds(const std::string& key, std::chrono::milliseconds least,
                                                        std::chrono::milliseconds most) const;
  void read(const std::string& key, const std::function<void(const setting::Place&, const toml::node&)>& take) const;
  setting::Place place(const std::string& key, const toml::node& node) const;

  const std::string& file_;
  std::string name_, kind_;
  const toml::table& table_;
};

// `take` gets the top level of the file `path` with that `text`.
void parse_config(const std::string& path, const std::string& text,
                  const std::function<void(const ConfigSection&)>& take);

}  // namespace brood
