#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// A text that is not JSON, or that Ruby would not read: what() has the error and its byte.
class BadJson : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where the parts of one JSON text lie.  The whole text has been checked, down to the last escape; numbers of any
// size and spelling are left as text.
struct JsonOutline {
  enum class Kind { object, array, scalar };
  struct Part {         // a member of the object, or an element of the array
    std::string key;    // unescaped; empty in an array
    std::size_t begin;  // of the key's quote; in an array the same as value_begin
    std::size_t value_begin, value_end;
  };

  Kind kind = Kind::scalar;
  std::vector<Part> parts;

  // Throws BadJson: no JSON, more than one value, a byte order mark, no UTF-8, nested deeper than 100.
  static JsonOutline of(std::string_view text);

  // The same into this outline, whose memory is reused.  A text that has room for `json_padding` more bytes
  // (std::string::reserve) is not copied.  After a throw the outline is empty.
  void read(const std::string& text);
};

// How far simdjson may read past the end of a text.
inline constexpr std::size_t json_padding = 64;

// Returns true for exactly one JSON value, white space around it allowed.
bool is_json(std::string_view text);

// The raw texts of an array's elements.  Throws BadJson when `text` is no array.
std::vector<std::string> json_elements(std::string_view text);

// The same value with `scalar` in place of each scalar: its structure, without any of its content but the keys of its
// objects.  Throws BadJson.
std::string json_shape(std::string_view text, std::string_view scalar);

// JSON text of a string as Ruby writes it: only ", \ and control characters escaped, bytes that are no UTF-8
// replaced by U+FFFD.
std::string json_string(std::string_view text);

// JSON text of a finite number as Ruby prints a Float: "1.0", "529.08", "1.0e-05"; never an integer, which to Ruby is
// another value.
std::string json_float(double value);

// The string that a checked JSON string, with its quotes, stands for.  Half a surrogate pair becomes U+FFFD.
std::string json_unescape(std::string_view quoted);
void json_unescape(std::string_view quoted, std::string& into);

// Whether the scalar is written without fraction and exponent, and so is an Integer to Ruby.
bool is_json_integer(std::string_view scalar);

// The value of a JSON number's text; nullopt for other JSON. 1E400 is infinite, as in Ruby.
std::optional<double> json_number(std::string_view scalar);
// Its value, if it is written as an integer and fits 64 bits.
std::optional<std::int64_t> json_integer(std::string_view scalar);

// The first `max_characters` of a text, bytes that are no UTF-8 replaced by U+FFFD.
std::string utf8_prefix(std::string_view text, std::size_t max_characters);

}  // namespace brood
