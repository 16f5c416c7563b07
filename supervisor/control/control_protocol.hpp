#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The lines between the command line and a supervisor, UTF-8, one request a connection:
//
//   client       1 <verb> <JSON array of strings>
//   supervisor   progress <JSON string>               any number of these, for people, and then
//                ok <JSON value>    or    error <JSON string>
//
// 1 is the version of the protocol, a verb is [a-z_]{1,32}.
struct ControlRequest {
  std::string verb;
  std::vector<std::string> arguments;
};

struct ControlLine {
  enum class Kind { progress, ok, error };
  Kind kind = Kind::error;
  std::string text;  // JSON where `kind` is ok, else a sentence
};

// The results end with the newline; the two parsers below take a line without it.
std::string text_of(const ControlRequest& request);
std::string text_of(const ControlLine& line);

// Throws BadJson with a sentence for the client.
ControlRequest parse_control_request(std::string_view line);

// Returns nullopt if the line is of another protocol.
std::optional<ControlLine> parse_control_line(std::string_view line);

}  // namespace brood
