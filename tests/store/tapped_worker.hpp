#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/session/session.hpp"

namespace brood::tapped {

using Strings = std::vector<std::string>;

inline const std::string identity = "host:1:0123456789ab";
inline const std::string hash = keys::in_flight_hash(identity).name();

// Passes commands on, and treats the next ones as the test specifies.
class Tapped : public Channel {
 public:
  using Treatment = std::function<Reply(Channel&, const Command&)>;
  explicit Tapped(Channel& redis) : redis_(redis) {}

  Reply call(const Command& command) override {
    sent.push_back(command.args);
    if (next.empty()) return redis_.call(command);
    const Treatment treatment = std::move(next.front());
    next.erase(next.begin());
    return treatment(redis_, command);
  }
  void disconnect() override {
    ++disconnects;
    redis_.disconnect();
  }

  std::vector<Treatment> next;
  std::vector<Strings> sent;
  int disconnects = 0;

 private:
  Channel& redis_;
};

inline Reply lose_reply(Channel& redis, const Command& command) {
  redis.call(command);
  throw ConnectionLost("the reply is lost");
}
inline Reply lose_command(Channel&, const Command&) { throw ConnectionLost("the command is lost"); }
inline Reply hand_on(Channel& redis, const Command& command) { return redis.call(command); }

// The reply of Redis with the error `text`.
inline Tapped::Treatment answer_error(const std::string& text) {
  return [text](Channel& redis, const Command&) {
    return redis.call({"EVAL", "return redis.error_reply(ARGV[1])", "0", text});
  };
}

struct Worker {
  RedisServer server;
  Connection redis{server.address()};
  Tapped channel{redis};
  Scoreboard scoreboard = Scoreboard::in_memory(3);
  WorkerSlot slot{scoreboard.slot(2)};
  std::vector<std::chrono::milliseconds> pauses;
  std::function<void()> while_pausing = [] {};
  std::uint64_t incarnations = 20;
  std::unique_ptr<Session> session;

  explicit Worker(std::uint64_t assigned = 17) {
    vacate(scoreboard.slot(2), assigned, 1);
    Session::Setup setup;
    setup.identity = identity;
    setup.identity_record = R"({"host":"host"})";
    setup.slot = 2;
    setup.pause = [this](std::chrono::milliseconds pause) {
      pauses.push_back(pause);
      while_pausing();
    };
    session = std::make_unique<Session>(channel, slot, std::move(setup));
  }
  void push(const std::string& queue, const Strings& payloads) {
    for (const std::string& payload : payloads) redis.call({"LPUSH", keys::queue(queue), payload});
  }
  Strings settle(const std::vector<Outcome>& outcomes, int want = 1, const Strings& draw = {"a", "b"}) {
    next(outcomes, {.draw = draw, .most = want});
    return session->batch().entries;
  }
  // Goes on as a worker does, with a new incarnation after each fence.
  void next(const std::vector<Outcome>& outcomes, const Session::Want& want) {
    if (session->next(outcomes, want) == Session::Next::held) return;
    do session->begin(++incarnations);
    while (session->next({}, want) == Session::Next::renewal);
  }
  Session::Waited wait(const Strings& draw = {}, int most = 1) {
    const Session::Wait how{.draw = draw, .most = most};
    Session::Waited waited;
    do waited = session->wait(how);
    while (waited == Session::Waited::passed);
    if (waited == Session::Waited::lost) session->give_up();
    return waited;
  }
  SlotSnapshot seen() { return snapshot(scoreboard.slot(2)); }
};

}  // namespace brood::tapped
