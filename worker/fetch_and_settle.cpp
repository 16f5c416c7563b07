#include "worker/fetch_and_settle.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/outcome_size.hpp"
#include "shared/store/queues/queue_sizes.hpp"
#include "shared/store/replica_wait.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto first_pause = 50ms;
constexpr auto longest_pause = 2s;
constexpr auto not_worth_a_line = 1s;  // the supervisor says at once that Redis is away
constexpr auto report_interval = 60s;

// How long one BLMOVE waits, and how much longer its reply may take.
constexpr auto short_wait = 5s;
constexpr auto longest_wait = 60s;  // a connection that is dead is noticed in 30 s: see shared/redis/socket.cpp
constexpr auto reply_slack = 5s;
constexpr auto longest_look = 10s;

constexpr auto longest_answer = 10s;  // by Redis to what replicas confirm, beside the time that these have
constexpr std::string_view not_confirmed = "no replica confirms it, and nobody else says that this is the master";

constexpr std::size_t few_queues = 2 * max_queues_asked;

// Whether the wait, or the fetch behind it, brought a job.
bool brought_a_job(const std::vector<Reply>& replies) {
  if (read_arrived(replies.front().view())) return true;
  const ReplyView fetch = replies.back().view();
  return replies.size() > 1 && fetch.error().empty() && !read_settled(fetch).payloads.empty();
}

