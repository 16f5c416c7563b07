#include "supervisor/redis_link.hpp"

#include <system_error>

#include "shared/log.hpp"
#include "supervisor/redis_requirements.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto resolve_again_after = 5s;
constexpr auto look_again_after = 1s;
constexpr auto info_deadline = 10s;

}  // namespace

RedisLink::RedisLink(EventLoop& loop, RedisAddress address, std::optional<EmbeddedRedis> server, Events events)
    : address_(std::move(address)),
      server_(std::move(server)),
      events_(std::move(events)),
      resolver_(loop),
      connection_(loop.raw(), "brood-supervisor",
                  {.connected = [this] { connected_now(); },
                   .disconnected = [this](const std::string& why) { disconnected(why); }}) {}

std::string RedisLink::describe() const { return server_ ? "embedded" : address_.without_password(); }

void RedisLink::open() {
  start_server();
  connect();
}

void RedisLink::start_server() {
  if (!server_) return;
  try {
    server_->start();
  } catch (const std::system_error& error) {
    log::error("embedded_redis_not_started", {{"reason", error.what()}});
  }
}

void RedisLink::connect() {
  next_resolve_.reset();
  if (!address_.needs_resolving()) {
    connection_.open(address_);
    return;
  }
  const auto again = [this] { next_resolve_ = steady_now() + resolve_again_after; };
  try {
    resolver_.resolve(address_.host, [this, again](std::vector<std::string> addresses) {
      // Meanwhile the old address may have answered again, and commands be under way.
      if (connected()) return;
      if (addresses.empty()) {
        log::warn("redis_host_unknown", {{"host", address_.host}});
        again();
        return;
      }
      RedisAddress numeric = address_;
      numeric.numeric_hosts = std::move(addresses);
      connection_.open(std::move(numeric));
    });
  } catch (const std::system_error& error) {
    log::warn("resolver_not_started", {{"reason", error.what()}});
    again();
  }
}

void RedisLink::connected_now() {
  if (away_since_) {
    const std::chrono::duration<double> away = steady_now() - *away_since_;
    if (was_usable_ || !server_) log::info("redis_is_back", {{"after", fmt::format("{:.1f}s", away.count())}});
    away_since_.reset();
  }
  next_resolve_.reset();
  connection_.send(Command{"INFO"}, info_deadline, [this](AsyncConnection::Result info) { judge(info); });
}

void RedisLink::judge(const AsyncConnection::Result& info) {
  if (!info.error.empty()) return;  // lost again; the next connection asks anew
  const RedisFitness fitness = info.ok() ? judge_redis(info.reply.view().text()) : RedisFitness{};
  if (!fitness.refusal.empty()) {
    log::error("redis_unfit", {{"reason", fitness.refusal}, {"redis", address_.without_password()}});
    if (!was_usable_) events_.unusable(fitness.refusal);
    return;
  }
  if (!fitness.warning.empty()) log::warn("redis_setting", {{"reason", fitness.warning}});
  was_usable_ = true;
  events_.usable();
}

void RedisLink::disconnected(const std::string& why) {
  if (!away_since_) away_since_ = steady_now();
  // The embedded server needs a moment before it listens for the first time, and ends when it is told to.
  const bool expected = server_ && (!was_usable_ || stopping_);
  const auto level = expected ? log::Level::debug : log::Level::warn;
  if (log::enabled(level)) log::write(level, "redis_away", {{"redis", address_.without_password()}, {"reason", why}});
  // A name may point elsewhere by now.
  if (address_.needs_resolving()) next_resolve_ = steady_now() + resolve_again_after;
}

bool RedisLink::reaped(pid_t pid, const ExitStatus& status, SteadyTime now) {
  if (resolver_.is_child(pid)) {
    resolver_.reaped();
    return true;
  }
  if (!server_ || !server_->is_child(pid)) return false;
  server_->reaped(status, now);
  return true;
}

void RedisLink::catch_up(SteadyTime now) {
  if (next_resolve_ && *next_resolve_ <= now) connect();
  if (!server_ || stopping_) return;
  if (server_->next_start() && *server_->next_start() <= now) start_server();
  // One that another supervisor started is not ours to reap: that it is gone shows only by looking.
  if (!connected() && now >= next_look_) {
    server_->look(now);
    next_look_ = now + look_again_after;
  }
}

std::optional<SteadyTime> RedisLink::next_deadline() const {
  std::optional<SteadyTime> next = next_resolve_;
  if (!server_ || stopping_) return next;
  for (const std::optional<SteadyTime> at :
       {server_->next_start(), connected() ? std::nullopt : std::optional(next_look_)}) {
    if (at && (!next || *at < *next)) next = at;
  }
  return next;
}

bool RedisLink::stop_server() {
  stopping_ = true;
  return server_ && server_->stop();
}

void RedisLink::kill_server() {
  if (server_) server_->kill_now();
}

}  // namespace brood
