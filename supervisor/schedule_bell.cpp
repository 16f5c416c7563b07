#include "supervisor/schedule_bell.hpp"

#include <utility>

#include "shared/store/keys.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto longest_wait = 240s;
constexpr auto reply_slack = 5s;
constexpr auto listen_again_after = 60s;  // a Redis whose rules forbid it, or where the key is somebody else's

}  // namespace

ScheduleBell::ScheduleBell(EventLoop& loop, AsyncConnection& redis, std::function<void()> rung)
    : redis_(redis), rung_(std::move(rung)), loop_(loop), again_(loop, [this] { wait(); }) {}

ScheduleBell::~ScheduleBell() = default;

void ScheduleBell::listen() {
  stop();
  own_ = std::make_unique<AsyncConnection>(
      loop_.raw(), "brood-schedule-bell",
      AsyncConnection::Events{.connected = [this] { wait(); },
                              .disconnected = [this](const std::string&) { again_.stop(); }});
  own_->open(redis_.address());
}

void ScheduleBell::wait() {
  if (!own_ || !own_->connected()) return;
  own_->send({"BLPOP", keys::schedule_bell, std::to_string(longest_wait.count())}, longest_wait + reply_slack,
             [this](const AsyncConnection::Result& result) {
               if (!result.error.empty()) return;  // it connects anew by itself, and says so
               if (!result.ok()) return again_.start_in(listen_again_after);
               // Again first: whoever rings while we look is heard.
               wait();
               if (!result.reply.view().is_nil()) rung_();
             });
}

void ScheduleBell::stop() {
  again_.stop();
  own_.reset();
}

}  // namespace brood
