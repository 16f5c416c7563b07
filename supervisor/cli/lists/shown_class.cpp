#include "supervisor/cli/lists/shown_class.hpp"

#include <fmt/format.h>

#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"

namespace brood {
namespace {

std::string moment_text(std::int64_t epoch_seconds) { return iso_time(WallTime(std::chrono::seconds(epoch_seconds))); }

std::string plain_text(const std::string& json) {
  if (json.starts_with('"')) return json_unescape(json);
  return json == "true" ? "yes" : json == "false" ? "no" : json;
}

bool is_seconds(const std::string& option) {
  return option == "retry_for" || option == "expires_in" || option == "keep_result" || option == "unique_for";
}

std::string usual_text(const PublishedClass::Field& field, bool required) {
  if (required) return "";
  return field.usual.empty() ? "may be left out" : "may be left out: " + field.usual;
}

std::string build_text(const PublishedClasses::Build& build) {
  return build.runs
             ? fmt::format("build {}, running since {}", log::printable(build.name), moment_text(build.since))
             : fmt::format("build {}, not running; last seen {}", log::printable(build.name), moment_text(build.seen));
}

std::string said_text(const PublishedClass& known, const Style& style) {
  std::string text;
  if (known.is_command) text += "  a program of [commands]: its arguments are any\n";
  for (const auto& [name, value] : shown_options(known))
    text += fmt::format("  {:<13} {}\n", name, log::printable(value));
  if (!known.knows_fields) return text + (known.is_command ? "" : "  its fields are not known\n");
  if (known.fields.empty()) return text + "  it takes no arguments\n";
  Table fields({{"FIELD"}, {"TYPE"}, {""}});
  for (std::size_t i = 0; i < known.fields.size(); ++i)
    fields.add({known.fields[i].name, known.fields[i].type.text(), usual_text(known.fields[i], i < known.required)});
  return text + fields.text(style);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> shown_options(const PublishedClass& known) {
  std::vector<std::pair<std::string, std::string>> options;
  if (!known.queue.empty()) options.emplace_back("queue", known.queue);
  if (!known.retry.empty()) options.emplace_back("retry", plain_text(known.retry));
  if (!known.timeout.empty()) options.emplace_back("timeout", known.timeout + "s");
  for (const auto& [name, json] : known.members)
    options.emplace_back(name, is_seconds(name) ? json + "s" : plain_text(json));
  if (!known.unique_by) return options;
  std::string by;
  for (const std::size_t place : *known.unique_by)
    by += (by.empty() ? "" : ", ") + (place < known.fields.size() ? known.fields[place].name : std::to_string(place));
  options.emplace_back("unique_by", by);
  return options;
}

std::string signature_of(const PublishedClass& known) {
  std::string line = known.name;
  for (std::size_t i = 0; i < known.fields.size(); ++i)
    line += " " + known.fields[i].name + ":" + known.fields[i].type.text() + (i < known.required ? "" : "?");
  return line;
}

std::string shown_class_text(const std::vector<PublishedClasses::Said>& said, const Style& style) {
  std::string text = style.bold(log::printable(said.front().known.name)) + "\n";
  std::string before;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::string one = said_text(said[i].known, style);
    const bool same = i > 0 && one == before;
    text += (i == 0 ? "" : same ? "" : "\n") + fmt::format("  {}\n", style.dim(build_text(said[i].build)));
    if (same)
      text += "  says the same\n";
    else
      text += one;
    before = one;
  }
  return text;
}

std::string shown_class_json(const std::vector<PublishedClasses::Said>& said) {
  const std::string newest = published_class_json(said.front().known);
  const std::string builds = fmt::format("[{}]", [&] {
    std::string all;
    for (const PublishedClasses::Said& one : said) {
      const std::string known = published_class_json(one.known);
      all += (all.empty() ? "" : ",") + JsonWriter()
                                            .text("build", one.build.name)
                                            .number("since", one.build.since)
                                            .number("seen", one.build.seen)
                                            .truth("running", one.build.runs)
                                            .json("says", known)
                                            .object();
    }
    return all;
  }());
  return newest.substr(0, newest.size() - 1) + ",\"builds\":" + builds + "}";
}

}  // namespace brood
