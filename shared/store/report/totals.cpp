#include "shared/store/report/totals.hpp"

#include <chrono>

#include "shared/store/keys.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/redis_time.hpp"

namespace brood {
namespace {

template <std::integral Number, typename Read>
Totals<Number> read_each(std::span<const Reply> replies, Read read) {
  if (replies.size() != totals_asked) throw UnexpectedReply("totals of another number");
  return {read(replies[0].view()), read(replies[1].view()), read(replies[2].view()), read(replies[3].view()),
          read(replies[4].view())};
}

}  // namespace

std::vector<Command> ask_totals() {
  return {{"GET", keys::stat_processed},
          {"GET", keys::stat_failed},
          {"ZCARD", keys::schedule},
          {"ZCARD", keys::retry},
          {"ZCARD", keys::dead}};
}

Totals<std::int64_t> read_totals(std::span<const Reply> replies) {
  return read_each<std::int64_t>(replies, [](ReplyView reply) { return reply.is_nil() ? 0 : reply.integer(); });
}

Totals<std::uint64_t> read_totals_leniently(std::span<const Reply> replies) {
  return read_each<std::uint64_t>(replies, lenient_number<std::uint64_t>);
}

Command reset_totals() { return {"MSET", keys::stat_failed, "0", keys::stat_processed, "0"}; }

std::vector<std::string> last_days(WallTime now, int count) {
  std::vector<std::string> days;
  for (int back = 0; back < count; ++back) days.push_back(Utc(now - std::chrono::days(back)).date('-'));
  return days;
}

Command ask_counts_of_days(const std::vector<std::string>& days) {
  Command command{"MGET"};
  for (const std::string& day : days) command.add(keys::processed_on(day)).add(keys::failed_on(day));
  return command;
}

std::vector<CountsOfDay> read_counts_of_days(const std::vector<std::string>& days, ReplyView reply) {
  std::vector<CountsOfDay> counts;
  for (std::size_t i = 0; i < days.size(); ++i) {
    CountsOfDay& of_day = counts.emplace_back(CountsOfDay{days[i]});
    if (2 * i + 1 >= reply.size()) continue;
    of_day.processed = lenient_number<std::uint64_t>(reply[2 * i]);
    of_day.failed = lenient_number<std::uint64_t>(reply[2 * i + 1]);
  }
  return counts;
}

}  // namespace brood
