#pragma once

#include <toml++/toml.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shared/config/reading/config_section.hpp"

namespace brood {

// A table of the configuration file.  Every value is read by its key and checked.  A missing key leaves its target
// alone.  Every error is thrown as ConfigError, which names file, line and key.
class TomlSection : public ConfigSection {
 public:
  // `kind` is the section's name in keys_of_section: "capsules.*" for the section "capsules.images".
  TomlSection(const std::string& file, std::string name, const std::string& kind, const toml::table& table);

  bool has(const std::string& key) const override { return table_.contains(key); }
  setting::Place where_is(const std::string& key) const override;
  void boolean(const std::string& key, bool& out) const override;
  void number(const std::string& key, double& out, double least, double most) const override;
  void size(const std::string& key, std::uint64_t& out) const override;
  void truth_or_count(const std::string& key, std::string& json, std::int64_t most) const override;
  void json_array(const std::string& key, std::string& json) const override;
  void truth_or_text(const std::string& key, const std::function<void(bool)>& take_truth,
                     const TakeText& take) const override;
  void text(const std::string& key, const TakeText& take) const override;
  void texts(const std::string& key, const TakeText& take) const override;
  void counts(const std::string& key, std::int64_t least, std::int64_t most, const TakeCount& take) const override;
  void own_counts(std::int64_t least, std::int64_t most, const TakeNamedCount& take) const override;
  void named_texts(const std::string& key, const TakeNamedText& take) const override;
  void queues(CapsuleSettings& capsule) const override;
  void section(const std::string& key, const TakeSection& take) const override;
  void repeated_sections(const std::string& key, const TakeRepeatedSection& take) const override;
  void named_sections(const std::string& key, const TakeNamedSection& take) const override;
  void own_sections(const TakeNamedSection& take) const override;

 private:
  std::optional<std::int64_t> integer(const std::string& key, std::int64_t least, std::int64_t most) const override;
  std::optional<std::chrono::milliseconds> milliseconds(const std::string& key, std::chrono::milliseconds least,
                                                        std::chrono::milliseconds most) const override;
  void read(const std::string& key, const std::function<void(const setting::Place&, const toml::node&)>& take) const;
  setting::Place place(const std::string& key, const toml::node& node) const;

  const std::string& file_;
  std::string name_, kind_;
  const toml::table& table_;
};

// Parses `text`, the content of the file `path`, and calls `take` with its top level.
void parse_config(const std::string& path, const std::string& text, const ConfigSection::TakeSection& take);

}  // namespace brood
