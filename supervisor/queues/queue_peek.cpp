#include "supervisor/queues/queue_peek.hpp"

#include <utility>
#include <vector>

#include "shared/store/keys.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto longest_peek = 240s;  // a candidate is freed in vain when it ends
constexpr auto reply_slack = 5s;

}  // namespace

QueuePeek::QueuePeek(EventLoop& loop, const RedisAddress& address, Events events)
    : events_(std::move(events)),
      connection_(loop.raw(), "brood-doorbell",
                  AsyncConnection::Events{.connected = events_.connected, .disconnected = {}}) {
  connection_.open(address);
}

void QueuePeek::begin(const std::string& queue, Candidate candidate) {
  queue_ = queue;
  candidate_ = candidate;
  under_way_ = true;
  const std::string key = keys::queue(queue);
  // Tail to tail: what is there stays where it is, also when a worker waits on the same queue meanwhile.
  std::vector<Command> commands{{"BLMOVE", key, key, "RIGHT", "RIGHT", std::to_string(longest_peek.count())}};
  if (candidate.client != 0) commands.push_back({"CLIENT", "UNBLOCK", std::to_string(candidate.client)});
  connection_.send_all(commands, longest_peek + reply_slack,
                       [this](const std::vector<AsyncConnection::Result>& results) {
                         under_way_ = false;
                         const AsyncConnection::Result& peek = results.front();
                         Answer answer;
                         if (peek.ok() && !peek.reply.view().is_nil()) answer.job = peek.reply.view().text();
                         if (peek.error.empty() && !peek.ok()) answer.refusal = peek.why();
                         // Refused: whoever frees somebody else in its stead hears of it too.
                         if (results.size() > 1 && results[1].ok())
                           answer.freed = results[1].reply.view().integer() == 1;
                         events_.answered(*this, answer);
                       });
}

}  // namespace brood
