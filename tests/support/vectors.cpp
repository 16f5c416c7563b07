#ifndef BROOD_SOURCE_DIR
#define BROOD_SOURCE_DIR ""  // tests define it: only their default argument is ever used
#endif

#include "tests/support/vectors.hpp"

#include <simdjson.h>

#include <cstdlib>
#include <stdexcept>

namespace brood::test {
namespace {

namespace ondemand = simdjson::ondemand;

// With the on-demand parser, since one vector holds an integer of 71 bits, which simdjson's DOM refuses.
VectorValue read(ondemand::value value) {
  VectorValue out;
  switch (ondemand::json_type(value.type())) {
    case ondemand::json_type::object:
      out.kind = VectorValue::Kind::object;
      for (auto field : value.get_object()) {
        std::string key(std::string_view(field.unescaped_key()));
        out.members.push_back({std::move(key), read(field.value())});
      }
      break;
    case ondemand::json_type::array:
      out.kind = VectorValue::Kind::array;
      for (auto element : value.get_array()) out.elements.push_back(read(std::move(element).take_value()));
      break;
    case ondemand::json_type::string:
      out.kind = VectorValue::Kind::string;
      out.text = std::string_view(value.get_string());
      break;
    default:
      out.text = value.raw_json_token();
      out.text.erase(out.text.find_last_not_of(" \t\r\n") + 1);
  }
  return out;
}

std::vector<Vector> load(const std::string& file) {
  const simdjson::padded_string text = simdjson::padded_string::load(file);
  ondemand::parser parser;
  ondemand::document document = parser.iterate(text);
  const VectorValue root = read(document.get_value());
  std::vector<Vector> all;
  for (const VectorValue& vector : root["vectors"].elements)
    all.push_back({vector["id"].text, vector["version"].text, vector["input"], vector["expect"]});
  return all;
}

}  // namespace

bool VectorValue::has(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return value.kind != Kind::other || value.text != "null";
  }
  return false;
}

const VectorValue& VectorValue::operator[](std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return value;
  }
  throw std::out_of_range("the vector has no " + std::string(key));
}

double VectorValue::number() const { return std::strtod(text.c_str(), nullptr); }

std::vector<Vector> vectors(std::string_view prefix, const std::string& file) {
  static const std::vector<Vector> all = load(file);
  std::vector<Vector> found;
  for (const Vector& vector : all) {
    if (vector.id.starts_with(prefix)) found.push_back(vector);
  }
  if (found.empty()) throw std::runtime_error("no vector begins with " + std::string(prefix));
  return found;
}

}  // namespace brood::test
