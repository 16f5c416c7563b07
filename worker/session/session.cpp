#include "worker/session/session.hpp"

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

// A job that a wait has brought enters its sequence within a millisecond, unless its worker is dead or cannot send the
// script.  In that case other workers stop waiting for such jobs, for a while.
constexpr int most_soon_in_a_row = 20;
constexpr auto longest_soon = 1s;
constexpr auto others_are_late = 60s;

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

Leaving how_to_leave(const WorkerSlot& slot, bool has_outcomes) {
  if (!has_outcomes) return Leaving::goes_on;
  for (int entry = 0; entry < max_batch_entries; ++entry) {
    const EntryState state = slot.entry(entry);
    if (state == EntryState::running || state == EntryState::failed || state == EntryState::being_killed)
      return Leaving::not_yet;
  }
  return Leaving::ends;
}

Session::Session(Channel& redis, WorkerSlot& slot, Setup setup)
    : redis_(redis),
      slot_(slot),
      setup_(std::move(setup)),
      delivery_(
          redis, slot,
          {.slot = setup_.slot, .pause = setup_.pause, .wait = setup_.wait, .is_at_master = setup_.is_at_master}) {
  if (const std::uint64_t assigned = slot_.record().incarnation.load()) begin(assigned);
}

void Session::begin(std::uint64_t incarnation) {
  incarnation_ = incarnation;
  field_ = worker_field(setup_.slot, incarnation);
  number_ = 0;
  registered_ = false;
  batch_ = {};
  held_ = {};
  slot_.adopt_incarnation(incarnation);
}

void Session::register_incarnation() {
  delivery_.send(brood::register_incarnation(setup_.identity, setup_.identity_record, field_));
  registered_ = true;
}

Session::Next Session::next(const std::vector<Outcome>& outcomes, const Want& want) {
  if (incarnation_ == 0) return Next::renewal;
  if (!registered_) register_incarnation();
  const std::vector<Outcome> none;
  const std::vector<Outcome>* unsettled = &outcomes;
  std::size_t asked = 0;  // of the draw
  do {
    const std::size_t until = std::min(want.draw.size(), asked + max_queues_asked);
    Settled settled = settle(*unsettled, {.draw = {want.draw.begin() + asked, want.draw.begin() + until},
                                          .most = want.most,
                                          .wait_queue = until == want.draw.size() ? want.wait_queue : "",
                                          .caps = want.caps,
                                          .tenants = want.tenants});
    if (settled.fenced) {
      back_off(leave_fenced(*unsettled));
      return Next::renewal;
    }
    hold(std::move(settled));
    asked = until;
    unsettled = &none;
  } while (batch_.entries.empty() && !has_more_ && want.most > 0 && asked < want.draw.size());
  return Next::held;
}

Taken Session::take(IncarnationHoldings::Held wanted, AskToTake asking) {
  IncarnationHoldings with_it = held_;
  with_it.add(std::move(wanted));
  const Taken taken = read_taken(delivery_.send(asking(fence(), with_it)).view());
  if (taken == Taken::no_lock) report_no_lock(with_it.all().back().key);
  if (taken == Taken::yes) held_ = std::move(with_it);
  return taken;
}

Taken Session::take_for_job(std::string_view lock, std::string_view jid, std::chrono::milliseconds longest,
                            std::string_view sequence) {
  const ScriptCall call = take_unique_lock(fence(), lock, jid, longest, sequence);
  const Taken taken = read_taken(delivery_.send(call).view());
  if (taken == Taken::no_lock) report_no_lock(call.keys.at(1));
  return taken;
}

Taken Session::enter_sequence(std::string_view name, std::string_view jid) {
  const ScriptCall call = brood::enter_sequence(fence(), name, jid);
  const Taken taken = read_taken(delivery_.send(call).view());
  if (taken == Taken::no_lock) report_no_lock(call.keys.back());
  return taken;
}

bool Session::let_go_before_begin(const std::vector<LetGo>& all) {
  return all.empty() || delivery_.send(let_go_at_begin(fence(), all)).view().integer() == 1;
}

void Session::let_go_of_taken() {
  std::vector<LetGo> all;
  append_held(all, held_, setup_.identity);
  if (all.empty()) return;
  delivery_.send(let_go_at_begin(fence(), all));
  held_ = {};
}

