#include "worker/session/delivery.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/random.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/replica_wait.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto first_pause = 50ms;
constexpr auto longest_pause = 2s;
constexpr auto not_worth_a_line = 1s;  // shorter outages: the supervisor logs at once that Redis is away
constexpr auto say_again = 60s;
constexpr auto longest_answer = 10s;  // of Redis to WAIT, in addition to the time that the replicas have

}  // namespace

class Delivery::Retries {
 public:
  explicit Retries(const Setup& setup) : setup_(setup) {}

  void wait(std::string_view why) {
    const SteadyTime now = steady_now();
    if (!waited_) {
      since_ = now;
      next_report_ = now + not_worth_a_line;
    }
    if (now >= next_report_) {
      log::warn("worker_waits_for_redis", {{"slot", setup_.slot}, {"reason", why}});
      next_report_ = now + say_again;
      reported_ = true;
    }
    waited_ = true;
    // All workers of a fleet lose Redis at the same moment, and must not come back at the same moment.
    setup_.pause(std::chrono::ceil<std::chrono::milliseconds>(jittered(pause_)));
    pause_ = std::min<std::chrono::milliseconds>(2 * pause_, longest_pause);
  }

  void end() {
    if (!reported_) return;
    const std::chrono::duration<double> took = steady_now() - since_;
    log::info("redis_answers_again", {{"slot", setup_.slot}, {"after", fmt::format("{:.1f}s", took.count())}});
  }

 private:
  const Setup& setup_;
  std::chrono::milliseconds pause_ = first_pause;
  bool waited_ = false, reported_ = false;
  SteadyTime since_{}, next_report_{};
};

Delivery::Delivery(Channel& redis, WorkerSlot& slot, Setup setup)
    : redis_(redis), slot_(slot), setup_(std::move(setup)) {}

Reply Delivery::send(const ScriptCall& call, Confirm confirm) { return send_again(call, false, confirm); }

Reply Delivery::send_in_size(const std::vector<Outcome>& outcomes,
                             const std::function<ScriptCall(const std::vector<Outcome>&)>& settling) {
  std::vector<Outcome> less;
  for (OutcomeSize size = OutcomeSize::whole;;) {
    try {
      return send_again(settling(size == OutcomeSize::whole ? outcomes : less), size != OutcomeSize::as_it_is,
                        outcomes.empty() ? Confirm::fetched : Confirm::always);
    } catch (const ConnectionLost& refused) {
      if (refused.why != Loss::too_large) throw;
      size = size == OutcomeSize::whole ? OutcomeSize::in_short : OutcomeSize::as_it_is;
      const std::string_view kept = size == OutcomeSize::in_short ? "without its stack" : "as it was fetched";
      log::error("outcome_too_large", {{"slot", setup_.slot}, {"reason", refused.what()}, {"stored", kept}});
      if (less.empty()) less = outcomes;
      std::vector<Outcome*> each;
      for (Outcome& outcome : less) each.push_back(&outcome);
      resize(each, size);
    }
  }
}

void Delivery::until_done(const std::function<void()>& attempt) {
  Retries retries(setup_);
  for (bool done = false; !done;) {
    try {
      attempt();
      done = true;
    } catch (const ConnectionLost& lost) {
      if (lost.why == Loss::no_memory) throw std::bad_alloc();
      retries.wait(lost.what());
    } catch (const UnexpectedReply& refusal) {
      retries.wait(refusal.what());
    }
  }
  retries.end();
}

Reply Delivery::send_again(const ScriptCall& call, bool may_be_less, Confirm confirm) {
  Retries retries(setup_);
  in_doubt_ = false;
  for (;;) {
    std::string why;
    try {
      Answer answer = send_and_confirm(call, confirm);
      const ErrorKind kind = classify_error(answer.reply.view().error());
      if (kind == ErrorKind::none && answer.holds) {
        retries.end();
        return std::move(answer.reply);
      }
      in_doubt_ |= kind == ErrorKind::none;
      why = kind == ErrorKind::none ? not_confirmed : answer.reply.view().error();
      // The server is not the master, or not any more: a new connection may find the master.  MOVED names it, and the
      // next call goes there.
      const bool was_told_where = why.starts_with("MOVED ");
      if ((kind == ErrorKind::none || kind == ErrorKind::not_applied_reconnect) && !was_told_where) redis_.disconnect();
    } catch (const ConnectionLost& lost) {
      if (lost.why == Loss::no_memory) throw std::bad_alloc();
      if (lost.why == Loss::too_large && may_be_less) throw;
      in_doubt_ |= lost.why != Loss::too_large;
      why = lost.what();
    }
    retries.wait(why);
  }
}

// A call that only moves jobs within Redis needs no confirmation by replicas: if it is lost with the master, the jobs
// are where they were, and a replica that has a later write has this one, too.  But a settled job has been performed,
// and a fetched one is about to be.
Delivery::Answer Delivery::send_and_confirm(const ScriptCall& call, Confirm confirm) {
  if (!asks_replicas() || confirm == Confirm::no) return {redis_.run(call)};
  if (confirm == Confirm::fetched) {
    Reply reply = redis_.run(call);
    const bool fetched = reply.view().error().empty() && !read_settled(reply.view()).payloads.empty();
    const std::uint64_t written_on = redis_.connections();
    return {std::move(reply), !fetched || is_confirmed(written_on)};
  }
  const Command wait = wait_for(setup_.wait);
  const Patience patience{.longest = longest_answer + setup_.wait.timeout};
  std::vector<Reply> replies = redis_.call_patiently({call.command(), mark_for_wait(), wait}, patience);
  const bool was_applied = replies[0].view().error().empty();
  return {std::move(replies[0]), !was_applied || holds_without(confirmed_by(replies[2].view()))};
}

bool Delivery::is_confirmed(std::uint64_t written_on) {
  const std::vector<Reply> replies = redis_.call_patiently({mark_for_wait(), wait_for(setup_.wait)},
                                                           {.longest = longest_answer + setup_.wait.timeout});
  return redis_.connections() == written_on && holds_without(confirmed_by(replies[1].view()));
}

bool Delivery::holds_without(std::int64_t replicas) {
  if (replicas >= setup_.wait.replicas) return true;
  slot_.record().unconfirmed.fetch_add(1);
  ++unconfirmed_;
  const SteadyTime now = steady_now();
  if (unconfirmed_reported_ == SteadyTime{} || now - unconfirmed_reported_ >= say_again) {
    unconfirmed_reported_ = now;
    log::warn("replicas_do_not_confirm", {{"slot", setup_.slot},
                                          {"confirmed", replicas},
                                          {"wanted", setup_.wait.replicas},
                                          {"within", fmt::format("{}ms", setup_.wait.timeout.count())},
                                          {"times", unconfirmed_}});
    unconfirmed_ = 0;
  }
  return !setup_.is_at_master || setup_.is_at_master();
}

}  // namespace brood
