#pragma once

#include <fmt/format.h>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/json/json.hpp"

namespace brood {

// Writes a JSON object member by member, without white space.  Keys are ours and need no escapes.  An empty optional
// becomes null.
class JsonWriter {
 public:
  JsonWriter& text(std::string_view key, std::string_view value) { return json(key, json_string(value)); }
  // Null when it is empty.
  JsonWriter& text_or_null(std::string_view key, std::string_view value) {
    return value.empty() ? null(key) : text(key, value);
  }

  JsonWriter& number(std::string_view key, std::integral auto value) { return json(key, fmt::format("{}", value)); }
  template <std::integral Number>
  JsonWriter& number(std::string_view key, const std::optional<Number>& value) {
    return value ? number(key, *value) : null(key);
  }

  // With `digits` digits after the point; 3 suffice for seconds.
  JsonWriter& decimal(std::string_view key, double value, int digits = 3) {
    return json(key, fmt::format("{:.{}f}", value, digits));
  }
  JsonWriter& decimal(std::string_view key, const std::optional<double>& value, int digits = 3) {
    return value ? decimal(key, *value, digits) : null(key);
  }

  JsonWriter& truth(std::string_view key, bool value) { return json(key, value ? "true" : "false"); }
  JsonWriter& null(std::string_view key) { return json(key, "null"); }

  // An array of texts.  each() makes one of any values, whose JSON `json_of` returns.
  JsonWriter& texts(std::string_view key, const std::vector<std::string>& values) {
    return each(key, values, [](const std::string& value) { return json_string(value); });
  }
  JsonWriter& each(std::string_view key, const auto& values, auto&& json_of) {
    std::vector<std::string> all;
    for (const auto& value : values) all.push_back(json_of(value));
    return json(key, fmt::format("[{}]", fmt::join(all, ",")));
  }

  // A value that is JSON already.
  JsonWriter& json(std::string_view key, std::string_view value) {
    members_ += fmt::format("{}\"{}\":{}", members_.empty() ? "" : ",", key, value);
    return *this;
  }

  std::string object() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace brood