Settled Session::settle(const std::vector<Outcome>& outcomes, const Want& want) {
  Settlement settlement;
  settlement.identity = setup_.identity;
  settlement.field = field_;
  settlement.number = number_;
  settlement.held_queue = batch_.queue;
  settlement.draw = want.draw;
  settlement.want = std::clamp(want.most, 0, max_batch_entries);
  settlement.wait_queue = want.wait_queue;
  settlement.dead_limits = setup_.dead_limits;
  settlement.caps = want.caps;
  settlement.tenants = want.tenants;
  // The call is built once and sent again as it is: so the answer to any copy is the answer to all of them.
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

// Returns the locks and other things that end with the settled jobs, those of the jobs and those of this incarnation.
std::vector<LetGo> Session::ends_with(const std::vector<Outcome>& outcomes) const {
  std::vector<LetGo> let_go;
  if (outcomes.empty()) return let_go;
  for (std::size_t i = 0; i < outcomes.size() && i < batch_.entries.size(); ++i) {
    if (const auto end = end_of_job(outcomes[i].kind))
      append_held(let_go, batch_.entries[i], 0, *end, setup_.dead_limits.timeout_seconds, &outcomes[i]);
    if (outcomes[i].lets_lock_go_first) append_turn_for_lock(let_go, batch_.entries[i]);
  }
  append_held(let_go, held_, setup_.identity);
  return let_go;
}

// The order of these writes matters, since a worker may be killed between any two.  With the old number and no entries
// the recovery finds the settle applied and gives everything back.  With the new number and the old entries it would
// take the old batch's successes for the new batch's and acknowledge jobs that never ran.
void Session::hold(Settled settled) {
  if (const std::optional<FencedBackoff::Over> over = fences_.settled(steady_now())) {
    const std::chrono::duration<double> took = over->took;
    log::info("redis_keeps_what_workers_write",
              {{"slot", setup_.slot}, {"fenced", over->fences}, {"after", fmt::format("{:.1f}s", took.count())}});
  }
  batch_.queue = settled.queue;
  batch_.entries.clear();
  // More than a batch only if another program put it there.  The rest comes with the next settle.
  for (std::string& payload : settled.payloads) {
    if (batch_.entries.size() < static_cast<std::size_t>(max_batch_entries))
      batch_.entries.push_back(std::move(payload));
  }
  number_ = settled.number;
  const bool again_soon = settled.has_more_soon && note_soon();
  if (!settled.has_more_soon) soon_in_a_row_ = 0;
  has_more_ = batch_.entries.empty() && (settled.has_more || again_soon);

  slot_.clear_entries();
  slot_.set_number(number_);
  slot_.set_queue(batch_.queue);
  slot_.set_fetched(static_cast<int>(batch_.entries.size()));
  report_skipped(settled.skipped);
}

// Notes that another worker's job must enter its sequence first.  Returns whether to ask again at once; if not, the
// worker asks again after a wait.
bool Session::note_soon() {
  const SteadyTime now = steady_now();
  if (soon_in_a_row_++ == 0) soon_since_ = now;
  if (now - soon_since_ > longest_soon) others_late_until_ = now + others_are_late;
  return soon_in_a_row_ <= most_soon_in_a_row && now >= others_late_until_;
}

// Leaves a fenced incarnation.  Either a recovery has taken it: then its jobs are elsewhere and will run again.  Or
// only its field is lost: then its list still holds the jobs.
FencedBackoff::Fenced Session::leave_fenced(const std::vector<Outcome>& outcomes) {
  const std::size_t settled = settle_without_field(outcomes), dropped = outcomes.size() - settled;
  slot_.record().fenced_outcomes.fetch_add(dropped);
  const std::uint64_t incarnation = std::exchange(incarnation_, 0);
  registered_ = false;
  const FencedBackoff::Fenced fenced = fences_.fenced(steady_now());
  if (!fenced.one_of_many || !outcomes.empty())  // many fences without outcomes are only counted, and logged once
    log::warn("worker_fenced", {{"slot", setup_.slot},
                                {"incarnation", incarnation},
                                {"outcomes_settled", settled},
                                {"outcomes_dropped", dropped}});
  return fenced;
}

void Session::back_off(const FencedBackoff::Fenced& fenced) {
  if (fenced.first_of_many) {
    std::string policy = "unknown";
    try {
      const Reply memory = redis_.call({"INFO", "memory"});
      policy = memory.view().error().empty() ? eviction_policy(memory.view().text()) : policy;
    } catch (const ConnectionLost&) {  // the next settle notices it, too
    }
    log::warn("redis_loses_what_workers_write",
              {{"slot", setup_.slot},
               {"key", name_of_incarnations(setup_.identity)},
               {"maxmemory_policy", policy},
               {"hint", "it must be noeviction, and nobody may delete the keys of brood; the worker pauses"}});
  }
  if (fenced.pause.count() > 0) setup_.pause(fenced.pause);
}

// Settles outcomes although the field is lost.  Returns how many were settled.  Empties all lists of this incarnation,
// except one that a field names.
std::size_t Session::settle_without_field(const std::vector<Outcome>& outcomes) {
  const bool may_hold_another_list = delivery_.in_doubt();
  std::size_t settled = 0;
  if (!batch_.queue.empty()) {
    LostSettlement settlement{setup_.identity, field_, batch_.queue, {}, setup_.dead_limits, held_};
    for (std::size_t i = 0; i < outcomes.size() && i < batch_.entries.size(); ++i)
      settlement.performed.push_back({batch_.entries[i], outcomes[i]});
    const WallTime now = redis_now();
    const Reply reply = delivery_.send_in_size(outcomes, [&](const std::vector<Outcome>& sized) {
      for (std::size_t i = 0; i < settlement.performed.size(); ++i) settlement.performed[i].outcome = sized[i];
      // Without the field a job cannot be set aside: it goes back to its queue, and is fetched again.
      for (LostSettlement::Performed& one : settlement.performed) {
        if (one.outcome.kind == Outcome::Kind::beside) one.outcome = {Outcome::Kind::requeue_head, "", 0};
      }
      return brood::settle_without_field(settlement, now);
    });
    settled = std::min(read_settled_without_field(reply.view()).settled, outcomes.size());
    slot_.record().died.fetch_add(died_of(outcomes, settled));
    held_ = {};
  }
  if (may_hold_another_list) delivery_.until_done([&] { give_back_lists_of(redis_, setup_.identity, field_); });
  return settled;
}

void Session::report_skipped(const std::vector<std::string>& queues) {
  if (queues.empty()) return;
  const SteadyTime now = steady_now();
  if (skipped_reported_ != SteadyTime{} && now - skipped_reported_ < report_interval) return;
  skipped_reported_ = now;
  log::warn("queues_are_no_lists", {{"slot", setup_.slot}, {"queues", fmt::format("{}", fmt::join(queues, " "))}});
}

// Reports each such key once in a while: a job that waits for the lock asks for it again and again.
void Session::report_no_lock(const RedisKey& key) {
  const SteadyTime now = steady_now();
  if (now - no_locks_.since >= report_interval) no_locks_ = {.since = now, .reported = {}};
  if (!no_locks_.reported.insert(key.name()).second) return;
  log::error("lock_is_no_string",
             {{"slot", setup_.slot}, {"key", key.name()}, {"hint", "its jobs wait until the key is deleted"}});
}

Session::Waited Session::wait(const Wait& how) {
  const auto longest = how.looks_again_soon ? short_wait : longest_wait;
  const FetchAfterWait fetch{.identity = setup_.identity,
                             .field = field_,
                             .number = number_,
                             .wait_queue = batch_.queue,
                             .draw = how.draw,
                             .want = how.most,
                             .lets_others_enter = steady_now() >= others_late_until_};
  std::vector<Command> commands{before_wait(fetch).command(),
                                wait_on_queue(setup_.identity, field_, batch_.queue, longest),
                                fetch_after_wait(fetch).command()};
  bool woken = false;
  const Patience patience{.longest = longest + reply_slack,
                          .wake_fd = how.wake_fd,
                          .woken = [&]() -> std::optional<std::chrono::milliseconds> {
                            woken = true;
                            return how.woken ? how.woken() : std::nullopt;
                          }};
  try {
    const std::uint64_t client = client_id();
    if (client == 0) return Waited::refused;
    slot_.set_waiting_client(client);
    // Each side publishes its own flag before it reads the other's (Dekker), so at least one of them sees the other.
    if (how.woken && how.woken()) {
      slot_.set_waiting_client(0);
      return Waited::nothing;
    }
    // Redis must know the script when the wait ends: one that has to be sent again runs after those of other workers.
    if (fetch_known_on_ != redis_.connections()) commands.front() = by_text(std::move(commands.front()));
    std::vector<Reply> replies = redis_.call_patiently(commands, patience);
    replies.erase(replies.begin());
    const std::uint64_t written_on = fetch_known_on_ = redis_.connections();
    slot_.set_waiting_client(0);
    if (delivery_.asks_replicas() && brought_a_job(replies) && !delivery_.is_confirmed(written_on)) {
      redis_.disconnect();
      throw ConnectionLost(std::string(Delivery::not_confirmed));
    }
    const Waited waited =
        hold_what_came(replies, !how.may_be_more_queues && how.draw.size() <= max_queues_asked_after_wait);
    return waited == Waited::passed && woken ? Waited::nothing : waited;
  } catch (const ConnectionLost& lost) {
    if (lost.why == Loss::no_memory) throw std::bad_alloc();
    slot_.set_waiting_client(0);
    return Waited::lost;
  }
}

// Takes over the job of a wait, or those of the fetch behind it, which Redis has run even if it refused the wait.
// Returns `passed` only if `all_were_asked`, so that no queue has a job.
Session::Waited Session::hold_what_came(const std::vector<Reply>& replies, bool all_were_asked) {
  const ReplyView wait = replies.front().view();
  if (replies.size() > 1) {
    const ReplyView fetch = replies.back().view();
    const ErrorKind refusal = classify_error(fetch.error());
    all_were_asked &= refusal == ErrorKind::none;
    if (refusal == ErrorKind::none) {
      Settled fetched = read_settled(fetch);
      // A job that the wait brought is no longer ours either.  The next settle is fenced too, and registers anew.
      if (fetched.fenced) return Waited::nothing;
      if (fetched.gone_to_wait || fetched.has_more) return Waited::nothing;
      if (!fetched.nothing) {
        hold(std::move(fetched));
        return Waited::job;
      }
    }
  }
  if (auto job = read_arrived(wait)) {
    // The number has not changed, so the order of writes does not matter: under this number the list was empty, and
    // this job is its first entry.
    batch_.entries.assign(1, std::move(*job));
    slot_.set_fetched(1);
    return Waited::job;
  }
  if (!wait.error().empty()) return Waited::refused;
  return all_were_asked ? Waited::passed : Waited::nothing;
}

void Session::give_back_unbegun() {
  if (batch_.entries.empty() || slot_.entry(0) != EntryState::fetched) return;
  const Reply returned = delivery_.send(give_back(setup_.identity, field_, batch_.queue, number_, 0, held_));
  if (returned.view().integer() == 0) settle_without_field({});
  held_ = {};
  batch_.entries.clear();
  slot_.clear_entries();
}

// The id of our connection; 0: Redis refuses to tell it, so the supervisor could not unblock us.
std::uint64_t Session::client_id() {
  if (client_.id == 0 || client_.connection != redis_.connections()) {
    const Reply reply = redis_.call({"CLIENT", "ID"});
    client_.id = reply.view().is_integer() ? static_cast<std::uint64_t>(reply.view().integer()) : 0;
    client_.connection = redis_.connections();
  }
  return client_.id;
}

// Gives the remaining jobs, none of which has begun, back to the head of their queue.  Unlike a settle, this is
// answered "gone" if it was applied before, so it may simply be sent again.
void Session::leave_incarnation() {
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

void Session::leave(const std::vector<Outcome>& outcomes) {
  if (registered_ && !outcomes.empty()) {
    Settled settled = settle(outcomes, {});
    if (settled.fenced)
      leave_fenced(outcomes);
    else
      hold(std::move(settled));
  }
  if (registered_) leave_incarnation();
  registered_ = false;
  incarnation_ = 0;
  batch_ = {};
  slot_.clear_entries();
}

void Session::retire(const std::vector<Outcome>& outcomes) {
  leave(outcomes);
  slot_.record().retired.store(1);
}

void Session::give_up() {
  leave_incarnation();
  registered_ = false;
  incarnation_ = 0;
}

// The slot keeps the number of the old incarnation until the supervisor, which reads it, has assigned a new one.
void Session::leave_behind() {
  redis_.disconnect();
  batch_.entries.clear();
  slot_.clear_entries();
  registered_ = false;
  incarnation_ = 0;
}

}  // namespace brood
