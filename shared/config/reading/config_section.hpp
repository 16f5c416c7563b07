#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "shared/config/reading/setting.hpp"

namespace brood {

// One table of the configuration.  A reader asks for each key, with the kind and the bounds of its value.  There are
// two implementations: the file itself, and the schema, which has no values and notes what the readers ask for.
class ConfigSection {
 public:
  virtual ~ConfigSection() = default;

  virtual bool has(const std::string& key) const = 0;
  // The place of a key, which must be there.
  virtual setting::Place where_is(const std::string& key) const = 0;

  template <typename Number>
  void count(const std::string& key, Number& out, std::int64_t least, std::int64_t most) const {
    if (const auto count = integer(key, least, most)) out = static_cast<Number>(*count);
  }
  template <typename Duration>
  void duration(const std::string& key, Duration& out, std::chrono::milliseconds least,
                std::chrono::milliseconds most) const {
    if (const auto time = milliseconds(key, least, most)) out = std::chrono::duration_cast<Duration>(*time);
  }
  virtual void boolean(const std::string& key, bool& out) const = 0;
  virtual void number(const std::string& key, double& out, double least, double most) const = 0;  // whole, or not
  virtual void size(const std::string& key, std::uint64_t& out) const = 0;

  using TakeText = std::function<void(const setting::Place&, const std::string& text)>;
  using TakeCount = std::function<void(const setting::Place&, std::int64_t count)>;
  using TakeNamedCount = std::function<void(const setting::Place&, const std::string& name, std::int64_t count)>;
  using TakeNamedText = std::function<void(const setting::Place&, const std::string& name, const std::string& text)>;
  using TakeSection = std::function<void(const ConfigSection&)>;
  using TakeRepeatedSection = std::function<void(const setting::Place&, const ConfigSection&)>;
  using TakeNamedSection = std::function<void(const std::string& name, const setting::Place&, const ConfigSection&)>;

  // true, false or a number, as JSON.
  virtual void truth_or_count(const std::string& key, std::string& json, std::int64_t most) const = 0;
  // An array, or a string that is one in JSON, as JSON.
  virtual void json_array(const std::string& key, std::string& json) const = 0;
  // true, false or a string.
  virtual void truth_or_text(const std::string& key, const std::function<void(bool)>& take_truth,
                             const TakeText& take) const = 0;
  virtual void text(const std::string& key, const TakeText& take) const = 0;
  virtual void texts(const std::string& key, const TakeText& take) const = 0;  // an array
  // An array of numbers.
  virtual void counts(const std::string& key, std::int64_t least, std::int64_t most, const TakeCount& take) const = 0;
  // All of this section: numbers whose keys are free.
  virtual void own_counts(std::int64_t least, std::int64_t most, const TakeNamedCount& take) const = 0;
  // A table of strings whose keys are free.
  virtual void named_texts(const std::string& key, const TakeNamedText& take) const = 0;

  // ["critical", "default,2"] or [["critical", 5], ["default", 1]].
  virtual void queues(CapsuleSettings& capsule) const = 0;

  virtual void section(const std::string& key, const TakeSection& take) const = 0;
  // [[redis.shard]], again and again: a section for each, in order.
  virtual void repeated_sections(const std::string& key, const TakeRepeatedSection& take) const = 0;
  // [capsules.images], [capsules.mail]: a section for each name.
  virtual void named_sections(const std::string& key, const TakeNamedSection& take) const = 0;
  // This section has a section for each name that is no key.
  virtual void own_sections(const TakeNamedSection& take) const = 0;

 protected:
  virtual std::optional<std::int64_t> integer(const std::string& key, std::int64_t least, std::int64_t most) const = 0;
  virtual std::optional<std::chrono::milliseconds> milliseconds(const std::string& key, std::chrono::milliseconds least,
                                                                std::chrono::milliseconds most) const = 0;
};

}  // namespace brood
