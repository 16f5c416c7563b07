#include "supervisor/queues/queue_peek.hpp"

#include <utility>
#include <vector>

#include "shared/store/queues/queue_jobs.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto longest_peek = 240s;  // a candidate is freed in vain when the peek times out
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
  std::vector<Command> commands{peek(queue, longest_peek)};
  if (candidate.client != 0) commands.push_back({"CLIENT", "UNBLOCK", std::to_string(candidate.client)});
  connection_.send_all(commands, longest_peek + reply_slack,
                       [this](const std::vector<AsyncConnection::Result>& results) {
                         under_way_ = false;
                         const AsyncConnection::Result& peeked = results.front();
                         Answer answer;
                         if (peeked.ok()) answer.job = read_peek(peeked.reply.view());
                         if (peeked.error.empty() && !peeked.ok()) answer.refusal = peeked.why();
                         // If Redis refused, `freed` stays false; the caller then frees a worker itself and gets the
                         // refusal too.
                         if (results.size() > 1 && results[1].ok())
                           answer.freed = results[1].reply.view().integer() == 1;
                         events_.answered(*this, answer);
                       });
}

}  // namespace brood
