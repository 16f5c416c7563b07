#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/web/http/http_message.hpp"

namespace brood {

// Answers for programs.
inline HttpResponse json_answer(int status, std::string body) {
  return {.status = status, .type = "application/json", .body = std::move(body)};
}

// A refusal that an unchecked request would not get.
inline std::string unless_unchecked(const std::exception& refusal) {
  return refusal.what() + std::string(" (?unchecked=1 pushes it all the same)");
}

// One object a line.
template <typename One, typename JsonOf>
std::string json_array(const std::vector<One>& all, JsonOf json_of) {
  std::string body = "[";
  for (const One& one : all) body += (body.size() > 1 ? ",\n" : "\n") + json_of(one);
  return body + (all.empty() ? "]\n" : "\n]\n");
}

}  // namespace brood
