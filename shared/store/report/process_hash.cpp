#include "shared/store/report/process_hash.hpp"

#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"

namespace brood {

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

}  // namespace brood
