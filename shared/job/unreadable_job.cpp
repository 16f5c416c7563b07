#include "shared/job/unreadable_job.hpp"

#include <fmt/format.h>

#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"

namespace brood {
namespace {

bool is_string(std::string_view json) { return json[json.find_first_not_of(" \t\n\r")] == '"'; }

std::string with_value(std::string_view json, const std::string& jid) {
  return fmt::format(R"json({{"class":"(no job)","args":[{}],"jid":"{}"}})json", json, jid);
}

}  // namespace

std::string record_of_unreadable(std::string_view text, const std::string& reason, const std::string& jid, WallTime now,
                                 TimeUnit otherwise) {
  try {
    const bool is_object = JsonOutline::of(text).kind == JsonOutline::Kind::object;
    if (!is_object && is_string(text)) return std::string(text);
    const JsonObject object = JsonObject::parse(is_object ? std::string(text) : with_value(text, jid));
    return object
        .with({{"error_class", json_string("BadPayload")},
               {"error_message", json_string(reason)},
               {"failed_at", json_time(now, time_unit_of(object, otherwise))}})
        .text();
  } catch (const BadJson&) {
    return std::string(text);
  }
}

}  // namespace brood
