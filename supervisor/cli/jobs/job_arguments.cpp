#include "supervisor/cli/jobs/job_arguments.hpp"

#include <fmt/format.h>

#include "shared/base/log_line.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {
namespace {

std::string json_argument(const std::string& word, bool as_string) {
  if (!as_string && is_json(word)) return word;
  const std::string text = json_string(word);
  // Text that JSON cannot hold would arrive changed.
  if (json_unescape(text) != word)
    throw UsageError(fmt::format("the argument \"{}\" is not UTF-8", log::printable(word.substr(0, 80))));
  return text;
}

}  // namespace

void JobArguments::add_options(CommandLine& line) {
  line.option("--args", array, "JSON", "All arguments as one JSON array");
  line.flag("--string", all_strings, "Take every argument as a string");
}

std::string JobArguments::json(const std::vector<std::string>& words) const {
  if (array) {
    if (!words.empty() || all_strings) throw UsageError("--args takes the place of all arguments and of --string");
    return *array;
  }
  std::vector<std::string> values;
  for (const std::string& word : words) values.push_back(json_argument(word, all_strings));
  return fmt::format("[{}]", fmt::join(values, ","));
}

}  // namespace brood
