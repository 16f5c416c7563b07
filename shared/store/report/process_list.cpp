#include "shared/store/report/process_list.hpp"

#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"

namespace brood {

Command ask_processes() { return {"SMEMBERS", keys::processes}; }

Command ask_owners() { return {"HKEYS", keys::brood_processes}; }

Command ask_is_owner(std::string_view identity) { return {"HEXISTS", keys::brood_processes, identity}; }

bool read_is_owner(ReplyView reply) { return reply.is_integer() && reply.integer() != 0; }

Command ask_is_process(std::string_view identity) { return {"SISMEMBER", keys::processes, identity}; }

Command ask_leader() { return {"GET", keys::leader}; }

Command ask_process_count() { return {"SCARD", keys::processes}; }

std::int64_t read_process_count(ReplyView reply) { return reply.integer(); }

Command ask_process_hash(std::string_view identity) {
  return {"HMGET", keys::heartbeat(identity), "info", "concurrency", "busy", "beat", "quiet", "rss", "rtt_us"};
}

std::optional<ProcessHash> read_process_hash(ReplyView reply) {
  if (!reply.is_array() || reply.size() != 7 || !reply[0].is_string()) return std::nullopt;
  ProcessHash hash{.info = std::string(reply[0].text())};
  if (reply[1].is_string()) hash.concurrency = lenient_number<std::int64_t>(reply[1]);
  hash.busy = lenient_number<std::int64_t>(reply[2]);
  hash.beat = lenient_decimal(reply[3]);
  hash.quiet = lenient_text(reply[4]) == "true";
  hash.rss_kb = lenient_number<std::int64_t>(reply[5]);
  hash.rtt_us = lenient_number<std::int64_t>(reply[6]);
  return hash;
}

Command ask_busy(std::string_view identity) { return {"HGET", keys::heartbeat(identity), "busy"}; }

Command may_prune() { return {"SET", keys::process_cleanup, "1", "NX", "EX", "60"}; }

bool read_may_prune(ReplyView reply) { return !reply.is_nil() && !reply.is_error(); }

Command unlist(const std::vector<std::string>& identities) {
  Command remove{"SREM", keys::processes};
  for (const std::string& identity : identities) remove.add(identity);
  return remove;
}

namespace {

constexpr std::string_view seconds_to_be_followed = "60";

}  // namespace

std::vector<Command> leave_signal(std::string_view identity, std::string_view signal) {
  const RedisKey key = keys::signals(identity);
  return {{"LPUSH", key, signal}, {"EXPIRE", key, seconds_to_be_followed}};
}

bool read_was_left(ReplyView first_reply) { return first_reply.is_integer(); }

}  // namespace brood
