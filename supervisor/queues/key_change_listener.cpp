#include "supervisor/queues/key_change_listener.hpp"

#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"

namespace brood {

using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

constexpr std::string_view invalidations = "__redis__:invalidate";
constexpr auto between_reads = 10ms;  // of keys that change constantly

Command exists(const std::set<std::string>& keys) {
  Command command{"EXISTS"};
  for (const std::string& key : keys) command.add(RedisKey(key));
  return command;
}

}  // namespace

KeyChangeListener::KeyChangeListener(EventLoop& loop, AsyncConnection& redis, Keys keys,
                                     std::function<void(bool)> hears, std::chrono::nanoseconds between_attempts)
    : loop_(loop),
      redis_(redis),
      keys_(std::move(keys)),
      told_(std::move(hears)),
      between_attempts_(between_attempts),
      next_read_(loop, [this] { read(); }),
      listen_again_(loop, [this] { listen(); }) {}

KeyChangeListener::~KeyChangeListener() = default;

void KeyChangeListener::listen() {
  stop();
  if (!redis_.connected()) return;
  listener_ = std::make_unique<AsyncConnection>(loop_.raw(), "brood-key-watch",
                                                AsyncConnection::Events{.connected = [this] { subscribe(); },
                                                                        .disconnected =
                                                                            [this](const std::string&) {
                                                                              listener_id_.reset();
                                                                              end_hearing();
                                                                            }});
  reader_ = std::make_unique<AsyncConnection>(
      loop_.raw(), "brood-key-reader",
      AsyncConnection::Events{.connected = [this] { track(); },
                              .disconnected = [this](const std::string&) { end_hearing(); }});
  listener_->open(redis_.address());
  reader_->open(redis_.address());
}

void KeyChangeListener::stop() {
  listen_again_.stop();
  listener_.reset();
  reader_.reset();
  listener_id_.reset();
  reading_ = false;
  end_hearing();
}

// If a connection is lost meanwhile, it is reopened and this begins again.
void KeyChangeListener::subscribe() {
  // Asks for the connection's id first: once subscribed, it may not ask.
  listener_->send({"CLIENT", "ID"}, longest_answer_time, [this](const Result& id) {
    if (!id.error.empty()) return;
    if (!id.ok()) return give_up_for_a_while(id.why());
    listener_->subscribe(
        invalidations, longest_answer_time,
        [this, number = std::to_string(id.reply.view().integer())](const Result& subscribed) {
          if (!subscribed.error.empty()) return;
          if (!subscribed.ok()) return give_up_for_a_while(subscribed.why());
          listener_id_ = number;
          track();
        },
        [this](ReplyView changed) { note(changed); });
  });
}

void KeyChangeListener::track() {
  if (!listener_id_ || !reader_->connected() || hears_ || reading_) return;
  reading_ = true;
  last_read_ = steady_now();
  changed_.clear();
  reader_->send_all({{"CLIENT", "TRACKING", "ON", "REDIRECT", *listener_id_}, exists(all_keys())}, longest_answer_time,
                    [this, by = *listener_id_](const std::vector<Result>& results) {
                      reading_ = false;
                      for (const Result& result : results) {
                        if (!result.error.empty()) return;
                      }
                      // This listener may be gone meanwhile, and another in its place.
                      if (listener_id_ != by) return track();
                      for (const Result& result : results) {
                        if (!result.ok()) return give_up_for_a_while(result.why());
                      }
                      begin_to_hear();
                    });
}

// Redis sends an array of keys, or nil for all keys after a flush.  Ignores anything else: another client published it.
void KeyChangeListener::note(ReplyView changed) {
  std::vector<std::string> others;
  if (changed.is_nil()) changed_ = all_keys();
  if (changed.is_array()) {
    const Keyspace ours(redis_.address().key_prefix);
    for (std::size_t i = 0; i < changed.size(); ++i) {
      const auto name = ours.without_prefix(changed[i].text());
      if (!name) continue;
      if (const auto key = keys_.find(*name); key != keys_.end())
        changed_.insert(key->first);
      else
        others.emplace_back(*name);
    }
  }
  if (hears_ && others_ && (changed.is_nil() || !others.empty())) others_(others);
  read_when_allowed();
}

void KeyChangeListener::read_when_allowed() {
  if (!hears_ || reading_ || changed_.empty() || next_read_.running()) return;
  const auto rested = steady_now() - last_read_;
  if (rested >= between_reads) return read();
  next_read_.start_in(between_reads - rested);
}

// Reads the keys first and reports the changes afterwards, so a change in between is reported again.
void KeyChangeListener::read() {
  if (!hears_) return;
  reading_ = true;
  last_read_ = steady_now();
  const std::set<std::string> keys = std::exchange(changed_, {});
  reader_->send(exists(keys), longest_answer_time, [this, keys](const Result& result) {
    reading_ = false;
    if (!result.error.empty()) return;
    if (!hears_) return track();  // the listener was lost, and may be back
    if (!result.ok()) return give_up_for_a_while(result.why());
    tell(keys);
    read_when_allowed();
  });
}

void KeyChangeListener::tell(const std::set<std::string>& keys) {
  for (const std::string& key : keys) {
    if (hears_) keys_.at(key)();
  }
}

void KeyChangeListener::begin_to_hear() {
  hears_ = true;
  if (std::exchange(said_refused_, false))
    log::info("key_changes_heard");
  else
    log::debug("key_changes_heard");
  told_(true);
  tell(all_keys());
  read_when_allowed();
}

void KeyChangeListener::end_hearing() {
  next_read_.stop();
  if (std::exchange(hears_, false)) told_(false);
}

void KeyChangeListener::give_up_for_a_while(const std::string& why) {
  if (!std::exchange(said_refused_, true))
    log::info("key_changes_polled", {{"reason", why}, {"hint", "what others push or pause is seen a little later"}});
  stop();
  listen_again_.start_in(between_attempts_);
}

std::set<std::string> KeyChangeListener::all_keys() const {
  std::set<std::string> names;
  for (const auto& [name, changed] : keys_) names.insert(name);
  return names;
}

}  // namespace brood
