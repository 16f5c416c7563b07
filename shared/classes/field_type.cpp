#include "shared/classes/field_type.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <brood/detail/read_arguments.hpp>
#include <cmath>
#include <utility>

#include "shared/base/nearest.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"

namespace brood {
namespace {

using Kind = FieldType::Kind;

constexpr int deepest = 32;
constexpr std::size_t most_fields = 64, most_names = 1'000;

constexpr std::array<std::pair<std::string_view, Kind>, 11> kinds{{{"any", Kind::any},
                                                                   {"null", Kind::null},
                                                                   {"boolean", Kind::boolean},
                                                                   {"integer", Kind::integer},
                                                                   {"number", Kind::number},
                                                                   {"string", Kind::string},
                                                                   {"array", Kind::array},
                                                                   {"object", Kind::object},
                                                                   {"struct", Kind::structure},
                                                                   {"enum", Kind::one_of},
                                                                   {"variant", Kind::variant}}};

FieldType parse_type(std::string_view json, int depth);

std::size_t small_number(const JsonObject& object, const char* member) {
  const auto number = object.integer(member);
  return number && *number >= 0 && *number <= 1'000'000'000 ? static_cast<std::size_t>(*number) : 0;
}

std::vector<FieldType> parse_types(std::string_view array, int depth) {
  std::vector<FieldType> types;
  for (const std::string& one : json_elements(array)) {
    if (types.size() == most_fields) throw BadJson("too many types");
    types.push_back(parse_type(one, depth));
  }
  return types;
}

std::vector<std::string> texts_of(const JsonObject& object, const char* member, bool unescaped) {
  std::vector<std::string> texts;
  const auto array = object.raw(member);
  if (!array) return texts;
  for (const std::string& one : json_elements(*array)) {
    if (texts.size() == most_names) throw BadJson("too many names");
    texts.push_back(unescaped && one.starts_with('"') ? json_unescape(one) : one);
  }
  return texts;
}

void parse_fields(const JsonObject& object, FieldType& type, int depth) {
  const auto fields = object.raw("fields");
  if (!fields) throw BadJson("a struct without fields");
  type.inside = parse_types(*fields, depth);
  for (const std::string& field : json_elements(*fields))
    type.names.push_back(JsonObject::parse(field).string("name").value_or(""));
  type.required = std::min(small_number(object, "required"), type.names.size());
  type.required_members = std::min(small_number(object, "required_members"), type.names.size());
}

FieldType parse_type(std::string_view json, int depth) {
  if (depth > deepest) throw BadJson("a type is nested too deeply");
  const JsonObject object = JsonObject::parse(json);
  FieldType type;
  const std::string kind = object.string("type").value_or("any");
  const auto* const known = std::ranges::find(kinds, kind, &std::pair<std::string_view, Kind>::first);
  type.kind = known == kinds.end() ? Kind::any : known->second;
  type.nullable = object.truthy("nullable");
  type.whole = object.truthy("whole");
  type.format = object.string("format").value_or("");
  type.base64 = type.kind == Kind::string && type.format == "base64";
  for (const auto& [member, into] : {std::pair{"min", &type.least}, std::pair{"max", &type.most}}) {
    if (const auto bound = object.raw(member); bound && is_json_integer(*bound)) *into = *bound;
  }
  if (type.base64 && object.integer("bytes")) type.size = small_number(object, "bytes");
  if (type.kind == Kind::array) {
    const auto items = object.raw("items");
    if (items && items->starts_with('[')) {
      type.kind = Kind::tuple;
      type.inside = parse_types(*items, depth + 1);
    } else if (items) {
      type.inside.push_back(parse_type(*items, depth + 1));
      if (object.integer("size")) type.size = small_number(object, "size");
    }
  }
  if (const auto values = object.raw("values"); values && type.kind == Kind::object)
    type.inside.push_back(parse_type(*values, depth + 1));
  if (const auto types = object.raw("types"); types && type.kind == Kind::variant)
    type.inside = parse_types(*types, depth + 1);
  if (type.kind == Kind::structure) parse_fields(object, type, depth + 1);
  if (type.kind == Kind::one_of) {
    type.names = texts_of(object, "names", true);
    type.numbers = texts_of(object, "numbers", false);
  }
  return type;
}

// ---- For people

std::string text_without_null(const FieldType& type) {
  const auto inside = [&] { return type.inside.empty() ? std::string("any") : type.inside.front().text(); };
  std::vector<std::string> parts;
  switch (type.kind) {
    case Kind::any:
      return "any";
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "boolean";
    case Kind::integer:
      return "integer";
    case Kind::number:
      if (type.format == "seconds") return "seconds";
      if (type.format == "time") return "seconds since the epoch";
      return "number";
    case Kind::string:
      if (type.base64) return type.size ? fmt::format("{} bytes in base64", *type.size) : "bytes in base64";
      return type.format == "path" ? "path" : "string";
    case Kind::array:
      return type.size ? fmt::format("[{}] of {}", inside(), *type.size) : fmt::format("[{}]", inside());
    case Kind::object:
      return fmt::format("{{name: {}}}", inside());
    case Kind::tuple:
      for (const FieldType& one : type.inside) parts.push_back(one.text());
      return fmt::format("[{}]", fmt::join(parts, ", "));
    case Kind::structure:
      for (std::size_t i = 0; i < type.inside.size(); ++i)
        parts.push_back(type.names[i] + ": " + type.inside[i].text());
      return fmt::format("{{{}}}", fmt::join(parts, ", "));
    case Kind::one_of:
      for (const std::string& name : type.names) parts.push_back(json_string(name));
      return fmt::format("{}", fmt::join(parts, " or "));
    case Kind::variant:
      for (const FieldType& one : type.inside) parts.push_back(one.text());
      return fmt::format("{}", fmt::join(parts, " or "));
  }
  return "any";
}

// ---- Checks, with the sentences of <brood/detail/read_arguments.hpp>

using Found = std::optional<Misfitting>;

bool is_number(std::string_view json) { return json.front() == '-' || (json.front() >= '0' && json.front() <= '9'); }

Found not_expected(const std::string& expected, std::string_view json) {
  return Misfitting{"", "expected " + expected + ", got " + detail::shown(json)};
}

Found inside_of(Found found, const std::string& step) {
  if (found) found->path.insert(0, step);
  return found;
}

// Compares the spellings of two integers.
bool is_less(std::string_view a, std::string_view b) {
  const bool negative = a.starts_with('-');
  if (negative != b.starts_with('-')) return negative;
  if (a.size() != b.size()) return negative ? a.size() > b.size() : a.size() < b.size();
  return negative ? a > b : a < b;
}

Found check_integer(const FieldType& type, std::string_view json) {
  if (!is_number(json) || !is_json_integer(json)) return not_expected("an integer", json);
  const std::string_view number = json == "-0" ? "0" : json;
  if (type.least.empty() || type.most.empty()) return std::nullopt;
  const bool has_minus = json.starts_with('-') && type.least == "0";  // of -0 too
  if (has_minus || is_less(number, type.least) || is_less(type.most, number))
    return not_expected("an integer from " + type.least + " to " + type.most, json);
  return std::nullopt;
}

Found check_number(const FieldType& type, std::string_view json) {
  const std::string expected = type.format == "seconds" ? "a number of seconds"
                               : type.format == "time"  ? "seconds since the epoch"
                                                        : "a number";
  if (!is_number(json)) return not_expected(expected, json);
  const double number = json_number(json).value_or(0);
  if (!std::isfinite(number)) return not_expected(expected + " that fits the field", json);
  if (type.whole && type.format == "seconds" && number != std::floor(number))
    return not_expected(expected + ", without a fraction", json);
  return std::nullopt;
}

Found check_string(const FieldType& type, std::string_view json) {
  const std::string expected = !type.base64 ? "a string"
                               : type.size  ? std::to_string(*type.size) + " bytes in base64"
                                            : "bytes in base64";
  if (json.front() != '"') return not_expected(expected, json);
  if (!type.base64) return std::nullopt;
  std::vector<std::byte> bytes;
  const bool right = detail::read_base64(json_unescape(json), bytes) && (!type.size || bytes.size() == *type.size);
  return right ? std::nullopt : not_expected(expected, json);
}

Found check_array(const FieldType& type, std::string_view json) {
  const auto size = type.kind == Kind::tuple ? std::optional(type.inside.size()) : type.size;
  const std::string expected = size ? "an array of " + std::to_string(*size) : "an array";
  if (json.front() != '[') return not_expected(expected, json);
  const std::vector<std::string> elements = json_elements(json);
  if (size && elements.size() != *size) return not_expected(expected, json);
  for (std::size_t i = 0; i < elements.size() && !type.inside.empty(); ++i) {
    const FieldType& of = type.kind == Kind::tuple ? type.inside[i] : type.inside.front();
    if (auto found = misfit_of(of, elements[i])) return inside_of(std::move(found), detail::element_step(i));
  }
  return std::nullopt;
}

Found check_object(const FieldType& type, std::string_view json) {
  if (json.front() != '{') return not_expected("an object", json);
  if (type.inside.empty()) return std::nullopt;
  for (const JsonOutline::Part& part : JsonOutline::of(json).parts) {
    const std::string_view value = json.substr(part.value_begin, part.value_end - part.value_begin);
    if (auto found = misfit_of(type.inside.front(), value))
      return inside_of(std::move(found), "[\"" + detail::shown(part.key) + "\"]");
  }
  return std::nullopt;
}

Found check_members(const FieldType& type, std::string_view json) {
  std::vector<bool> given(type.names.size());
  for (const JsonOutline::Part& part : JsonOutline::of(json).parts) {
    const auto place = static_cast<std::size_t>(std::ranges::find(type.names, part.key) - type.names.begin());
    if (place == type.names.size()) {
      const auto meant = nearest(part.key, type.names);
      return Misfitting{"", "no field is called \"" + detail::shown(part.key) + "\"" +
                                (meant ? "; did you mean \"" + *meant + "\"?"
                                       : fmt::format(", only: {}", fmt::join(type.names, ", ")))};
    }
    if (given[place]) return Misfitting{"", "the field \"" + part.key + "\" is given twice"};
    given[place] = true;
    const std::string_view value = json.substr(part.value_begin, part.value_end - part.value_begin);
    if (auto found = misfit_of(type.inside[place], value))
      return inside_of(std::move(found), detail::field_step(part.key));
  }
  for (std::size_t i = 0; i < type.required_members; ++i) {
    if (!given[i]) return Misfitting{"", "the field \"" + type.names[i] + "\" is missing"};
  }
  return std::nullopt;
}

Found check_struct(const FieldType& type, std::string_view json) {
  if (json.front() == '{') return check_members(type, json);
  const std::string expected =
      "an object or an array of " + detail::counted(type.required, type.inside.size(), "field");
  if (json.front() != '[') return not_expected(expected, json);
  const std::vector<std::string> elements = json_elements(json);
  if (elements.size() < type.required || elements.size() > type.inside.size()) return not_expected(expected, json);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (auto found = misfit_of(type.inside[i], elements[i]))
      return inside_of(std::move(found), detail::field_step(type.names[i]));
  }
  return std::nullopt;
}

Found check_one_of(const FieldType& type, std::string_view json) {
  if (is_number(json) && std::ranges::find(type.numbers, json) != type.numbers.end()) return std::nullopt;
  const std::string given = json.front() == '"' ? json_unescape(json) : std::string();
  if (json.front() == '"' && std::ranges::find(type.names, given) != type.names.end()) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& name : type.names) names.push_back(json_string(name));
  auto found = not_expected(fmt::format("one of {}", fmt::join(names, ", ")), json);
  if (const auto meant = nearest(given, type.names); meant && !given.empty())
    found->problem += "; did you mean " + json_string(*meant) + "?";
  return found;
}

