#pragma once

#include <simdjson.h>

#include <string>

namespace brood {

// The text of a member of an object, without white space.  Throws simdjson::simdjson_error if there is none.
inline std::string member(const std::string& json, const std::string& name) {
  simdjson::dom::parser parser;
  return simdjson::minify(parser.parse(json)[name]);
}

}  // namespace brood
