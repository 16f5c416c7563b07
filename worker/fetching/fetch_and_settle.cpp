#include "worker/fetching/fetch_and_settle.hpp"

#include <algorithm>
#include <new>

#include <fmt/ranges.h>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto report_interval = 60s;

// How long one BLMOVE waits, and how much longer its reply may take.
constexpr auto short_wait = 5s;
constexpr auto longest_wait = 60s;  // a connection that is dead is noticed in 30 s: see shared/redis/socket.cpp
constexpr auto reply_slack = 5s;

// Whether the wait, or the fetch behind it, brought a job.
bool brought_a_job(const std::vector<Reply>& replies) {
  if (read_arrived(replies.front().view())) return true;
  const ReplyView fetch = replies.back().view();
  return replies.size() > 1 && fetch.error().empty() && !read_settled(fetch).payloads.empty();
}

std::uint64_t died_of(const std::vector<Outcome>& outcomes, std::size_t settled) {
  return static_cast<std::uint64_t>(
      std::count_if(outcomes.begin(), outcomes.begin() + static_cast<std::ptrdiff_t>(settled),
                    [](const Outcome& one) { return one.kind == Outcome::Kind::move_to_dead; }));
}

std::string eviction_policy(std::string_view info) {
  constexpr std::string_view name = "maxmemory_policy:";
  const std::size_t at = info.find(name);
  if (at == info.npos) return "unknown";
  const std::string_view rest = info.substr(at + name.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

}  // namespace

FetchAndSettle::FetchAndSettle(Channel& redis, WorkerSlot& slot, Setup setup)
    : redis_(redis),
      slot_(slot),
      setup_(std::move(setup)),
      delivery_(
          redis, slot,
          {.slot = setup_.slot, .pause = setup_.pause, .wait = setup_.wait, .is_at_master = setup_.is_at_master}) {
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
  delivery_.send(brood::register_incarnation(setup_.identity, setup_.identity_record, field_));
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
  const Taken taken = read_taken(delivery_.send(asking(fence(), with_it)).view());
  if (taken == Taken::no_lock) report_no_lock(with_it.all().back().key);
  if (taken == Taken::yes) held_ = std::move(with_it);
  return taken;
}

Taken FetchAndSettle::take_for_job(std::string_view lock, std::string_view jid, std::chrono::milliseconds longest) {
  const ScriptCall call = take_unique_lock(fence(), lock, jid, longest);
  const Taken taken = read_taken(delivery_.send(call).view());
  if (taken == Taken::no_lock) report_no_lock(call.keys.back());
  return taken;
}

bool FetchAndSettle::let_go_before_begin(const std::vector<LetGo>& all) {
  return all.empty() || delivery_.send(let_go_at_begin(fence(), all)).view().integer() == 1;
}

void FetchAndSettle::let_go_of_taken() {
  std::vector<LetGo> all;
  append_held(all, held_, setup_.identity);
  if (all.empty()) return;
  delivery_.send(let_go_at_begin(fence(), all));
  held_ = {};
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
  const Reply reply = delivery_.send_in_size(outcomes, [&](const std::vector<Outcome>& sized) {
    settlement.outcomes = sized;
    settlement.let_go = ends_with(sized);
    return brood::settle_and_fetch(settlement, now);
  });
  Settled settled = read_settled(reply.view());
  if (!settled.fenced && !outcomes.empty()) {
    held_ = {};
    slot_.record().died.fetch_add(died_of(outcomes, outcomes.size()));
  }
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
  const bool may_hold_another_list = delivery_.in_doubt();
  std::size_t settled = 0;
  if (!batch_.queue.empty()) {
    LostSettlement settlement{setup_.identity, field_, batch_.queue, {}, setup_.dead_limits, held_};
    for (std::size_t i = 0; i < outcomes.size() && i < batch_.entries.size(); ++i)
      settlement.performed.push_back({batch_.entries[i].payload, outcomes[i]});
    const WallTime now = redis_now();
    const Reply reply = delivery_.send_in_size(outcomes, [&](const std::vector<Outcome>& sized) {
      for (std::size_t i = 0; i < settlement.performed.size(); ++i) settlement.performed[i].outcome = sized[i];
      // Without its field nobody is asked to set anything aside: it goes back, and is found again.
      for (LostSettlement::Performed& one : settlement.performed) {
        if (one.outcome.kind == Outcome::Kind::beside) one.outcome = {Outcome::Kind::requeue_head, "", 0};
      }
      return brood::settle_without_field(settlement, now);
    });
    settled = std::min(read_settled_without_field(reply.view()).settled, outcomes.size());
    slot_.record().died.fetch_add(died_of(outcomes, settled));
    held_ = {};
  }
  if (may_hold_another_list) give_back_other_lists();
  return settled;
}

void FetchAndSettle::give_back_other_lists() {
  delivery_.until_done([&] { give_back_lists_of(redis_, setup_.identity, field_); });
}

void FetchAndSettle::report_skipped(const std::vector<std::string>& queues) {
  if (queues.empty()) return;
  const SteadyTime now = steady_now();
  if (skipped_reported_ != SteadyTime{} && now - skipped_reported_ < report_interval) return;
  skipped_reported_ = now;
  log::warn("queues_are_no_lists", {{"slot", setup_.slot}, {"queues", fmt::format("{}", fmt::join(queues, " "))}});
}

// A job that waits for such a lock asks for it again and again.
void FetchAndSettle::report_no_lock(const RedisKey& key) {
  const SteadyTime now = steady_now();
  if (now - no_locks_since_ >= report_interval) {
    no_locks_.clear();
    no_locks_since_ = now;
  }
  if (!no_locks_.insert(key.name()).second) return;
  log::error("lock_is_no_string",
             {{"slot", setup_.slot}, {"key", key.name()}, {"hint", "its jobs wait until somebody deletes the key"}});
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
    commands.push_back(fetch_after_wait({setup_.identity, field_, number_, batch_.queue, draw, want}).command());
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
      if (delivery_.asks_replicas() && brought_a_job(replies) && !delivery_.is_confirmed(written_on)) {
        redis_.disconnect();
        throw ConnectionLost(std::string(Delivery::not_confirmed));
      }
      const std::optional<Waited> waited =
          hold_what_came(replies, !may_be_more_queues && draw.size() <= max_queues_asked_after_wait);
      if (waited) return *waited;
      if (woken) return Waited::nothing;
      if (setup_.waits_again && !setup_.waits_again()) return Waited::nothing;
    }
  } catch (const ConnectionLost& lost) {
    if (lost.why == Loss::no_memory) throw std::bad_alloc();
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
  const Reply returned = delivery_.send(give_back(setup_.identity, field_, batch_.queue, number_, 0, held_));
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
  delivery_.until_done([&] { recover(redis_, self, setup_.dead_limits, stays_as_it_is, stays_as_it_is); });
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