Found check_variant(const FieldType& type, std::string_view json) {
  if (type.inside.empty()) return std::nullopt;
  for (const FieldType& one : type.inside) {
    if (!misfit_of(one, json)) return std::nullopt;
  }
  return not_expected("a value of one of its " + std::to_string(type.inside.size()) + " types", json);
}

}  // namespace

FieldType FieldType::parse(std::string_view json) { return parse_type(json, 0); }

std::string_view FieldType::kind_name() const {
  const auto* const known = std::ranges::find(kinds, kind, &std::pair<std::string_view, Kind>::second);
  return known == kinds.end() ? "array" : known->first;
}

std::string FieldType::text() const { return text_without_null(*this) + (nullable ? " or null" : ""); }

std::optional<Misfitting> misfit_of(const FieldType& type, std::string_view json) {
  if (type.nullable && json == "null") return std::nullopt;
  switch (type.kind) {
    case Kind::any:
      return std::nullopt;
    case Kind::null:
      return json == "null" ? std::nullopt : not_expected("null", json);
    case Kind::boolean:
      return json == "true" || json == "false" ? std::nullopt : not_expected("true or false", json);
    case Kind::integer:
      return check_integer(type, json);
    case Kind::number:
      return check_number(type, json);
    case Kind::string:
      return check_string(type, json);
    case Kind::array:
    case Kind::tuple:
      return check_array(type, json);
    case Kind::object:
      return check_object(type, json);
    case Kind::structure:
      return check_struct(type, json);
    case Kind::one_of:
      return check_one_of(type, json);
    case Kind::variant:
      return check_variant(type, json);
  }
  return std::nullopt;
}

}  // namespace brood
