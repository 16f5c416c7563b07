#include "shared/store/periodic/gem_schedules.hpp"

#include <fmt/format.h>

#include <charconv>

#include "shared/json/json.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/scan.hpp"

namespace brood {

namespace scripts {
extern const Script claim_gem_tick;
}

namespace {

using namespace std::chrono;

constexpr std::string_view ids_kept = "10";  // as the gem does
constexpr auto ticks_kept = days(1);         // as the gem does
constexpr int most_pages_looked_at = 200;    // of a thousand keys each

struct Parts {
  year_month_day date;
  hh_mm_ss<seconds> time;
};

Parts parts_of(sys_seconds moment) {
  const auto day = floor<days>(moment);
  return {year_month_day(day), hh_mm_ss<seconds>(moment - day)};
}

std::string written(sys_seconds moment, char between, std::string_view end) {
  const Parts parts = parts_of(moment);
  return fmt::format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}{}", static_cast<int>(parts.date.year()),
                     static_cast<unsigned>(parts.date.month()), static_cast<unsigned>(parts.date.day()), between,
                     parts.time.hours().count(), parts.time.minutes().count(), parts.time.seconds().count(), end);
}

std::string score_of(sys_seconds moment) { return std::to_string(moment.time_since_epoch().count()) + ".0"; }

std::optional<int> number_at(std::string_view text, std::size_t at, std::size_t length) {
  int number = 0;
  const std::string_view part = text.substr(at, length);
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  if (error != std::errc() || end != part.data() + part.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::set<std::string> usual_gem_sets() {
  return {std::string(RedisKey(keys::gem_schedules_of_1).name()), std::string(keys::gem_schedules("default").name())};
}

Command find_gem_sets(std::string_view position) {
  return {"SCAN", position, "MATCH", keys::gem_schedules("*"), "COUNT", "1000", "TYPE", "set"};
}

GemSets read_gem_sets(ReplyView reply, const Keyspace& keyspace) {
  const ScanPage page = read_scan(reply);
  GemSets sets{page.next, {}};
  for (std::size_t i = 0; i < page.found.size(); ++i) {
    if (const auto name = keyspace.without_prefix(page.found[i].text())) sets.found.emplace_back(*name);
  }
  return sets;
}

std::set<std::string> gem_sets_of(Channel& redis) {
  std::set<std::string> sets = usual_gem_sets();
  std::string position(scan_begins);
  for (int page = 0; page < most_pages_looked_at; ++page) {
    GemSets found = read_gem_sets(redis.call(find_gem_sets(position)).view(), redis.keyspace());
    sets.insert(found.found.begin(), found.found.end());
    position = std::move(found.next);
    if (position == scan_begins) break;
  }
  return sets;
}

std::vector<Command> ask_gem_schedules(const std::set<std::string>& sets) {
  std::vector<Command> commands;
  for (const std::string& set : sets) commands.push_back({"SMEMBERS", keys::gem_schedule_set(set)});
  return commands;
}

std::vector<std::string> read_gem_schedules(ReplyView reply) {
  return read_name_list_if_told(reply).value_or(std::vector<std::string>());
}

Command ask_gem_schedule(std::string_view name) { return {"HGETALL", keys::gem_schedule(name)}; }

std::map<std::string, std::string> read_gem_schedule(ReplyView reply) {
  std::map<std::string, std::string> fields;
  if (!reply.is_array()) return fields;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) fields[lenient_text(reply[i])] = lenient_text(reply[i + 1]);
  return fields;
}

ScriptCall claim_gem_tick(const GemTick& tick) {
  const std::string pushed = gem_time(tick.now);
  return {&scripts::claim_gem_tick,
          {keys::gem_schedule(tick.schedule), keys::gem_ticks(tick.schedule), keys::gem_ids(tick.schedule),
           keys::queue(tick.queue), keys::queues},
          {score_of(tick.tick), written(tick.tick, 'T', "Z"), tick.payload, tick.last_push, pushed,
           JsonWriter().text("jid", tick.jid).text("enqueued", pushed).object(), std::string(ids_kept),
           score_of(tick.now - ticks_kept)}};
}

bool read_gem_claim(ReplyView reply) { return reply.integer() == 1; }

std::string gem_time(sys_seconds moment) { return written(moment, ' ', " +0000"); }

std::string gem_date(WallTime now) {
  return json_float(static_cast<double>(floor<microseconds>(now).time_since_epoch().count()) / 1e6);
}

std::optional<sys_seconds> parse_gem_time(std::string_view text) {
  if (text.size() != 25 || text[10] != ' ' || (text[20] != '+' && text[20] != '-')) return std::nullopt;
  const auto y = number_at(text, 0, 4), mo = number_at(text, 5, 2), d = number_at(text, 8, 2);
  const auto h = number_at(text, 11, 2), mi = number_at(text, 14, 2), s = number_at(text, 17, 2);
  const auto zone_h = number_at(text, 21, 2), zone_m = number_at(text, 23, 2);
  if (!y || !mo || !d || !h || !mi || !s || !zone_h || !zone_m) return std::nullopt;
  const year_month_day date = year(*y) / month(static_cast<unsigned>(*mo)) / day(static_cast<unsigned>(*d));
  if (!date.ok()) return std::nullopt;
  const auto ahead = hours(*zone_h) + minutes(*zone_m);
  return sys_days(date) + hours(*h) + minutes(*mi) + seconds(*s) - (text[20] == '-' ? -ahead : ahead);
}

}  // namespace brood
