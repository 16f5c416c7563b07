#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/reply_from_wire.hpp"

// Replies as Redis writes them, for tests of code that reads them without a Redis.
namespace brood::wire {

inline std::string text(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}
inline std::string number(std::int64_t number) { return ":" + std::to_string(number) + "\r\n"; }
inline std::string error(std::string_view error) { return "-" + std::string(error) + "\r\n"; }
inline std::string nil() { return "$-1\r\n"; }
inline std::string list(std::initializer_list<std::string> elements) {
  std::string all = "*" + std::to_string(elements.size()) + "\r\n";
  for (const std::string& element : elements) all += element;
  return all;
}
inline std::string wrong_type() { return error("WRONGTYPE Operation against a key holding the wrong kind of value"); }

inline Reply reply(const std::string& bytes) { return reply_from_wire(bytes); }
inline std::vector<Reply> replies(std::initializer_list<std::string> all) {
  std::vector<Reply> replies;
  for (const std::string& bytes : all) replies.push_back(reply(bytes));
  return replies;
}

}  // namespace brood::wire
