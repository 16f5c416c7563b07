#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/redis/connection.hpp"
#include "tests/store/interleavings/actor.hpp"

namespace brood::interleavings {

// A command on its way to Redis, or its reply on the way back.
struct Sent {
  Command command;
  Reply reply;
  bool answered = false;
  bool lost = false;  // the sender has given up; the command may still arrive
};

// Whether the user may not run the command, or a command of the script, in the words of Redis 6.2, 7 and 8.
inline bool is_refusal(std::string_view error) {
  return error.find("can't run this command") != error.npos || error.find("no permissions to run") != error.npos;
}

// The commands that one connection has sent and Redis has not read yet.
using Wire = std::deque<std::shared_ptr<Sent>>;

// The network between the actors and a real Redis.  Commands of one connection keep their order.  Connections overtake
// each other at random, abandoned ones too.
class Network {
 public:
  explicit Network(Channel& redis) : redis_(redis) {}

  std::shared_ptr<Wire> connect() {
    wires_.push_back(std::make_shared<Wire>());
    return wires_.back();
  }

  long refused() const { return refused_; }  // commands that were refused for lack of a right

  // Sends a command without waiting for it.
  void post(Command command) {
    connect()->push_back(std::make_shared<Sent>(Sent{std::move(command), {}, false, false}));
  }

  // Lets Redis read one command of one connection.  Returns false if nothing is under way.
  bool deliver_one(std::mt19937_64& random) {
    std::erase_if(wires_, [](const auto& wire) { return wire->empty() && wire.use_count() == 1; });
    std::vector<Wire*> busy;
    for (const auto& wire : wires_) {
      if (!wire->empty()) busy.push_back(wire.get());
    }
    if (busy.empty()) return false;
    Wire& wire = *busy[random() % busy.size()];
    const std::shared_ptr<Sent> sent = wire.front();
    Reply reply = serve(sent->command);
    // The command waits on, unless its time is up or it is unblocked.  Its client may have died long ago.
    if (waits(sent->command) && reply.view().is_nil() && random() % 4 != 0) return true;
    wire.pop_front();
    refused_ += is_refusal(reply.view().error());
    sent->reply = std::move(reply);
    sent->answered = true;
    return true;
  }

 private:
  static bool waits(const Command& command) { return command.args[0] == "BLMOVE"; }

  // This test is the only client of its Redis.  So what would wait there is tried again and again instead.
  Reply serve(const Command& command) {
    if (!waits(command)) return redis_.call(command);
    return redis_.call({"LMOVE", command.args[1], command.args[2], command.args[3], command.args[4]});
  }

  Channel& redis_;
  std::vector<std::shared_ptr<Wire>> wires_;
  long refused_ = 0;
};

// An actor's connection, which the test may break at any moment.
class UnreliableChannel : public Channel {
 public:
  // `rewrite`, if any, changes the command; it gets whether the sender's last command was lost.
  using Rewrite = std::function<void(Command&, bool last_was_lost)>;
  UnreliableChannel(Network& network, Rewrite rewrite)
      : network_(network), rewrite_(std::move(rewrite)), wire_(network.connect()) {}

  void belong_to(Actor& actor) { actor_ = &actor; }

  Reply call(const Command& command) override { return std::move(call_all({command}).front()); }

  // A wait that ends without a job was ended to wake the worker.
  std::vector<Reply> call_patiently(const std::vector<Command>& commands, const Patience& patience) override {
    std::vector<Reply> replies = call_all(commands);
    if (std::any_of(replies.begin(), replies.end(), [](const Reply& reply) { return reply.view().is_nil(); }))
      patience.woken();
    return replies;
  }

  void disconnect() override { wire_ = network_.connect(); }

  bool waits_for_redis() const { return waiting_ && !waiting_->answered && !waiting_->lost; }
  bool in_a_call() const { return waiting_ && !waiting_->lost; }

  // Breaks the connection during the call.  If `before_delivery`, what Redis has not read yet never arrives.
  void lose(bool before_delivery) {
    if (before_delivery) wire_->clear();
    if (waiting_) waiting_->lost = true;
  }

 private:
  // All of them are on their way at once.  Redis reads them one by one, and after a loss it is unknown how many it has
  // read.
  std::vector<Reply> call_all(const std::vector<Command>& commands) {
    std::vector<std::shared_ptr<Sent>> all;
    for (const Command& command : commands) {
      all.push_back(std::make_shared<Sent>(Sent{command, {}, false, false}));
      if (rewrite_) rewrite_(all.back()->command, std::exchange(last_was_lost_, false));
      wire_->push_back(all.back());
    }
    const std::shared_ptr<Sent> last = waiting_ = all.back();
    while (!last->answered && !last->lost) actor_->yield();
    actor_->yield();  // the reply has arrived, but can still be lost
    waiting_.reset();
    if (!last->lost) {
      std::vector<Reply> replies;
      for (const auto& sent : all) replies.push_back(std::move(sent->reply));
      return replies;
    }
    last_was_lost_ = true;
    disconnect();
    throw ConnectionLost("the test broke the connection");
  }

  Network& network_;
  Rewrite rewrite_;
  std::shared_ptr<Wire> wire_;
  std::shared_ptr<Sent> waiting_;
  Actor* actor_ = nullptr;
  bool last_was_lost_ = false;
};

}  // namespace brood::interleavings
