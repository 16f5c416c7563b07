#include "shared/store/in_flight/crash_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "shared/base/plain_number.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/scoreboard/stack_record.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script note_crash;
}

namespace {

constexpr std::size_t max_noted_frames = 20, max_characters = 500;

std::string short_of(std::string_view text) { return utf8_prefix(text, max_characters); }

std::string written(const Crash& crash) {
  return JsonWriter()
      .json("at", score_text(crash.at))
      .text("class", short_of(crash.job_class))
      .text("error_class", short_of(crash.error_class))
      .text("error_message", short_of(crash.message))
      .text("jid", short_of(crash.jid))
      .text("queue", short_of(crash.queue))
      .text("identity", short_of(crash.identity))
      .object();
}

std::string written(const std::vector<std::string>& frames) {
  std::string array = "[";
  for (std::size_t i = 0; i < std::min(frames.size(), max_noted_frames); ++i)
    array += (i == 0 ? "" : ",") + json_string(short_of(frames[i]));
  return array + "]";
}

using Fields = std::map<std::string, std::string, std::less<>>;

Fields read_hash(Channel& redis, const FixedKey& key) {
  const Reply reply = redis.call({"HGETALL", key});
  Fields fields;
  for (std::size_t i = 0; i + 1 < reply.view().size(); i += 2)
    fields.emplace(reply.view()[i].text(), reply.view()[i + 1].text());
  return fields;
}

std::string_view find(const Fields& fields, std::string_view name) {
  const auto field = fields.find(name);
  return field == fields.end() ? std::string_view() : std::string_view(field->second);
}

std::vector<std::string> read_frames(std::string_view array) {
  std::vector<std::string> frames;
  try {
    for (const std::string& line : json_elements(array)) {
      if (line.starts_with('"')) frames.push_back(json_unescape(line));
    }
  } catch (const BadJson&) {
    frames.clear();
  }
  return frames;
}

std::optional<Crash> read_crash(std::string_view fingerprint, std::string_view object) {
  try {
    const JsonObject json = JsonObject::parse(std::string(object));
    Crash crash;
    crash.fingerprint = fingerprint;
    crash.at = json.number("at").value_or(0);
    crash.job_class = json.string("class").value_or("");
    crash.error_class = json.string("error_class").value_or("");
    crash.message = json.string("error_message").value_or("");
    crash.jid = json.string("jid").value_or("");
    crash.queue = json.string("queue").value_or("");
    crash.identity = json.string("identity").value_or("");
    return crash;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

std::int64_t day_of(double epoch) {
  return static_cast<std::int64_t>(std::floor(std::clamp(epoch, 0.0, 1e10) / 86'400));
}

// "20781:2 20783:14"
std::vector<std::int64_t> read_days(std::string_view text, std::int64_t today) {
  std::vector<std::int64_t> days(days_of_crashes, 0);
  while (!text.empty()) {
    const std::string one(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const std::size_t colon = one.find(':');
    if (colon == one.npos) continue;
    const std::int64_t ago = today - leading_number<std::int64_t>(one);
    if (ago < 0 || ago >= days_of_crashes) continue;
    days[static_cast<std::size_t>(days_of_crashes - 1 - ago)] =
        leading_number<std::int64_t>(std::string_view(one).substr(colon + 1));
  }
  return days;
}

}  // namespace

std::string top_frame(const Crash& crash) {
  const std::string line = top_line(crash.frames);
  return line.starts_with('#') ? line.substr(line.find(' ') + 1) : line;
}

void note_crash(Channel& redis, const Crash& crash) {
  const ScriptCall call{
      &scripts::note_crash,
      {keys::brood_crashes, keys::brood_crash_stacks, keys::brood_crash_counts, keys::brood_crash_times,
       keys::brood_crash_days},
      {crash.fingerprint, score_text(crash.at), written(crash), written(crash.frames), crash.has_names ? "1" : "0",
       std::to_string(max_noted_crashes), std::to_string(crashes_are_kept_s), std::to_string(day_of(crash.at)),
       std::to_string(days_of_crashes)}};
  redis.run(call).view().integer();
}

std::vector<Crash> read_crashes(Channel& redis) { return read_crashes(redis, redis_now()); }

std::vector<Crash> read_crashes(Channel& redis, WallTime today) {
  const Reply latest = redis.call({"ZREVRANGE", keys::brood_crash_times, "0", std::to_string(max_noted_crashes - 1)});
  if (latest.view().size() == 0) return {};
  const Fields noted = read_hash(redis, keys::brood_crashes), stacks = read_hash(redis, keys::brood_crash_stacks),
               counts = read_hash(redis, keys::brood_crash_counts), days = read_hash(redis, keys::brood_crash_days);
  std::vector<Crash> crashes;
  for (std::size_t i = 0; i < latest.view().size(); ++i) {
    const std::string fingerprint(latest.view()[i].text());
    auto crash = read_crash(fingerprint, find(noted, fingerprint));
    if (!crash) continue;
    crash->frames = read_frames(find(stacks, fingerprint));
    crash->count = leading_number<std::int64_t>(find(counts, fingerprint));
    crash->days = read_days(find(days, fingerprint), day_of(epoch_seconds(today)));
    crashes.push_back(std::move(*crash));
  }
  return crashes;
}

std::string latest_crash_mark(Channel& redis) {
  const Reply latest = redis.call({"ZREVRANGE", keys::brood_crash_times, "0", "0", "WITHSCORES"});
  std::string mark;
  for (std::size_t i = 0; i < latest.view().size(); ++i) mark += std::string(latest.view()[i].text()) + " ";
  return mark;
}

}  // namespace brood
