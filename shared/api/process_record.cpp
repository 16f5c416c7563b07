#include "shared/api/process_record.hpp"

#include <charconv>

#include "shared/api/entries.hpp"
#include "shared/api/readings.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/report/process_list.hpp"

namespace brood {
namespace {

// Visits each member of a JSON object with its text; nothing when it is not an object.
template <typename Visit>
void each_member(std::string_view json, Visit visit) {
  if (!json.starts_with('{')) return;
  const JsonOutline outline = JsonOutline::of(json);
  for (const JsonOutline::Part& part : outline.parts)
    visit(part.key, json.substr(part.value_begin, part.value_end - part.value_begin));
}

std::int64_t number_of(std::string_view json) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  return error == std::errc() && end == json.data() + json.size() ? number : 0;
}

std::vector<Process::Capsule> read_capsules(std::string_view json) {
  std::vector<Process::Capsule> capsules;
  each_member(json, [&](const std::string& name, std::string_view value) {
    if (!value.starts_with('{')) return;
    const JsonObject object = JsonObject::parse(value);
    Process::Capsule capsule{name, object.integer("concurrency").value_or(0), object.string("mode").value_or(""), {}};
    each_member(object.raw("weights").value_or(""),
                [&](const std::string& queue, std::string_view weight) { capsule.weights[queue] = number_of(weight); });
    capsules.push_back(std::move(capsule));
  });
  return capsules;
}

}  // namespace

std::optional<Process> read_process(std::string identity, ReplyView reply) {
  const auto hash = read_process_hash(reply);
  if (!hash) return std::nullopt;
  Process process;
  process.identity = std::move(identity);
  try {
    const JsonObject info = JsonObject::parse(hash->info);
    process.hostname = info.string("hostname").value_or("");
    process.tag = info.string("tag").value_or("");
    process.version = info.string("version").value_or("");
    process.pid = info.integer("pid").value_or(0);
    process.queues = string_elements(info.raw("queues"));
    process.labels = string_elements(info.raw("labels"));
    process.capsules = read_capsules(info.raw("capsules").value_or(""));
    process.concurrency = hash->concurrency.value_or(info.integer("concurrency").value_or(0));
    process.embedded = info.truthy("embedded");
    process.started_at = lenient_time(info.number("started_at").value_or(0));
  } catch (const BadJson&) {
    return std::nullopt;
  }
  process.busy = hash->busy;
  process.beat = lenient_time(hash->beat);
  process.quiet = hash->quiet;
  process.rss_kb = hash->rss_kb;
  process.rtt_us = hash->rtt_us;
  return process;
}

std::optional<Work> read_work(std::string identity, std::string tid, std::string_view json) {
  try {
    const JsonObject object = JsonObject::parse(json);
    const auto payload = object.raw("payload");
    if (!payload) return std::nullopt;
    Work work{std::move(identity), std::move(tid), object.string("queue").value_or(""), {}, {}};
    // A JSON string in releases 7 and 8, an object in 6.
    work.job = JobRecord::read(payload->starts_with('"') ? json_unescape(*payload) : std::string(*payload));
    work.run_at = lenient_time(object.number("run_at").value_or(0));
    return work;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

}  // namespace brood
