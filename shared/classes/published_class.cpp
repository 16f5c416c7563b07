#include "shared/classes/published_class.hpp"

#include <algorithm>
#include <array>
#include <brood/detail/read_arguments.hpp>

#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

constexpr std::size_t most_arguments = 64, longest_queue = 255;

// The options that a push may take from a class.  Others are ignored.
constexpr std::array<std::string_view, 11> pushed_options{"retry_queue",  "dead",       "backtrace",  "tags",
                                                          "retry_for",    "expires_in", "encrypt",    "keep_result",
                                                          "unique_until", "unique_for", "on_conflict"};

void read_options(const JsonObject& options, PublishedClass& into) {
  into.queue = options.string("queue").value_or("");
  if (into.queue.size() > longest_queue) throw BadJson("the name of a queue is too long");
  into.retry = options.raw("retry").value_or("");
  into.timeout = options.raw("timeout").value_or("");
  into.encrypts = options.truthy("encrypt");
  for (const std::string_view name : pushed_options) {
    if (const auto json = options.raw(name)) into.members.emplace_back(name, *json);
  }
  if (const auto places = options.raw("unique_by")) {
    into.unique_by.emplace();
    for (const std::string& place : json_elements(*places)) {
      const auto number = json_integer(place);
      if (!number || *number < 0 || *number >= static_cast<std::int64_t>(most_arguments))
        throw BadJson("unique_by names no argument");
      into.unique_by->push_back(static_cast<std::size_t>(*number));
    }
  }
}

PublishedClass::Field read_field(const std::string& json) {
  const JsonObject object = JsonObject::parse(json);
  return {object.string("name").value_or(""), FieldType::parse(json), std::string(object.raw("default").value_or(""))};
}

}  // namespace

PublishedClass PublishedClass::parse(const std::string& name, std::string_view json) {
  const JsonObject object = JsonObject::parse(json);
  PublishedClass known;
  known.name = name;
  known.is_command = object.truthy("command");
  if (const auto options = object.raw("options")) read_options(JsonObject::parse(*options), known);
  const auto fields = object.raw("fields");
  if (!fields) return known;
  known.knows_fields = true;
  for (const std::string& field : json_elements(*fields)) {
    if (known.fields.size() == most_arguments) throw BadJson("too many fields");
    known.fields.push_back(read_field(field));
  }
  const std::int64_t required = object.integer("required").value_or(0);
  known.required =
      static_cast<std::size_t>(std::clamp<std::int64_t>(required, 0, static_cast<std::int64_t>(known.fields.size())));
  return known;
}

bool PublishedClass::is_unique() const {
  return std::ranges::any_of(members, [](const auto& member) { return member.first == "unique_until"; });
}

std::optional<std::string> problem_of_arguments(const PublishedClass& known, std::string_view args) {
  if (!known.knows_fields) return std::nullopt;
  const std::vector<std::string> given = json_elements(args);
  if (given.size() < known.required || given.size() > known.fields.size()) {
    std::string names;
    for (std::size_t i = 0; i < known.fields.size(); ++i)
      names += (names.empty() ? "" : ", ") + known.fields[i].name + (i < known.required ? "" : " (optional)");
    return known.name + " takes " + detail::counted(known.required, known.fields.size(), "argument") +
           (names.empty() ? "" : " (" + names + ")") + ", got " + std::to_string(given.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (auto found = misfit_of(known.fields[i].type, given[i])) {
      const bool is_secret = known.encrypts && i + 1 == given.size();
      if (is_secret) found = Misfitting{"", "expected " + known.fields[i].type.text()};
      found->path.insert(0, detail::field_step(known.fields[i].name));
      return known.name + ": " + detail::argument_text(i, found->path) + ": " + found->problem;
    }
  }
  return std::nullopt;
}

std::string published_class_json(const PublishedClass& known) {
  JsonWriter options;
  options.text_or_null("queue", known.queue);
  if (!known.retry.empty()) options.json("retry", known.retry);
  if (!known.timeout.empty()) options.json("timeout", known.timeout);
  for (const auto& [name, json] : known.members) options.json(name, json);
  if (known.unique_by) options.each("unique_by", *known.unique_by, [](std::size_t at) { return std::to_string(at); });
  JsonWriter all;
  all.text("class", known.name).truth("command", known.is_command).json("options", options.object());
  if (!known.knows_fields) return all.null("fields").object();
  std::size_t place = 0;
  all.each("fields", known.fields, [&](const PublishedClass::Field& field) {
    JsonWriter one;
    one.text("name", field.name).text("type", field.type.text()).truth("required", place++ < known.required);
    if (!field.type.least.empty() && !field.type.most.empty())
      one.json("min", field.type.least).json("max", field.type.most);
    if (field.type.kind == FieldType::Kind::one_of) one.texts("values", field.type.names);
    if (!field.usual.empty()) one.json("default", field.usual);
    return one.object();
  });
  return all.object();
}

}  // namespace brood
