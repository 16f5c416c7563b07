#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/reading/config_section.hpp"

namespace brood {

class SettingDescriptions;

// A section of the configuration without values.  Notes what its reader asks for, as JSON Schema.
class SchemaSection : public ConfigSection {
 public:
  // `kind` is the section's name in keys_of_section.
  SchemaSection(std::string kind, const SettingDescriptions& descriptions)
      : kind_(std::move(kind)), descriptions_(descriptions) {}

  // Lets `reader` ask for all of its keys.  Throws std::logic_error if it leaves one out.
  void ask(const std::function<void(const SchemaSection&)>& reader);
  std::string json() const;

  bool has(const std::string&) const override { return false; }
  setting::Place where_is(const std::string& key) const override { return {key}; }
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
  void note(const std::string& key, std::string members) const;
  std::string inner(const std::string& kind, const std::function<void(const SchemaSection&)>& reader) const;
  std::string below(const std::string& key) const { return kind_.empty() ? key : kind_ + "." + key; }

  std::string kind_;
  const SettingDescriptions& descriptions_;
  // What readers ask for is noted here.  It is no part of the section's value, hence mutable.
  mutable std::vector<std::pair<std::string, std::string>> properties_;  // in their order; members of JSON
  mutable std::string others_;  // schema of freely named keys; empty if there are none
};

}  // namespace brood