std::string eviction_policy(std::string_view info) {
  constexpr std::string_view name = "maxmemory_policy:";
  const std::size_t at = info.find(name);
  if (at == info.npos) return "unknown";
  const std::string_view rest = info.substr(at + name.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

}  // namespace

class FetchAndSettle::Retries {
 public:
  explicit Retries(const FetchAndSettle& owner) : owner_(owner) {}

  void wait(std::string_view why) {
    const SteadyTime now = steady_now();
    if (!waited_) {
      since_ = now;
      next_report_ = now + not_worth_a_line;
    }
    if (now >= next_report_) {
      log::warn("worker_waits_for_redis", {{"slot", owner_.setup_.slot}, {"reason", why}});
      next_report_ = now + report_interval;
      reported_ = true;
    }
    waited_ = true;
    owner_.setup_.pause(pause_);
    pause_ = std::min<std::chrono::milliseconds>(2 * pause_, longest_pause);
  }

  void end() {
    if (!reported_) return;
    const std::chrono::duration<double> took = steady_now() - since_;
    log::info("redis_answers_again", {{"slot", owner_.setup_.slot}, {"after", fmt::format("{:.1f}s", took.count())}});
  }

 private:
  const FetchAndSettle& owner_;
  std::chrono::milliseconds pause_ = first_pause;
  bool waited_ = false, reported_ = false;
  SteadyTime since_{}, next_report_{};
};

FetchAndSettle::FetchAndSettle(Channel& redis, WorkerSlot& slot, Setup setup)
    : redis_(redis), slot_(slot), setup_(std::move(setup)) {
  const std::uint64_t assigned = slot_.record().incarnation.load();
  take_incarnation(assigned != 0 ? assigned : setup_.new_incarnation());
}

void FetchAndSettle::take_incarnation(std::uint64_t incarnation) {
  incarnation_ = incarnation;
  field_ = worker_field(setup_.slot, incarnation);
  number_ = 0;
  registered_ = spent_ = false;
  batch_ = {};
  held_ = {};
  slot_.adopt_incarnation(incarnation);
}

void FetchAndSettle::register_incarnation() {
  deliver(brood::register_incarnation(setup_.identity, setup_.identity_record, field_));
  registered_ = true;
}

const FetchAndSettle::Batch& FetchAndSettle::settle_and_fetch(const std::vector<Outcome>& outcomes,
                                                              const std::vector<std::string>& draw, int want,
                                                              const std::string& wait_queue) {
  const std::vector<Outcome> none;
  const std::vector<Outcome>* unsettled = &outcomes;
  std::size_t asked = 0;  // of the draw
  do {
    if (spent_) {
      take_incarnation(setup_.new_incarnation());
      if (setup_.draw_is_out_of_date && setup_.draw_is_out_of_date()) return batch_;
    }
    if (!registered_) register_incarnation();
    const std::size_t until = std::min(draw.size(), asked + max_queues_asked);
    const bool asks_the_last = until == draw.size();
    Settled settled =
        settle(*unsettled, {draw.begin() + asked, draw.begin() + until}, want, asks_the_last ? wait_queue : "");
    if (settled.fenced) {
      leave_fenced(*unsettled);
      spent_ = true;
      bear_being_fenced();
      asked = 0;
    } else {
      hold(std::move(settled));
      asked = until;
    }
    unsettled = &none;
  } while (spent_ || (batch_.entries.empty() && want > 0 && asked < draw.size()));
  return batch_;
}

Taken FetchAndSettle::take(IncarnationHoldings::Held wanted, AskToTake asking) {
  IncarnationHoldings with_it = held_;
  with_it.add(std::move(wanted));
  const Taken taken = read_taken(deliver(asking(fence(), with_it)).view());
  if (taken == Taken::yes) held_ = std::move(with_it);
  return taken;
}

Taken FetchAndSettle::take_for_job(std::string_view lock, std::string_view jid, std::chrono::milliseconds longest) {
  return read_taken(deliver(take_unique_lock(fence(), lock, jid, longest)).view());
}

bool FetchAndSettle::let_go_before_begin(const std::vector<LetGo>& all) {
  return all.empty() || deliver(let_go_at_begin(fence(), all)).view().integer() == 1;
}

void FetchAndSettle::let_go_of_taken() {
  std::vector<LetGo> all;
  append_held(all, held_, setup_.identity);
  if (all.empty()) return;
  deliver(let_go_at_begin(fence(), all));
  held_ = {};
}

std::vector<std::string> FetchAndSettle::which_hold_jobs(std::vector<std::string> queues) {
  if (queues.size() <= few_queues) return queues;
  const std::vector<std::vector<std::string>> asked = slices_to_size(queues);
  std::vector<Command> commands;
  for (const std::vector<std::string>& slice : asked) {
    const ScriptCall call = queue_sizes(slice);
    commands.push_back(sizes_are_known_ ? call.evalsha() : call.eval());
  }
  try {
    const std::vector<Reply> replies = redis_.call_patiently(commands, {.longest = longest_look});
    std::vector<std::string> filled;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      sizes_are_known_ = replies[i].view().error().empty();
      if (!sizes_are_known_) return queues;
      for (const QueueSizes::Filled& one : read_queue_sizes(asked[i], replies[i].view()).filled)
        filled.push_back(one.queue);
    }
    return filled;
  } catch (const ConnectionLost&) {  // the settle that follows finds it away too
    return {};
  }
}

Settled FetchAndSettle::settle(const std::vector<Outcome>& outcomes, const std::vector<std::string>& draw, int want,
                               const std::string& wait_queue) {
  Settlement settlement;
  settlement.identity = setup_.identity;
  settlement.field = field_;
  settlement.number = number_;
  settlement.held_queue = batch_.queue;
  settlement.draw = draw;
  settlement.want = std::clamp(want, 0, max_batch_entries);
  settlement.wait_queue = wait_queue;
  settlement.dead_limits = setup_.dead_limits;
  settlement.caps = setup_.caps ? &setup_.caps() : nullptr;
  // Built once: whichever copy of it Redis applies, it is this one, so an answer to any of them is the answer.
  const WallTime now = redis_now();
  const Reply reply = deliver_in_size(outcomes, [&](const std::vector<Outcome>& sized) {
    settlement.outcomes = sized;
    settlement.let_go = ends_with(sized);
    return brood::settle_and_fetch(settlement, now);
  });
  Settled settled = read_settled(reply.view());
  if (!settled.fenced && !outcomes.empty()) held_ = {};
  return settled;
}

