#include "shared/store/report/heartbeat_hash.hpp"

#include <fmt/format.h>

#include "shared/store/keys.hpp"

namespace brood {

namespace {

constexpr std::string_view beat_seconds_to_live = "60";
constexpr std::string_view most_signals = "8";
constexpr std::string_view seconds_of_a_days_counters = "157680000";  // 5 x 365 days, as Sidekiq keeps them

}  // namespace

ScriptCall send_beat(std::string_view identity, std::string_view record, std::string_view known_tokens,
                     const Beat& beat) {
  const std::string name(identity);
  return {&scripts::heartbeat,
          {keys::heartbeat(identity), keys::signals(identity), keys::processes, keys::in_flight_hash(identity),
           keys::brood_processes},
          {name,
           std::string(beat_seconds_to_live),
           std::string(most_signals),
           std::string(record),
           std::string(known_tokens),
           "info",
           beat.info,
           "busy",
           std::to_string(beat.busy),
           "beat",
           fmt::format("{:.6f}", epoch_seconds(beat.at)),
           "quiet",
           beat.quiet ? "true" : "false",
           "rss",
           std::to_string(beat.rss_kb),
           "rtt_us",
           std::to_string(beat.rtt_us),
           "concurrency",
           std::to_string(beat.concurrency),
           std::string(keys::beat_token_field),
           beat.token,
           std::string(keys::supervisor_state_field),
           beat.state}};
}

BeatAnswer read_beat(ReplyView reply) {
  BeatAnswer answer;
  answer.name_is_taken = reply[0].integer() < 0;
  if (answer.name_is_taken) return answer;
  answer.was_known = reply[0].integer() != 0;
  answer.was_unlisted = reply[1].integer() != 0;
  answer.refused = reply[2].text();
  for (std::size_t i = 3; i < reply.size(); ++i) answer.signals.emplace_back(reply[i].text());
  return answer;
}

Command ask_whether_beats(std::string_view identity) { return {"EXISTS", keys::heartbeat(identity)}; }

std::optional<bool> read_whether_beats(ReplyView reply) {
  if (!reply.is_integer()) return std::nullopt;
  return reply.integer() != 0;
}

Command ask_how_many_beat(std::span<const std::string> identities) {
  Command command{"EXISTS"};
  for (const std::string& identity : identities) command.add(keys::heartbeat(identity));
  return command;
}

std::optional<std::size_t> read_how_many_beat(ReplyView reply) {
  if (!reply.is_integer()) return std::nullopt;
  return static_cast<std::size_t>(reply.integer());
}

Command ask_beat_token(std::string_view identity) {
  return {"HGET", keys::heartbeat(identity), keys::beat_token_field};
}

std::string read_beat_token(ReplyView reply) { return reply.is_string() ? std::string(reply.text()) : ""; }

Command ask_info(std::string_view identity) { return {"HGET", keys::heartbeat(identity), "info"}; }

std::optional<std::string> read_info(ReplyView reply) {
  if (!reply.is_string()) return std::nullopt;
  return std::string(reply.text());
}

bool heartbeat_has_ended(ReplyView info) { return info.is_nil(); }

Command ask_info_and_quiet(std::string_view identity) { return {"HMGET", keys::heartbeat(identity), "info", "quiet"}; }

std::optional<ToldInfo> read_info_and_quiet(ReplyView reply) {
  if (reply.is_error() || !reply[0].is_string()) return std::nullopt;
  return ToldInfo{std::string(reply[0].text()), reply[1].is_string() && reply[1].text() == "true"};
}

Command take_signals(std::string_view identity) { return {"RPOP", keys::signals(identity), most_signals}; }

std::vector<std::string> read_signals(ReplyView reply) {
  std::vector<std::string> signals;
  if (reply.is_nil()) return signals;
  for (std::size_t i = 0; i < reply.size(); ++i) signals.emplace_back(reply[i].text());
  return signals;
}

ScriptCall count_jobs(std::uint64_t processed, std::uint64_t failed, std::string_view day) {
  return {&scripts::count,
          {keys::stat_processed, keys::processed_on(day), keys::stat_failed, keys::failed_on(day)},
          {std::to_string(processed), std::to_string(failed), std::string(seconds_of_a_days_counters)}};
}

std::vector<Command> leave(std::string_view identity) {
  return {{"SREM", keys::processes, identity}, {"UNLINK", keys::work(identity), keys::workers_of_6(identity)}};
}

std::vector<Command> remove_process(std::string_view identity) {
  return {{"SREM", keys::processes, identity},
          {"UNLINK", keys::heartbeat(identity), keys::work(identity), keys::workers_of_6(identity)}};
}

}  // namespace brood
