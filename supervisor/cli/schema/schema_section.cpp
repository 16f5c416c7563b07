#include "supervisor/cli/schema/schema_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "shared/config/config_file.hpp"
#include "shared/config/reading/config_keys.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/schema/setting_descriptions.hpp"

namespace brood {
namespace {

constexpr const char* no_word = "?";  // no setting has this value

// Calls a reader.  It finds no values, so its checks may throw ConfigError.
void call(const std::function<void()>& reader) try { reader(); } catch (const ConfigError&) {
}

std::string object(const std::string& members) { return "{" + members + "}"; }

std::string of_type(const char* type) { return fmt::format(R"("type":"{}")", type); }

std::string integer_schema(std::int64_t least, std::int64_t most) {
  std::string members = of_type("integer") + fmt::format(R"(,"minimum":{})", least);
  if (most != std::numeric_limits<std::int64_t>::max()) members += fmt::format(R"(,"maximum":{})", most);
  return members;
}

std::string array_schema(const std::string& element) {
  return of_type("array") + fmt::format(R"(,"items":{})", object(element));
}

std::string table_schema(const std::string& entry) {
  return of_type("object") + fmt::format(R"(,"additionalProperties":{})", entry);
}

// Strings: those words that `take` knows, or any if it knows no words.
std::string text_schema(const ConfigSection::TakeText& take) {
  std::string members = of_type("string");
  try {
    take({""}, no_word);
  } catch (const setting::UnknownWord& refused) {
    std::string words;
    for (const std::string& word : refused.known) words += (words.empty() ? "" : ",") + json_string(word);
    members += fmt::format(R"(,"enum":[{}])", words);
  } catch (const ConfigError&) {
  }
  return members;
}

}  // namespace

void SchemaSection::ask(const std::function<void(const SchemaSection&)>& reader) {
  call([&] { reader(*this); });
  for (const std::string& key : keys_of_section(kind_)) {
    const bool is_noted =
        key == "*" ? !others_.empty()
                   : std::ranges::any_of(properties_, [&](const auto& property) { return property.first == key; });
    if (!is_noted) throw std::logic_error(fmt::format("the reader of [{}] does not ask for {}", kind_, key));
  }
}

std::string SchemaSection::json() const {
  std::string properties;
  for (const auto& [key, members] : properties_) {
    const std::string described = descriptions_.of(kind_, key);
    properties +=
        fmt::format("{}{}:{}", properties.empty() ? "" : ",", json_string(key),
                    object(members + (described.empty() ? "" : R"(,"description":)" + json_string(described))));
  }
  return object(of_type("object") + fmt::format(R"(,"properties":{},"additionalProperties":{})", object(properties),
                                                others_.empty() ? "false" : others_));
}

// If a reader asks for a key twice, the last bounds count.
void SchemaSection::note(const std::string& key, std::string members) const {
  const auto known = std::ranges::find(properties_, key, [](const auto& property) { return property.first; });
  if (known == properties_.end())
    properties_.emplace_back(key, std::move(members));
  else
    known->second = std::move(members);
}

std::string SchemaSection::inner(const std::string& kind,
                                 const std::function<void(const SchemaSection&)>& reader) const {
  SchemaSection section(kind, descriptions_);
  section.ask(reader);
  return section.json();
}

std::optional<std::int64_t> SchemaSection::integer(const std::string& key, std::int64_t least,
                                                   std::int64_t most) const {
  note(key, integer_schema(least, most));
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> SchemaSection::milliseconds(const std::string& key, std::chrono::milliseconds,
                                                                     std::chrono::milliseconds) const {
  note(key, R"("type":["string","number"],"minimum":0,"pattern":"^([0-9]+([.][0-9]+)?(d|h|m|s|ms)?)+$")");
  return std::nullopt;
}

void SchemaSection::boolean(const std::string& key, bool&) const { note(key, of_type("boolean")); }

void SchemaSection::number(const std::string& key, double&, double least, double most) const {
  note(key, of_type("number") + fmt::format(R"(,"minimum":{},"maximum":{})", least, most));
}

void SchemaSection::size(const std::string& key, std::uint64_t&) const {
  note(key, R"("type":["string","integer"],"minimum":0,"pattern":"^[0-9]+")");
}

void SchemaSection::truth_or_count(const std::string& key, std::string&, std::int64_t most) const {
  note(key, fmt::format(R"("type":["boolean","integer"],"minimum":0,"maximum":{})", most));
}

void SchemaSection::json_array(const std::string& key, std::string&) const {
  note(key, R"("type":["array","string"])");
}

void SchemaSection::truth_or_text(const std::string& key, const std::function<void(bool)>&,
                                  const TakeText& take) const {
  note(key, fmt::format(R"("anyOf":[{},{}])", object(of_type("boolean")), object(text_schema(take))));
}

void SchemaSection::text(const std::string& key, const TakeText& take) const { note(key, text_schema(take)); }

void SchemaSection::texts(const std::string& key, const TakeText& take) const {
  note(key, array_schema(text_schema(take)));
}

void SchemaSection::counts(const std::string& key, std::int64_t least, std::int64_t most, const TakeCount&) const {
  note(key, array_schema(integer_schema(least, most)));
}

void SchemaSection::own_counts(std::int64_t least, std::int64_t most, const TakeNamedCount&) const {
  others_ = object(integer_schema(least, most));
}

void SchemaSection::named_texts(const std::string& key, const TakeNamedText&) const {
  note(key, table_schema(object(of_type("string"))));
}

void SchemaSection::queues(CapsuleSettings&) const {
  note("queues",
       array_schema(R"("anyOf":[{"type":"string"},{"type":"array","items":[{"type":"string"},{"type":"integer",)"
                    R"("minimum":0,"maximum":1000}],"minItems":2,"maxItems":2}])"));
}

void SchemaSection::section(const std::string& key, const TakeSection& take) const {
  const std::string schema = inner(below(key), take);
  note(key, schema.substr(1, schema.size() - 2));
}

void SchemaSection::repeated_sections(const std::string& key, const TakeRepeatedSection& take) const {
  const std::string schema = inner(below(key), [&](const SchemaSection& one) { take({key}, one); });
  note(key, array_schema(schema.substr(1, schema.size() - 2)));
}

void SchemaSection::named_sections(const std::string& key, const TakeNamedSection& take) const {
  note(key, table_schema(inner(key + ".*", [&](const SchemaSection& one) { take("NAME", {key}, one); })));
}

void SchemaSection::own_sections(const TakeNamedSection& take) const {
  others_ = inner(kind_ + ".*", [&](const SchemaSection& one) { take("NAME", {kind_}, one); });
}

}  // namespace brood
