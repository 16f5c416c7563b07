#include "supervisor/control/control_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::string_view version = "1 ";
constexpr std::size_t longest_verb = 32;

using Kind = ControlLine::Kind;

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::progress:
      return "progress";
    case Kind::ok:
      return "ok";
    case Kind::error:
      break;
  }
  return "error";
}

bool is_verb(std::string_view word) {
  return !word.empty() && word.size() <= longest_verb &&
         std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

}  // namespace

std::string text_of(const ControlRequest& request) {
  std::vector<std::string> quoted;
  for (const std::string& argument : request.arguments) quoted.push_back(json_string(argument));
  return fmt::format("{}{} [{}]\n", version, request.verb, fmt::join(quoted, ","));
}

std::string text_of(const ControlLine& line) {
  std::string json = line.kind == Kind::ok ? line.text : json_string(line.text);
  std::replace(json.begin(), json.end(), '\n', ' ');  // JSON allows newlines only outside strings
  return fmt::format("{} {}\n", name_of(line.kind), json);
}

ControlRequest parse_control_request(std::string_view line) {
  if (!line.starts_with(version))
    throw BadJson("this supervisor speaks version 1 of the control protocol, and no other");
  line.remove_prefix(version.size());
  const std::size_t space = line.find(' ');
  if (space == line.npos || !is_verb(line.substr(0, space))) throw BadJson("a request is: 1 <verb> <JSON array>");
  ControlRequest request{std::string(line.substr(0, space)), {}};
  for (const std::string& argument : json_elements(line.substr(space + 1))) {
    if (!argument.starts_with('"')) throw BadJson("every argument of a request is a string");
    request.arguments.push_back(json_unescape(argument));
  }
  return request;
}

std::optional<ControlLine> parse_control_line(std::string_view line) {
  for (const Kind kind : {Kind::progress, Kind::ok, Kind::error}) {
    const std::string_view name = name_of(kind);
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') continue;
    const std::string_view json = line.substr(name.size() + 1);
    if (!is_json(json)) return std::nullopt;
    if (kind == Kind::ok) return ControlLine{kind, std::string(json)};
    if (!json.starts_with('"') || !json.ends_with('"')) return std::nullopt;
    return ControlLine{kind, json_unescape(json)};
  }
  return std::nullopt;
}

}  // namespace brood