// What the jobs hold that have ended, and whatever this incarnation holds.
std::vector<LetGo> FetchAndSettle::ends_with(const std::vector<Outcome>& outcomes) const {
  std::vector<LetGo> let_go;
  if (outcomes.empty()) return let_go;
  for (std::size_t i = 0; i < outcomes.size() && i < batch_.entries.size(); ++i) {
    if (const auto end = end_of_job(outcomes[i].kind)) append_held(let_go, batch_.entries[i].payload, 0, *end);
  }
  append_held(let_go, held_, setup_.identity);
  return let_go;
}

// Redis has applied nothing of what it refuses for its size, and would refuse it for ever.  So less is sent, under the
// same number.
Reply FetchAndSettle::deliver_in_size(const std::vector<Outcome>& outcomes,
                                      const std::function<ScriptCall(const std::vector<Outcome>&)>& settling) {
  std::vector<Outcome> less;
  for (OutcomeSize size = OutcomeSize::whole;;) {
    try {
      return deliver(settling(size == OutcomeSize::whole ? outcomes : less), size != OutcomeSize::as_it_is,
                     outcomes.empty() ? Confirm::fetched : Confirm::always);
    } catch (const TooLargeForRedis& refused) {
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

// Sends one call until it is answered by something other than a refusal.  A refusal has applied nothing; a lost
// connection leaves open whether it was applied, now or later, and the number makes the repetition harmless.
Reply FetchAndSettle::deliver(const ScriptCall& call, bool may_be_less, Confirm confirm) {
  Retries retries(*this);
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
      // The other end is no master (any more): a new connection may find the one that is.  MOVED has said where that
      // is, and the next call goes there.
      const bool was_told_where = why.starts_with("MOVED ");
      if ((kind == ErrorKind::none || kind == ErrorKind::not_applied_reconnect) && !was_told_where) redis_.disconnect();
    } catch (const TooLargeForRedis& refused) {
      if (may_be_less) throw;
      why = refused.what();
    } catch (const ConnectionLost& lost) {
      in_doubt_ = true;
      why = lost.what();
    }
    retries.wait(why);
  }
}

// A call that only moves jobs within Redis needs no replica's word: if it is lost with the master, the jobs are where
// they were, and a replica that has a later write has this one too.  But a settled job has been performed, and a
// fetched one is about to be.
FetchAndSettle::Answer FetchAndSettle::send_and_confirm(const ScriptCall& call, Confirm confirm) {
  if (setup_.wait.replicas == 0 || confirm == Confirm::no) return {send(redis_, call)};
  if (confirm == Confirm::fetched) {
    Reply reply = send(redis_, call);
    const bool fetched = reply.view().error().empty() && !read_settled(reply.view()).payloads.empty();
    const std::uint64_t written_on = redis_.connections();
    return {std::move(reply), !fetched || wait_for_replicas(written_on)};
  }
  const Command wait = wait_for(setup_.wait);
  const Patience patience{.longest = longest_answer + setup_.wait.timeout};
  std::vector<Reply> replies = redis_.call_patiently({call.evalsha(), wait}, patience);
  if (classify_error(replies[0].view().error()) == ErrorKind::no_script)
    replies = redis_.call_patiently({call.eval(), wait}, patience);
  const bool was_applied = replies[0].view().error().empty();
  return {std::move(replies[0]), !was_applied || holds_without(confirmed_by(replies[1].view()))};
}

// Waits for all that was written on the connection `written_on`.  On another connection the replicas of another server
// might be asked, which know nothing of it.
bool FetchAndSettle::wait_for_replicas(std::uint64_t written_on) {
  // WAIT covers what was written up to this client's last command.  A command that waited for a job may have ended, for
  // Redis, before the job was moved; so PING comes after it.
  const std::vector<Reply> replies =
      redis_.call_patiently({{"PING"}, wait_for(setup_.wait)}, {.longest = longest_answer + setup_.wait.timeout});
  return redis_.connections() == written_on && holds_without(confirmed_by(replies[1].view()));
}

bool FetchAndSettle::holds_without(std::int64_t replicas) {
  if (replicas >= setup_.wait.replicas) return true;
  slot_.record().unconfirmed.fetch_add(1);
  ++unconfirmed_;
  const SteadyTime now = steady_now();
  if (unconfirmed_reported_ == SteadyTime{} || now - unconfirmed_reported_ >= report_interval) {
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

// The order of these writes matters, since a worker may be killed between any two.  With the old number and no entries
// the recovery finds the settle applied and gives everything back.  With the new number and the old entries it would
// take the old batch's successes for the new batch's and acknowledge jobs that never ran.
void FetchAndSettle::hold(Settled settled) {
  if (const std::optional<FencedBackoff::Over> over = fences_.settled(steady_now())) {
    const std::chrono::duration<double> took = over->took;
    log::info("redis_keeps_what_workers_write",
              {{"slot", setup_.slot}, {"fenced", over->fences}, {"after", fmt::format("{:.1f}s", took.count())}});
  }
  batch_.queue = settled.queue;
  batch_.entries.clear();
  // More than a batch only if somebody else put it there; what is left over comes with the next settle.
  for (std::string& payload : settled.payloads) {
    if (batch_.entries.size() < static_cast<std::size_t>(max_batch_entries))
      batch_.entries.push_back({std::move(payload)});
  }
  number_ = settled.number;

  slot_.clear_entries();
  slot_.set_number(number_);
  slot_.set_queue(batch_.queue);
  slot_.set_fetched(static_cast<int>(batch_.entries.size()));
  report_skipped(settled.skipped);
}

// Either somebody has recovered this incarnation, and its jobs are elsewhere and will run again; or its field alone is
// lost, and its list holds what it held.
void FetchAndSettle::leave_fenced(const std::vector<Outcome>& outcomes) {
  const std::size_t settled = settle_without_field(outcomes), dropped = outcomes.size() - settled;
  slot_.record().fenced_outcomes.fetch_add(dropped);
  fenced_ = fences_.fenced(steady_now());
  if (fenced_.one_of_many && outcomes.empty()) return;  // said once, and counted
  log::warn("worker_fenced", {{"slot", setup_.slot},
                              {"incarnation", incarnation_},
                              {"outcomes_settled", settled},
                              {"outcomes_dropped", dropped}});
}

void FetchAndSettle::bear_being_fenced() {
  if (fenced_.first_of_many) {
    std::string policy = "unknown";
    try {
      const Reply memory = redis_.call({"INFO", "memory"});
      policy = memory.view().error().empty() ? eviction_policy(memory.view().text()) : policy;
    } catch (const ConnectionLost&) {  // the next settle finds it away too
    }
    log::warn("redis_loses_what_workers_write",
              {{"slot", setup_.slot},
               {"key", name_of_incarnations(setup_.identity)},
               {"maxmemory_policy", policy},
               {"hint", "it must be noeviction, and nobody may delete the keys of brood; the worker pauses"}});
  }
  if (fenced_.pause.count() > 0) setup_.pause(fenced_.pause);
}

// Returns how many of the outcomes were settled.  Nothing is left in any list of this incarnation unless a field names
// it.
std::size_t FetchAndSettle::settle_without_field(const std::vector<Outcome>& outcomes) {
  const bool may_hold_another_list = in_doubt_;
  std::size_t settled = 0;
  if (!batch_.queue.empty()) {
    LostSettlement settlement{setup_.identity, field_, batch_.queue, {}, setup_.dead_limits, held_};
    for (std::size_t i = 0; i < outcomes.size() && i < batch_.entries.size(); ++i)
      settlement.performed.push_back({batch_.entries[i].payload, outcomes[i]});
    const WallTime now = redis_now();
    const Reply reply = deliver_in_size(outcomes, [&](const std::vector<Outcome>& sized) {
      for (std::size_t i = 0; i < settlement.performed.size(); ++i) settlement.performed[i].outcome = sized[i];
      // Without its field nobody is asked to set anything aside: it goes back, and is found again.
      for (LostSettlement::Performed& one : settlement.performed) {
        if (one.outcome.kind == Outcome::Kind::set_aside) one.outcome = {Outcome::Kind::requeue_head, "", 0};
      }
      return brood::settle_without_field(settlement, now);
    });
    settled = read_settled_without_field(reply.view()).settled;
    held_ = {};
  }
  if (may_hold_another_list) give_back_other_lists();
  return settled;
}

void FetchAndSettle::give_back_other_lists() {
  Retries retries(*this);
  for (bool done = false; !done;) {
    try {
      give_back_lists_of(redis_, setup_.identity, field_);
      done = true;
    } catch (const ConnectionLost& lost) {
      retries.wait(lost.what());
    } catch (const UnexpectedReply& refusal) {
      retries.wait(refusal.what());
    }
  }
  retries.end();
}

void FetchAndSettle::report_skipped(const std::vector<std::string>& queues) {
  if (queues.empty()) return;
  const SteadyTime now = steady_now();
  if (skipped_reported_ != SteadyTime{} && now - skipped_reported_ < report_interval) return;
  skipped_reported_ = now;
  log::warn("queues_are_no_lists", {{"slot", setup_.slot}, {"queues", fmt::format("{}", fmt::join(queues, " "))}});
}

// The number stays as it is, and with it the order of writes: the list was empty under this number, so its first entry
// is this one.
void FetchAndSettle::hold_arrived(std::string payload) {
  batch_.entries.assign(1, {std::move(payload)});
  slot_.set_fetched(1);
}

FetchAndSettle::Waited FetchAndSettle::wait_for_job(const std::vector<std::string>& draw, int want,
                                                    bool may_be_more_queues) {
  const auto longest = setup_.looks_again_soon && setup_.looks_again_soon() ? short_wait : longest_wait;
  std::vector<Command> commands{wait_on_queue(setup_.identity, field_, batch_.queue, longest)};
  if (!draw.empty()) {
    const ScriptCall fetch = fetch_after_wait({setup_.identity, field_, number_, batch_.queue, draw, want});
    commands.push_back(fetch_is_known_ ? fetch.evalsha() : fetch.eval());
  }
  bool woken = false;
  const Patience patience{.longest = longest + reply_slack,
                          .wake_fd = setup_.wake_fd,
                          .woken = [&]() -> std::optional<std::chrono::milliseconds> {
                            woken = true;
                            return setup_.woken ? setup_.woken() : std::nullopt;
                          }};
  try {
    const std::uint64_t client = client_id();
    if (client == 0) return Waited::refused;
    for (;;) {
      slot_.set_waiting_client(client);
      // Whoever wants this worker says so first and then looks whether it waits; the worker says first that it waits.
      // So one of the two sees the other.
      if (setup_.woken && setup_.woken()) {
        slot_.set_waiting_client(0);
        return Waited::nothing;
      }
      const std::vector<Reply> replies = redis_.call_patiently(commands, patience);
      const std::uint64_t written_on = redis_.connections();
      slot_.set_waiting_client(0);
      if (setup_.wait.replicas > 0 && brought_a_job(replies) && !wait_for_replicas(written_on)) {
        redis_.disconnect();
        throw ConnectionLost(std::string(not_confirmed));
      }
      const std::optional<Waited> waited =
          hold_what_came(replies, !may_be_more_queues && draw.size() <= max_queues_asked_after_wait);
      if (waited) return *waited;
      if (woken) return Waited::nothing;
      if (setup_.waits_again && !setup_.waits_again()) return Waited::nothing;
    }
  } catch (const ConnectionLost&) {
    slot_.set_waiting_client(0);
    if (setup_.is_to_leave && setup_.is_to_leave()) throw ShardIsAway{};
    leave_incarnation();
    registered_ = false;
    spent_ = true;
    return Waited::nothing;
  }
}

// Redis has run the fetch even if it refused the wait.  nullopt: no queue has a job; this is known only if
// `all_were_asked`.
std::optional<FetchAndSettle::Waited> FetchAndSettle::hold_what_came(const std::vector<Reply>& replies,
                                                                     bool all_were_asked) {
  const ReplyView wait = replies.front().view();
  if (replies.size() > 1) {
    const ReplyView fetch = replies.back().view();
    const ErrorKind refusal = classify_error(fetch.error());
    fetch_is_known_ = refusal != ErrorKind::no_script;
    all_were_asked &= refusal == ErrorKind::none;
    if (refusal == ErrorKind::none) {
      Settled fetched = read_settled(fetch);
      // What the wait brought is no longer ours either.  The next settle hears of it, and registers anew.
      if (fetched.fenced) return Waited::nothing;
      if (!fetched.nothing) {
        hold(std::move(fetched));
        return Waited::job;
      }
    }
  }
  if (auto job = read_arrived(wait)) {
    hold_arrived(std::move(*job));
    return Waited::job;
  }
  if (!wait.error().empty()) return Waited::refused;
  return all_were_asked ? std::nullopt : std::optional(Waited::nothing);
}

void FetchAndSettle::give_back_unbegun() {
  if (batch_.entries.empty() || slot_.entry(0) != EntryState::fetched) return;
  const Reply returned = deliver(give_back(setup_.identity, field_, batch_.queue, number_, 0, held_));
  if (returned.view().integer() == 0) settle_without_field({});
  held_ = {};
  batch_.entries.clear();
  slot_.clear_entries();
}

// 0: Redis does not tell, so nobody could unblock us.
std::uint64_t FetchAndSettle::client_id() {
  if (client_id_ == 0 || client_id_of_ != redis_.connections()) {
    const Reply reply = redis_.call({"CLIENT", "ID"});
    client_id_ = reply.view().is_integer() ? static_cast<std::uint64_t>(reply.view().integer()) : 0;
    client_id_of_ = redis_.connections();
  }
  return client_id_;
}

// Nothing that is left has been begun: all of it goes back to the head of its queue.  Unlike a settle this is answered
// "gone" when it was applied before, so it may simply be called again.
void FetchAndSettle::leave_incarnation() {
  const DeadWorker self{.identity = setup_.identity,
                        .slot = setup_.slot,
                        .incarnation = incarnation_,
                        .record = DeadWorker::Record{.number = number_, .entries = {}, .queue = batch_.queue},
                        .ended_by_brood = true};
  const auto stays_as_it_is = [](const std::string& payload, const std::string&) {
    return Outcome{.kind = Outcome::Kind::requeue_head, .payload = payload, .score = 0};
  };
  Retries retries(*this);
  for (bool left = false; !left;) {
    try {
      recover(redis_, self, setup_.dead_limits, stays_as_it_is, stays_as_it_is);
      left = true;
    } catch (const ConnectionLost& lost) {
      retries.wait(lost.what());
    } catch (const UnexpectedReply& refusal) {
      retries.wait(refusal.what());
    }
  }
  retries.end();
}

void FetchAndSettle::leave_in_order(const std::vector<Outcome>& outcomes) {
  if (registered_ && !outcomes.empty()) {
    Settled settled = settle(outcomes, {}, 0, "");
    registered_ = !settled.fenced;
    if (settled.fenced)
      leave_fenced(outcomes);
    else
      hold(std::move(settled));
  }
  if (registered_) leave_incarnation();
  registered_ = false;
  batch_ = {};
  slot_.clear_entries();
}

void FetchAndSettle::retire(const std::vector<Outcome>& outcomes) {
  leave_in_order(outcomes);
  slot_.record().retired.store(1);
}

// The new incarnation comes only after the old shard has answered that nothing of the old one is left.
void FetchAndSettle::move() {
  leave_in_order({});
  spent_ = true;
  take_incarnation(setup_.new_incarnation());
}

// The slot keeps the number of the old incarnation until the supervisor, which reads it, has assigned a new
// incarnation.
void FetchAndSettle::leave_behind() {
  redis_.disconnect();
  batch_.entries.clear();
  slot_.clear_entries();
  spent_ = true;
  take_incarnation(setup_.incarnation_elsewhere());
}

}  // namespace brood
