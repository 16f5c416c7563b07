#include "shared/api/readings.hpp"

#include <cmath>
#include <set>

#include "shared/api/api_state.hpp"

namespace brood {

std::string lenient_text(ReplyView reply) { return reply.is_string() ? std::string(reply.text()) : ""; }

Time lenient_time(double epoch_seconds) {
  if (!(std::abs(epoch_seconds) < 9.2e9)) return {};
  const double whole = std::floor(epoch_seconds);
  return to_time(WallTime(std::chrono::seconds(static_cast<std::int64_t>(whole)) +
                          std::chrono::nanoseconds(std::llround((epoch_seconds - whole) * 1e9))));
}

Time lenient_time(ReplyView reply) {
  const std::string text = lenient_text(reply);
  double seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return lenient_time(seconds);
}

std::vector<std::string> members_of(ClientConnection& redis, std::string_view key) {
  std::set<std::string> members;  // one may come twice
  std::string position = "0";
  do {
    const Reply reply = redis.call({"SSCAN", key, position, "COUNT", "1000"});
    position = reply.view()[0].text();
    const ReplyView page = reply.view()[1];
    for (std::size_t i = 0; i < page.size(); ++i) members.emplace(page[i].text());
  } while (position != "0");
  return {members.begin(), members.end()};
}

}  // namespace brood
