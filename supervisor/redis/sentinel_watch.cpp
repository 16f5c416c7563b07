#include "supervisor/redis/sentinel_watch.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "shared/redis/find_server.hpp"
#include "shared/redis/pace.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view channel = "+switch-master";
constexpr std::size_t most_listeners = 3;  // one may be cut off from the others
constexpr auto ping_interval = 10s;

}  // namespace

struct SentinelWatch::Listener {
  Teller at;
  std::string master;
  bool hears = false, was_lost = false;
  std::unique_ptr<AsyncConnection> connection;
};

SentinelWatch::SentinelWatch(EventLoop& loop, std::function<void()> look)
    : loop_(loop), look_(std::move(look)), next_ping_(loop, [this] { look_whether_they_live(); }) {}

SentinelWatch::~SentinelWatch() = default;

void SentinelWatch::listen(const RedisAddress& address, const std::vector<Teller>& sentinels) {
  if (sentinels.empty()) return;
  std::erase_if(listeners_, [&](const std::unique_ptr<Listener>& listener) {
    return !listener->hears && std::find(sentinels.begin(), sentinels.end(), listener->at) == sentinels.end();
  });
  for (const Teller& at : sentinels) {
    if (listeners_.size() >= most_listeners) break;
    const bool is_known =
        std::any_of(listeners_.begin(), listeners_.end(), [&](const auto& listener) { return listener->at == at; });
    if (is_known) continue;
    Listener& listener = *listeners_.emplace_back(std::make_unique<Listener>());
    listener.at = at;
    listener.master = address.master;
    listener.connection = std::make_unique<AsyncConnection>(
        loop_.raw(), "brood-sentinel-watch",
        AsyncConnection::Events{
            .connected = [this, &listener] { subscribe(listener); },
            .disconnected =
                [&listener](const std::string&) { listener.was_lost |= std::exchange(listener.hears, false); }});
    listener.connection->open(sentinel_address(address, at));
  }
  if (!next_ping_.running()) next_ping_.start_in(ping_interval);
}

void SentinelWatch::stop() {
  listeners_.clear();
  next_ping_.stop();
}

bool SentinelWatch::hears() const {
  return std::any_of(listeners_.begin(), listeners_.end(), [](const auto& listener) { return listener->hears; });
}

void SentinelWatch::subscribe(Listener& listener) {
  listener.connection->subscribe(
      channel, short_answer_time,
      [this, &listener](const AsyncConnection::Result& subscribed) {
        if (!subscribed.ok()) return;
        listener.hears = true;
        if (std::exchange(listener.was_lost, false)) look_();  // we missed messages meanwhile
      },
      // The message holds the master's name, its old address and its new one.
      [this, &listener](ReplyView message) {
        if (message.is_string() && message.text().starts_with(listener.master + " ")) look_();
      });
}

// A connection over a cut line is as silent as an idle one.
void SentinelWatch::look_whether_they_live() {
  for (const auto& listener : listeners_) {
    if (listener->hears) listener->connection->send({"PING"}, short_answer_time, [](const AsyncConnection::Result&) {});
  }
  next_ping_.start_in(ping_interval);
}

}  // namespace brood
