#include "worker/job/class_descriptions.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "shared/config/described_classes.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_description = 16'384;  // of one class
constexpr std::size_t rest_of_document = 4'096;

std::string seconds_text(std::int64_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) : json_float(static_cast<double>(ms) / 1000);
}

// The description of a class whose library was built with older headers, which provide no more.
std::string described_by_abi(const abi::JobClass& job) {
  JsonWriter options;
  if (job.retry_kind == abi::retry_count)
    options.number("retry", job.retry_count);
  else
    options.truth("retry", job.retry_kind == abi::retry_yes);
  if (job.timeout_ms > 0) options.json("timeout", seconds_text(job.timeout_ms));
  if (job.encrypts != 0) options.truth("encrypt", true);
  return JsonWriter().json("options", options.object()).object();
}

std::string description_of(const abi::JobClass& job) {
  if (job.describe != nullptr) {
    const abi::Text text = job.describe();
    if (text.data != nullptr && text.size > 0 && text.size <= longest_description) {
      try {
        return JsonObject::parse({text.data, text.size}).text();
      } catch (const BadJson&) {
      }
    }
  }
  return described_by_abi(job);
}

std::string description_of(const CommandSettings& command) {
  JsonWriter options;
  if (command.timeout.count() > 0) options.json("timeout", seconds_text(command.timeout.count()));
  return JsonWriter().truth("command", true).json("options", options.object()).object();
}

}  // namespace

std::string describe_classes(const JobRegistry& registry) {
  std::string classes;
  for (const std::string& name : registry.class_names()) {
    const auto* const in_library = registry.find(name);
    std::string description =
        in_library != nullptr ? description_of(in_library->job_class) : description_of(*registry.find_program(name));
    if (classes.size() + description.size() + rest_of_document > longest_description_of_classes) description = "{}";
    if (classes.size() + rest_of_document > longest_description_of_classes) break;
    classes += (classes.empty() ? "" : ",") + json_string(name) + ":" + description;
  }
  return "{\"classes\":{" + classes + "}}";
}

}  // namespace brood
