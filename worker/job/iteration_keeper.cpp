#include "worker/job/iteration_keeper.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "shared/base/log.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// How long a job may be held up.  A job cannot begin before its state is loaded, so each try of a load waits twice as
// long as the one before: a slow network or a large cursor needs more time.
constexpr auto shortest_patience_connect = 500ms;
constexpr auto shortest_patience = 1000ms;
constexpr std::chrono::milliseconds longest_patience = 16s;
constexpr auto rest_after_silence = 5s;  // as long as Sidekiq lets pass between two saves
constexpr auto first_pause = 50ms;
constexpr auto longest_pause = 2000ms;
constexpr std::size_t none_refused = std::numeric_limits<std::size_t>::max();

bool is_passing(ErrorKind kind) {
  return kind == ErrorKind::not_applied_retry || kind == ErrorKind::not_applied_reconnect;
}

Patience short_patience() { return {.longest = shortest_patience, .longest_connect = shortest_patience_connect}; }

Patience twice(const Patience& patience) {
  return {.longest = std::min(2 * patience.longest, longest_patience),
          .longest_connect = std::min(2 * patience.longest_connect, longest_patience)};
}

void say_unsaved(const std::string& jid, std::string_view why) {
  log::warn("iteration_not_saved", {{"jid", jid}, {"reason", why}});
}

}  // namespace

IterationKeeper::IterationKeeper(Channel& redis) : redis_(redis), refused_bytes_(none_refused) {}

Reply IterationKeeper::ask(const Command& command, const Patience& patience) {
  return std::move(redis_.call_patiently({command}, patience).front());
}

std::optional<IterationState> IterationKeeper::load(const std::string& jid,
                                                    const std::function<bool(std::chrono::milliseconds)>& pause) {
  refused_bytes_ = none_refused;
  Patience patience = short_patience();
  for (auto length = std::chrono::milliseconds(first_pause);; length = std::min(2 * length, longest_pause)) {
    std::string why;
    try {
      const Reply reply = ask(load_iteration(jid), patience);
      const ErrorKind kind = classify_error(reply.view().error());
      if (!is_passing(kind)) return read_iteration(reply.view());
      why = reply.view().error();
      if (kind == ErrorKind::not_applied_reconnect) redis_.disconnect();
    } catch (const ConnectionLost& lost) {
      why = lost.what();
    }
    if (length == first_pause) log::warn("iteration_waits_for_redis", {{"jid", jid}, {"reason", why}});
    if (!pause(length)) return std::nullopt;
    patience = twice(patience);
  }
}

bool IterationKeeper::save(const std::string& jid, const IterationState& state) {
  if (state.cursor.size() >= refused_bytes_) return is_cancelled(jid);
  const Sent sent = write_or_keep({jid, save_iteration(jid, state).command(), true});
  if (sent != Sent::too_large) return sent == Sent::cancelled;
  refused_bytes_ = state.cursor.size();
  return is_cancelled(jid);
}

// Asks Redis whether the job was cancelled, which a save would have returned.
bool IterationKeeper::is_cancelled(const std::string& jid) {
  if (steady_now() < ask_again_) return false;
  try {
    const Reply reply = ask(is_iteration_cancelled(jid), short_patience());
    return reply.view().is_integer() && reply.view().integer() != 0;
  } catch (const ConnectionLost&) {
    ask_again_ = steady_now() + rest_after_silence;
    return false;
  }
}

void IterationKeeper::drop(const std::string& jid) { write_or_keep({jid, drop_iteration(jid)}); }

// If the reply is lost, the write may have been applied, now or later.  To apply it twice does no harm.
IterationKeeper::Sent IterationKeeper::send(Write& write, const Patience& patience) {
  std::string why;
  try {
    const Reply reply = ask(write.command, patience);
    const ErrorKind kind = classify_error(reply.view().error());
    if (kind == ErrorKind::none)
      return reply.view().is_string() && read_saved_is_cancelled(reply.view()) ? Sent::cancelled : Sent::applied;
    why = reply.view().error();
    if (kind == ErrorKind::not_applied_reconnect) redis_.disconnect();
    if (!is_passing(kind)) {
      say_unsaved(write.jid, why);
      return Sent::refused;
    }
  } catch (const ConnectionLost& lost) {
    if (lost.why == Loss::closed_on_large) return send(write, patience);  // if closed again, Redis refuses its size
    if (lost.why == Loss::too_large) {
      log::error("iteration_too_large",
                 {{"jid", write.jid}, {"reason", lost.what()}, {"kept", "what was saved before"}});
      return Sent::too_large;
    }
    why = lost.what();
  }
  if (ask_again_ == SteadyTime{}) say_unsaved(write.jid, why);
  ask_again_ = steady_now() + rest_after_silence;
  return Sent::not_now;
}

IterationKeeper::Sent IterationKeeper::write_or_keep(Write write) {
  std::erase_if(unsaved_, [&](const Write& earlier) { return earlier.jid == write.jid; });
  Sent sent = Sent::not_now;
  if (steady_now() >= ask_again_) sent = send(write, short_patience());
  if (sent == Sent::not_now)
    unsaved_.push_back(std::move(write));
  else
    ask_again_ = {};
  return sent;
}

bool IterationKeeper::has_unsaved_cursor() const {
  return std::any_of(unsaved_.begin(), unsaved_.end(), [](const Write& write) { return write.saves_cursor; });
}

void IterationKeeper::deliver(const std::function<void(std::chrono::milliseconds)>& pause) {
  auto length = std::chrono::milliseconds(first_pause);
  Patience patience = short_patience();
  while (!unsaved_.empty()) {
    if (send(unsaved_.front(), patience) != Sent::not_now) {
      unsaved_.erase(unsaved_.begin());
      continue;
    }
    pause(length);
    patience = twice(patience);
    length = std::min(2 * length, longest_pause);
  }
  ask_again_ = {};
}

}  // namespace brood
