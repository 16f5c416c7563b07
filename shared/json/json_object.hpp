#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/json/json.hpp"

namespace brood {

// The text of one JSON object, read and edited member by member.  Every byte that is not edited is carried through:
// number spelling, order, escapes, white space.  If a key is given twice, the last one counts, as in Ruby.
class JsonObject {
 public:
  // Throws BadJson, also for JSON of another kind.
  static JsonObject parse(std::string_view text);

  // The same into this object, whose memory is reused.
  void read(std::string_view text);

  const std::string& text() const { return text_; }

  // A member's JSON text as written; nullopt when absent.
  std::optional<std::string_view> raw(std::string_view key) const;

  // The member when it is a string, unescaped; nullopt otherwise.
  std::optional<std::string> string(std::string_view key) const;
  // The member when it is spelled as an integer and fits 64 bits.
  std::optional<std::int64_t> integer(std::string_view key) const;
  // Any number; 1E400 is infinite, as in Ruby.
  std::optional<double> number(std::string_view key) const;

  // True unless it is absent, null or false: what Ruby calls truthy.
  bool truthy(std::string_view key) const;

  struct Edit {
    std::string key;
    std::optional<std::string> raw;  // JSON text; absent: remove the member
  };

  // The object with members changed in place and new ones appended, in the order given, without white space.  If a key
  // is edited twice, the later edit counts.  Throws BadJson if a raw value is not JSON.
  JsonObject with(const std::vector<Edit>& edits) const;

 private:
  std::string text_;
  JsonOutline outline_;
};

}  // namespace brood
