#include "shared/config/reading/toml_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <brood/detail/json_reader.hpp>
#include <brood/detail/write_arguments.hpp>

#include "shared/config/reading/config_keys.hpp"
#include "shared/config/reading/key_depth.hpp"

namespace brood {

using namespace setting;

namespace {

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

[[noreturn]] void wrong_kind(const Place& at, std::string_view wanted, const toml::node& node) {
  at.refuse(fmt::format("must be {}, not {}", wanted, kind_of(node)));
}

std::string string_of(const Place& at, const toml::node& node) {
  if (!node.is_string()) wrong_kind(at, "a string", node);
  return node.as_string()->get();
}

const toml::array& array_of(const Place& at, std::string_view what, const toml::node& node) {
  if (!node.is_array()) wrong_kind(at, what, node);
  return *node.as_array();
}

const toml::table& table_of(const Place& at, const toml::node& node) {
  if (!node.is_table()) wrong_kind(at, "a table", node);
  return *node.as_table();
}

std::chrono::milliseconds duration_of(const Place& at, const toml::node& node) {
  if (node.is_string()) return read_duration(at, node.as_string()->get());
  if (node.is_integer()) {
    const std::int64_t seconds = node.as_integer()->get();
    if (seconds < 0) at.refuse("must not be negative");
    return read_duration(at, std::to_string(seconds));
  }
  if (node.is_floating_point()) {
    const double seconds = node.as_floating_point()->get();
    if (!(seconds >= 0 && seconds < 1e9)) at.refuse("must be a number of seconds");
    return std::chrono::milliseconds(std::llround(seconds * 1000));
  }
  wrong_kind(at, "a duration such as \"25s\"", node);
}

std::string json_of(const Place& at, const toml::node& node) {
  std::string json;
  if (const toml::array* const array = node.as_array()) {
    for (const toml::node& element : *array) json += (json.empty() ? "[" : ",") + json_of(at, element);
    return json.empty() ? "[]" : json + "]";
  }
  if (const toml::table* const table = node.as_table()) {
    for (const auto& [key, element] : *table) {
      detail::write_string(json.append(json.empty() ? "{" : ","), key.str());
      json.append(":").append(json_of(at, element));
    }
    return json.empty() ? "{}" : json + "}";
  }
  if (node.is_string()) {
    detail::write_string(json, node.as_string()->get());
  } else if (node.is_integer()) {
    json = std::to_string(node.as_integer()->get());
  } else if (node.is_boolean()) {
    json = node.as_boolean()->get() ? "true" : "false";
  } else if (node.is_floating_point() && std::isfinite(node.as_floating_point()->get())) {
    detail::write_floating(json, node.as_floating_point()->get());
  } else {
    at.refuse(fmt::format("has {} in it, which JSON has not", kind_of(node)));
  }
  return json;
}

std::string checked_json_array(const Place& at, const std::string& text) {
  try {
    detail::JsonReader reader(text, 1);
    if (reader.peek() != '[') at.refuse("must be an array, or a string that is one in JSON");
    reader.skip_value();
    reader.expect_end();
  } catch (const ConfigError&) {
    throw;
  } catch (const std::exception& error) {
    at.refuse(std::string("is no JSON: ") + error.what());
  }
  return text;
}

QueueOrder::Entry queue_of(const Place& at, const toml::node& node) {
  if (node.is_string()) return read_queue(at, node.as_string()->get());
  const toml::array* const pair = node.as_array();
  const bool is_pair = pair && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_integer();
  if (!is_pair) at.refuse("a queue must be \"name\", \"name,weight\" or [\"name\", weight]");
  const std::string name = (*pair)[0].as_string()->get();
  if (name.find(',') != std::string::npos) at.refuse("the weight is given twice");
  return read_queue(at, fmt::format("{},{}", name, (*pair)[1].as_integer()->get()));
}

Place place_at(const std::string& file, const std::string& section, const std::string& key,
               const toml::source_region& source) {
  return {fmt::format("{}:{}: {}", file, source.begin.line, section.empty() ? key : section + "." + key)};
}

}  // namespace

TomlSection::TomlSection(const std::string& file, std::string name, const std::string& kind, const toml::table& table)
    : file_(file), name_(std::move(name)), kind_(kind), table_(table) {
  std::vector<std::string> known = keys_of_section(kind);
  const bool has_own_sections = std::erase(known, "*") > 0;
  for (const auto& [key, node] : table_) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    if (has_own_sections && (node.is_table() || kind == "tenants.*")) continue;
    const std::string meant = meant_key(std::string(key.str()), known);
    const std::string hint = meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant);
    place_at(file_, name_, std::string(key.str()), key.source()).refuse("unknown key" + hint);
  }
}

