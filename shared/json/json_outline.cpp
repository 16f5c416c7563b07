#include <simdjson.h>

#include <algorithm>
#include <new>
#include <utility>

#include "shared/json/json.hpp"

namespace brood {
namespace {

using simdjson::ondemand::document;
using simdjson::ondemand::json_type;
using simdjson::ondemand::parser;
using simdjson::ondemand::value;

constexpr int max_depth = 100;               // Ruby's max_nesting
constexpr std::size_t usual_size = 1 << 20;  // longer texts get a parser of their own, which is freed at once

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

[[noreturn]] void refuse(const std::string& what, std::size_t byte) {
  throw BadJson(what + " at byte " + std::to_string(byte));
}

std::string shown(char c) {
  if (c > ' ' && c < 0x7f) return std::string("unexpected ") + c;
  constexpr std::string_view hex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("unexpected byte 0x") + hex[byte >> 4] + hex[byte & 15];
}

bool is_number(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t first = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i > first;
  };
  if (i < text.size() && text[i] == '-') ++i;
  if (i < text.size() && text[i] == '0')
    ++i;
  else if (!digits())
    return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == text.size();
}

// Finds the end of the string whose quote stands at `begin`, one past its closing quote, and checks its escapes.
// simdjson checks them only while it unescapes, and then refuses half a surrogate pair, which Ruby mostly lets pass.
std::size_t string_end(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size();) {
    if (text[i] == '"') return i + 1;
    if (text[i] != '\\') {
      ++i;
      continue;
    }
    const char escape = i + 1 < text.size() ? text[i + 1] : '\0';
    if (escape == 'u') {
      const std::string_view digits = text.substr(i + 2, 4);
      if (digits.size() < 4 || !std::all_of(digits.begin(), digits.end(), is_hex)) refuse("a broken escape", i);
      i += 6;
    } else if (escape != '\0' && std::string_view("\"\\/bfnrt").find(escape) != std::string_view::npos) {
      i += 2;
    } else {
      refuse("an unknown escape", i);
    }
  }
  refuse("a string that is not closed", begin);
}

// Goes through a text with simdjson on demand and checks what that does not check: the scalars.  It reads no number's
// value, since simdjson refuses integers above 64 bits and 1E400, which must pass untouched.
class Walk {
 public:
  Walk(std::string_view text, document& doc, JsonOutline& outline) : text_(text), doc_(doc), outline_(outline) {}

  void run() {
    if (outline_.kind == JsonOutline::Kind::object)
      object(doc_.get_object().value(), 1);
    else
      array(doc_.get_array().value(), 1);
    // The location is out of bounds when every token has been read.
    const char* rest = nullptr;
    if (doc_.current_location().get(rest) == simdjson::SUCCESS) refuse("a second value", offset(rest));
  }

 private:
  std::size_t offset(const char* at) const { return static_cast<std::size_t>(at - text_.data()); }

  void object(simdjson::ondemand::object fields, int depth) {
    for (auto result : fields) {
      simdjson::ondemand::field field = std::move(result).take_value();
      const std::size_t begin = offset(field.key().raw()) - 1;
      const std::size_t end = string_end(text_, begin);
      if (depth > 1) {
        walk(field.value(), depth);
        continue;
      }
      JsonOutline::Part& part = outline_.parts.emplace_back();
      json_unescape(text_.substr(begin, end - begin), part.key);
      part.begin = begin;
      locate(part, field.value());
    }
  }

  void array(simdjson::ondemand::array elements, int depth) {
    for (auto result : elements) {
      if (depth > 1) {
        walk(std::move(result).take_value(), depth);
        continue;
      }
      JsonOutline::Part& part = outline_.parts.emplace_back();
      locate(part, std::move(result).take_value());
      part.begin = part.value_begin;
    }
  }

  void locate(JsonOutline::Part& part, value v) {
    part.value_begin = offset(v.raw_json_token().data());
    part.value_end = walk(v, 1);
  }

