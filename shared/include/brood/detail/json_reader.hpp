#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(hidden)
namespace brood::detail {

// The text is not valid JSON, or is nested deeper than 100.
class BadJson : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Reads strict JSON in one pass, without a tree and without loss.
class JsonReader {
 public:
  static constexpr int max_depth = 100;

  // `depth` is the depth of the text within an outer text.
  explicit JsonReader(std::string_view text, int depth = 0) : text_(text), depth_(depth) {}

  // Returns the first byte of the next token; 0 at the end.
  char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void expect_end() {
    if (peek() != '\0' || at_ < text_.size()) fail("something follows the value");
  }

  // Skips one value of any kind and returns its text.
  std::string_view skip_value() {
    const char first = peek();
    const std::size_t begin = at_;
    if (first == '{') {
      each_member([this](const std::string&) { skip_value(); });
    } else if (first == '[') {
      each_element([this](std::size_t) { skip_value(); });
    } else if (first == '"') {
      std::string ignored;
      read_string(ignored);
    } else if (first == '-' || (first >= '0' && first <= '9')) {
      read_number();
    } else if (!skip_word("true") && !skip_word("false") && !skip_word("null")) {
      fail("no JSON value");
    }
    return text_.substr(begin, at_ - begin);
  }

  // Returns the text of the next value, without skipping it.
  std::string_view look_at_value() {
    const std::size_t begin = at_;
    const std::string_view value = skip_value();
    at_ = begin;
    return value;
  }

  bool skip_word(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  // Reads a number and returns its text.
  std::string_view read_number() {
    peek();
    const std::size_t begin = at_;
    if (now() == '-') ++at_;
    if (now() == '0') {
      ++at_;
    } else {
      skip_digits();
    }
    if (now() == '.') {
      ++at_;
      skip_digits();
    }
    if (now() == 'e' || now() == 'E') {
      ++at_;
      if (now() == '+' || now() == '-') ++at_;
      skip_digits();
    }
    return text_.substr(begin, at_ - begin);
  }

  // Appends the string's UTF-8 to `out`.
  void read_string(std::string& out) {
    if (peek() != '"') fail("a string was expected");
    ++at_;
    while (now() != '"' || at_ >= text_.size()) {
      if (at_ >= text_.size()) fail("a string does not end");
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '\\') {
        read_escape(out);
      } else if (byte < 0x20) {
        fail("a control character in a string");
      } else if (byte < 0x80) {
        out.push_back(text_[at_++]);
      } else {
        const std::size_t length = utf8_length(text_, at_);
        if (length == 0) fail("a string is no UTF-8");
        out.append(text_.substr(at_, length));
        at_ += length;
      }
    }
    ++at_;
  }

  // Calls `element(index)` before each element, which must read or skip the element.  Returns the number of elements.
  template <typename Element>
  std::size_t each_element(Element element) {
    open('[');
    std::size_t count = 0;
    if (peek() != ']') {
      do element(count++);
      while (skip_word(","));
    }
    close(']');
    return count;
  }

  // Calls `member(key)` before each member's value, which must read or skip the value.
  template <typename Member>
  void each_member(Member member) {
    open('{');
    if (peek() != '}') {
      do {
        std::string key;
        read_string(key);
        if (!skip_word(":")) fail("':' was expected after a key");
        member(key);
      } while (skip_word(","));
    }
    close('}');
  }

  // Returns the length in bytes of the UTF-8 character at `at`; 0 if it is invalid.  Overlong forms, surrogates and
  // code points beyond U+10FFFF are invalid.
  static constexpr std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
      return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : static_cast<unsigned char>(0);
    };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return at < text.size() ? 1 : 0;
    if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
      if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
      return follows(1) && follows(2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
      if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
      return follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[noreturn]] void fail(const char* why) const {
    throw BadJson("JSON error at byte " + std::to_string(at_) + ": " + why);
  }

  void open(char bracket) {
    if (peek() != bracket) fail(bracket == '[' ? "an array was expected" : "an object was expected");
    if (++depth_ > max_depth) fail("nested deeper than 100");
    ++at_;
  }
  void close(char bracket) {
    if (peek() != bracket) fail(bracket == ']' ? "',' or ']' was expected" : "',' or '}' was expected");
    --depth_;
    ++at_;
  }

  void skip_digits() {
    if (now() < '0' || now() > '9') fail("a digit was expected");
    while (now() >= '0' && now() <= '9') ++at_;
  }

  std::uint32_t read_hex() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = now();
      if (c >= '0' && c <= '9') {
        value = value * 16 + static_cast<std::uint32_t>(c - '0');
      } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
        value = value * 16 + static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
      } else {
        fail("\\u wants four hex digits");
      }
    }
    return value;
  }

  void read_escape(std::string& out) {
    ++at_;
    const char c = now();
    ++at_;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out.push_back(c);
        return;
      case 'b':
        out.push_back('\b');
        return;
      case 'f':
        out.push_back('\f');
        return;
      case 'n':
        out.push_back('\n');
        return;
      case 'r':
        out.push_back('\r');
        return;
      case 't':
        out.push_back('\t');
        return;
      case 'u':
        break;
      default:
        fail("unknown escape");
    }
    std::uint32_t code = read_hex();
    if (code >= 0xD800 && code <= 0xDBFF && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const std::uint32_t low = read_hex();
      if (low < 0xDC00 || low > 0xDFFF) fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code >= 0xD800 && code <= 0xDFFF) fail("half of a surrogate pair");
    append_utf8(out, code);
  }

  static void append_utf8(std::string& out, std::uint32_t code) {
    const auto tail = [&](std::uint32_t bits) { out.push_back(static_cast<char>(0x80 | (bits & 0x3F))); };
    if (code < 0x80) {
      out.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
      out.push_back(static_cast<char>(0xC0 | (code >> 6)));
      tail(code);
    } else if (code < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | (code >> 12)));
      tail(code >> 6);
      tail(code);
    } else {
      out.push_back(static_cast<char>(0xF0 | (code >> 18)));
      tail(code >> 12);
      tail(code >> 6);
      tail(code);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_;
};

}  // namespace brood::detail
#pragma GCC visibility pop