std::optional<std::int64_t> TomlSection::integer(const std::string& key, std::int64_t least, std::int64_t most) const {
  std::optional<std::int64_t> count;
  read(key, [&](const Place& at, const toml::node& node) {
    if (!node.is_integer()) wrong_kind(at, "an integer", node);
    count = check_count(at, node.as_integer()->get(), least, most);
  });
  return count;
}

std::optional<std::chrono::milliseconds> TomlSection::milliseconds(const std::string& key,
                                                                   std::chrono::milliseconds least,
                                                                   std::chrono::milliseconds most) const {
  std::optional<std::chrono::milliseconds> time;
  read(key,
       [&](const Place& at, const toml::node& node) { time = check_duration(at, duration_of(at, node), least, most); });
  return time;
}

void TomlSection::boolean(const std::string& key, bool& out) const {
  read(key, [&](const Place& at, const toml::node& node) {
    if (!node.is_boolean()) wrong_kind(at, "true or false", node);
    out = node.as_boolean()->get();
  });
}

void TomlSection::number(const std::string& key, double& out, double least, double most) const {
  read(key, [&](const Place& at, const toml::node& node) {
    const std::optional<double> number = node.is_number() ? node.value<double>() : std::nullopt;
    if (!number) wrong_kind(at, "a number", node);
    if (!(*number >= least && *number <= most)) at.refuse(fmt::format("must be between {} and {}", least, most));
    out = *number;
  });
}

void TomlSection::size(const std::string& key, std::uint64_t& out) const {
  read(key, [&](const Place& at, const toml::node& node) {
    if (!node.is_integer() && !node.is_string()) wrong_kind(at, "a size such as \"512M\"", node);
    out = read_memory_limit(at, node.is_integer() ? std::to_string(node.as_integer()->get()) : node.as_string()->get());
  });
}

void TomlSection::truth_or_text(const std::string& key, const std::function<void(bool)>& take_truth,
                                const TakeText& take) const {
  read(key, [&](const Place& at, const toml::node& node) {
    if (node.is_boolean()) return take_truth(node.as_boolean()->get());
    if (!node.is_string()) wrong_kind(at, "a word, true or false", node);
    take(at, string_of(at, node));
  });
}

void TomlSection::truth_or_count(const std::string& key, std::string& json, std::int64_t most) const {
  read(key, [&](const Place& at, const toml::node& node) {
    if (!node.is_boolean() && !node.is_integer()) wrong_kind(at, "true, false or a number", node);
    json = node.is_boolean() ? (node.as_boolean()->get() ? "true" : "false")
                             : std::to_string(check_count(at, node.as_integer()->get(), 0, most));
  });
}

void TomlSection::json_array(const std::string& key, std::string& json) const {
  read(key, [&](const Place& at, const toml::node& node) {
    json = node.is_string() ? checked_json_array(at, node.as_string()->get())
                            : json_of(at, *array_of(at, "an array", node).as_array());
  });
}

void TomlSection::text(const std::string& key, const TakeText& take) const {
  read(key, [&](const Place& at, const toml::node& node) { take(at, string_of(at, node)); });
}

void TomlSection::texts(const std::string& key, const TakeText& take) const {
  read(key, [&](const Place& at, const toml::node& node) {
    for (const toml::node& element : array_of(at, "an array of strings", node))
      take(place(key, element), string_of(place(key, element), element));
  });
}