  // Returns where the value ends; for nested values the result is not used.
  std::size_t walk(value v, int depth) {
    const std::string_view token = v.raw_json_token();
    const std::size_t begin = offset(token.data());
    switch (token.empty() ? '\0' : token.front()) {
      case '{':
      case '[':
        // Before simdjson descends, so that neither its stack nor ours grows with the text.
        if (depth == max_depth) refuse("nested deeper than 100 levels", begin);
        if (token.front() == '{')
          object(v.get_object().value(), depth + 1);
        else
          array(v.get_array().value(), depth + 1);
        return end_before(offset(doc_.current_location().value()));
      case '"': {
        const std::size_t end = string_end(text_, begin);
        // Read it: when simdjson skips a string before a colon, it takes that for a key.
        v.get_raw_json_string().value();
        return end;
      }
      default: {
        const std::string_view scalar = trimmed(token);
        if (scalar != "true" && scalar != "false" && scalar != "null" && !is_number(scalar))
          refuse(shown(token.empty() ? '\0' : token.front()), begin);
        return begin + scalar.size();
      }
    }
  }

  std::size_t end_before(std::size_t next_token) const {
    while (is_space(text_[next_token - 1])) --next_token;
    return next_token;
  }

  std::string_view text_;
  document& doc_;
  JsonOutline& outline_;
};

[[noreturn]] void refuse(simdjson::error_code error, std::string_view text, const char* location) {
  switch (error) {
    case simdjson::MEMALLOC:
      throw std::bad_alloc();
    case simdjson::CAPACITY:
      throw BadJson("too long");
    case simdjson::UTF8_ERROR:
      throw BadJson("not UTF-8");
    case simdjson::UNCLOSED_STRING:
      throw BadJson("a string is not closed");
    case simdjson::UNESCAPED_CHARS:
      throw BadJson("a control character stands in a string");
    default:
      break;
  }
  const std::size_t byte = location == nullptr ? text.size() : static_cast<std::size_t>(location - text.data());
  if (byte >= text.size() || error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT) refuse("it ends too early", text.size());
  refuse(shown(text[byte]), byte);
}

void check_scalar(std::string_view text) {
  const std::string_view scalar = trimmed(text);
  const auto begin = static_cast<std::size_t>(scalar.data() - text.data());
  if (!simdjson::validate_utf8(text.data(), text.size())) throw BadJson("not UTF-8");
  if (scalar.front() == '"') {
    if (std::any_of(scalar.begin(), scalar.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
      throw BadJson("a control character stands in a string");
    const std::size_t end = string_end(text, begin);
    if (end != begin + scalar.size()) refuse("a second value", end);
  } else if (scalar != "true" && scalar != "false" && scalar != "null" && !is_number(scalar)) {
    refuse(shown(scalar.front()), begin);
  }
}

}  // namespace

JsonOutline JsonOutline::of(std::string_view text) {
  std::string padded;
  padded.reserve(text.size() + json_padding);
  padded = text;
  JsonOutline outline;
  outline.read(padded);
  return outline;
}

void JsonOutline::read(const std::string& text) {
  kind = Kind::scalar;
  parts.clear();
  if (text.starts_with("\xef\xbb\xbf")) throw BadJson("it begins with a byte order mark");
  const std::string_view content = trimmed(text);
  if (content.empty()) throw BadJson("it is empty");
  if (content.front() != '{' && content.front() != '[') return check_scalar(text);
  if (text.capacity() < text.size() + json_padding) {
    *this = of(text);
    return;
  }

  static thread_local parser usual;
  parser large;  // costs nothing until it reads
  document doc;
  const simdjson::padded_string_view padded(text);
  if (const auto error = (text.size() <= usual_size ? usual : large).iterate(padded).get(doc))
    refuse(error, text, nullptr);
  try {
    kind = content.front() == '{' ? Kind::object : Kind::array;
    Walk(text, doc, *this).run();
  } catch (const simdjson::simdjson_error& error) {
    parts.clear();
    const char* location = nullptr;
    if (doc.current_location().get(location) != simdjson::SUCCESS) location = nullptr;
    refuse(error.error(), text, location);
  } catch (const BadJson&) {
    parts.clear();
    throw;
  }
}

bool is_json(std::string_view text) {
  try {
    JsonOutline::of(text);
    return true;
  } catch (const BadJson&) {
    return false;
  }
}

std::vector<std::string> json_elements(std::string_view text) {
  const JsonOutline outline = JsonOutline::of(text);
  if (outline.kind != JsonOutline::Kind::array) throw BadJson("not an array");
  std::vector<std::string> elements;
  elements.reserve(outline.parts.size());
  for (const JsonOutline::Part& part : outline.parts)
    elements.emplace_back(text.substr(part.value_begin, part.value_end - part.value_begin));
  return elements;
}

}  // namespace brood