void TomlSection::counts(const std::string& key, std::int64_t least, std::int64_t most, const TakeCount& take) const {
  read(key, [&](const Place& at, const toml::node& node) {
    for (const toml::node& element : array_of(at, "an array of numbers", node)) {
      const Place element_place = place(key, element);
      if (!element.is_integer()) wrong_kind(element_place, "an integer", element);
      take(element_place, check_count(element_place, element.as_integer()->get(), least, most));
    }
  });
}

void TomlSection::own_counts(std::int64_t least, std::int64_t most, const TakeNamedCount& take) const {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    const Place at = place(name, node);
    if (!node.is_integer()) wrong_kind(at, "an integer", node);
    take(at, name, check_count(at, node.as_integer()->get(), least, most));
  }
}

void TomlSection::named_texts(const std::string& key, const TakeNamedText& take) const {
  read(key, [&](const Place& at, const toml::node& node) {
    for (const auto& [name, entry] : table_of(at, node)) {
      const Place entry_place = place(key + "." + std::string(name.str()), entry);
      take(entry_place, std::string(name.str()), string_of(entry_place, entry));
    }
  });
}

void TomlSection::queues(CapsuleSettings& capsule) const {
  read("queues", [&](const Place& at, const toml::node& node) {
    std::vector<QueueOrder::Entry> entries;
    for (const toml::node& element : array_of(at, "an array of queues", node))
      entries.push_back(queue_of(place("queues", element), element));
    set_queues(at, capsule, std::move(entries));
  });
}

void TomlSection::section(const std::string& key, const TakeSection& take) const {
  const std::string above = name_.empty() ? "" : name_ + ".", kind_above = kind_.empty() ? "" : kind_ + ".";
  read(key, [&](const Place& at, const toml::node& node) {
    take(TomlSection(file_, above + key, kind_above + key, table_of(at, node)));
  });
}

void TomlSection::repeated_sections(const std::string& key, const TakeRepeatedSection& take) const {
  const std::string name = name_.empty() ? key : name_ + "." + key, kind = kind_.empty() ? key : kind_ + "." + key;
  read(key, [&](const Place& at, const toml::node& node) {
    if (!node.is_array_of_tables()) at.refuse(fmt::format("must be tables, each below a line [[{}]]", name));
    for (const toml::node& element : *node.as_array())
      take(place(key, element), TomlSection(file_, name, kind, *element.as_table()));
  });
}

Place TomlSection::where_is(const std::string& key) const { return place(key, *table_.get(key)); }

void TomlSection::named_sections(const std::string& key, const TakeNamedSection& take) const {
  read(key, [&](const Place& at, const toml::node& node) {
    for (const auto& [name, entry] : table_of(at, node)) {
      const std::string full_name = key + "." + std::string(name.str());
      const Place entry_place = place(full_name, entry);
      check_name(entry_place, std::string(name.str()));
      take(std::string(name.str()), entry_place,
           TomlSection(file_, full_name, key + ".*", table_of(entry_place, entry)));
    }
  });
}

void TomlSection::own_sections(const TakeNamedSection& take) const {
  const std::vector<std::string>& known = keys_of_section(kind_);
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const Place at = place(name, node);
    check_name(at, name);
    take(name, at, TomlSection(file_, name_ + "." + name, kind_ + ".*", table_of(at, node)));
  }
}

void TomlSection::read(const std::string& key, const std::function<void(const Place&, const toml::node&)>& take) const {
  if (const toml::node* const node = table_.get(key)) take(place(key, *node), *node);
}

Place TomlSection::place(const std::string& key, const toml::node& node) const {
  return place_at(file_, name_, key, node.source());
}

void parse_config(const std::string& path, const std::string& text, const ConfigSection::TakeSection& take) {
  if (const int line = line_of_too_deep_key(text); line > 0)
    Place{fmt::format("{}:{}", path, line)}.refuse(fmt::format("a key has more than {} parts", most_parts_of_a_key));
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    Place{fmt::format("{}:{}", path, error.source().begin.line)}.refuse(std::string(error.description()));
  }
  take(TomlSection(path, "", "", table));
}

}  // namespace brood
