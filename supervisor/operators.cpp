#include "supervisor/operators.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/config/config.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/report/fleet_word.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/process/stopped_children.hpp"

namespace brood {
namespace {

std::string not_now(std::string_view why) {
  return JsonWriter().text("outcome", "not_now").text("reason", why).object();
}

std::string done_after(std::chrono::duration<double> took) {
  return JsonWriter().text("outcome", "done").decimal("took", took.count()).object();
}

constexpr auto longest_wait_to_settle = std::chrono::seconds(10);
constexpr std::string_view no_such_worker = "no such worker runs any more";

struct NamedWorker {
  int slot;
  pid_t pid;
};

std::optional<NamedWorker> worker_named(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) return std::nullopt;
  const auto number_in = [](const std::string& text) {
    int number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? number : -1;
  };
  const NamedWorker worker{number_in(arguments[0]), number_in(arguments[1])};
  return worker.slot >= 0 && worker.pid > 0 ? std::optional(worker) : std::nullopt;
}

const char* why_refused(Standing standing) {
  switch (standing) {
    case Standing::trusted:
      break;
    case Standing::job:
      return "a worker, and what its jobs start, has no say in this: the hard limit of file locks (ulimit -Hx) of the "
             "process that asks is lower than the supervisor's, as theirs is";
    case Standing::gone:
      return "the process that connected has ended, and only it could show that it is no job; ask again";
    case Standing::hidden:
      return "the process that asks does not show whether a job has started it: it is of another group or pid "
             "namespace; "
             "ask as root, or in the supervisor's container with its user and group";
    case Standing::unmarked:
      return "this supervisor's hard limit of file locks (LimitLOCKS=, ulimit -Hx) is 0, so it cannot tell its jobs "
             "from "
             "other processes of its user; ask as root";
  }
  return "";
}

// Each queue once, in the order in which the capsules list them.
std::vector<std::string> queues_of(const std::vector<CapsuleSettings>& capsules) {
  std::vector<std::string> names;
  for (const CapsuleSettings& capsule : capsules) {
    for (const std::string& name : capsule.queues.names()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

Operators::Operators(const Parts& parts)
    : loop_(parts.loop),
      identity_(parts.identity.name),
      signals_(parts.signals),
      own_(parts.own),
      fleet_(parts.fleet),
      shards_(parts.shards),
      phases_(parts.phases),
      upgrade_(parts.upgrade),
      facts_(parts.facts) {}

void Operators::listen(const std::string& path, UniqueFd listener) {
  try {
    socket_ = std::make_unique<ControlSocket>(
        loop_, path,
        [this](const std::string& verb, const Arguments& arguments, const Reply& reply) {
          handle(verb, arguments, reply);
        },
        std::move(listener));
  } catch (const std::runtime_error& error) {
    log::warn("no_control_socket", {{"reason", error.what()}});
  }
}

// ---- Orders

void Operators::obey_signals() {
  using Wish = OperatorSignals::Wish;
  while (const auto wish = signals_.next()) {
    switch (*wish) {
      case Wish::stop:
        phases_.order(Order::stop);
        break;
      case Wish::quiet:
        phases_.order(Order::quiet);
        break;
      case Wish::restart:
        if (phases_.now() == Phase::running)
          fleet_.restart.restart(std::nullopt);
        else
          log::warn("restart_refused", {{"reason", why_not_now()}});
        break;
      case Wish::upgrade:
        if (phases_.may_spawn())
          upgrade_.begin(std::nullopt);
        else
          log::warn("upgrade_refused", {{"reason", why_not_now()}});
        break;
      case Wish::log_stacks:
        fleet_.stack_log.write();
        break;
      case Wish::child_changed:  // the loop asks which have ended
        for (const pid_t stopped : newly_stopped_children()) fleet_.pool.note_stopped(stopped);
        break;
    }
  }
}

void Operators::obey_redis(const std::string& signal) try {
  if (signal == "TSTP") return phases_.order(Order::quiet);
  if (signal == "TERM") return phases_.order(Order::stop);
  if (signal == "TTIN") return fleet_.stack_log.write();
  const auto order = parse_fleet_word(signal);
  if (!order) return log::warn("signal_has_no_meaning_here", {{"signal", std::string_view(signal).substr(0, 80)}});
  if (order->ticket) return obey_with_ticket(*order);
  log::info("asked", {{"verb", order->verb}, {"by", "Redis"}});
  obey(order->verb, order->arguments, Reply());
} catch (const std::runtime_error& error) {  // any client of Redis may write such signals
  log::warn("order_failed", {{"signal", std::string_view(signal).substr(0, 80)}, {"reason", error.what()}});
}

// The command that gave the order reads the answer in the heartbeat.
void Operators::obey_with_ticket(const FleetWord& order) {
  const OrderTicket& ticket = *order.ticket;
  switch (redis_orders_->take(order, redis_now())) {
    case RedisOrders::Reception::repeated:
      return;
    case RedisOrders::Reception::expired:
      return log::warn("order_expired", {{"verb", order.verb}, {"giver", ticket.by}, {"order", ticket.id}});
    case RedisOrders::Reception::follow:
      log::info("asked", {{"verb", order.verb}, {"by", "Redis"}, {"giver", ticket.by}, {"order", ticket.id}});
      obey(order.verb, order.arguments,
           Reply::heard_by([orders = std::weak_ptr(redis_orders_), id = ticket.id](const ControlLine& line) {
             if (const auto noted = orders.lock()) noted->note(id, line);
           }));
  }
}

void Operators::handle(const std::string& verb, const Arguments& arguments, const Reply& reply) {
  if (verb == "status") return reply.ok(status());
  // A job runs as our user, but is not our operator.
  const Asker& asker = *reply.asker();
  const Standing standing = own_.standing_of(asker);
  if (standing != Standing::trusted) {
    const char* const why = why_refused(standing);
    log::warn(standing == Standing::job ? "asked_by_a_job" : "asked_by_an_unknown_process",
              {{"verb", verb}, {"from_pid", asker.pid()}, {"reason", why}});
    return reply.error(why);
  }
  log::info("asked", {{"verb", verb}, {"from_pid", asker.pid()}});
  obey(verb, arguments, reply);
}

void Operators::obey(const std::string& verb, const Arguments& arguments, const Reply& reply) {
  if (verb == "quiet") return quiet(reply);
  if (verb == "resume") return resume(reply);
  if (verb == "stop") return stop(arguments, reply);
  if (verb == "restart") return restart(reply);
  if (verb == "upgrade") return upgrade(reply);
  if (verb == "await_restart") {
    if (!upgrade_.answer_failure(reply)) fleet_.restart.await(reply);
    return;
  }
  if (verb == "reopen") return reopen(reply);
  if (verb == "scale") return scale(arguments, reply);
  if (verb == "kill") return kill(arguments, reply);
  if (verb == "stack") return stack(arguments, reply);
  if (verb == "recycle") return recycle(arguments, reply);
  if (verb == "dump") {
    fleet_.stack_log.write();
    return reply.ok(JsonWriter().number("workers", fleet_.pool.ready()).object());
  }
  reply.error("this version of brood knows no \"" + verb + "\"");
}

void Operators::quiet(const Reply& reply) {
  if (await_quiet_.empty()) quiet_since_ = steady_now();
  phases_.order(Order::quiet);
  await_quiet_.push_back(reply);
  progress_.forget();
}

void Operators::resume(const Reply& reply) {
  const Phase before = phases_.now();
  phases_.order(Order::resume);
  if (phases_.now() != Phase::running) return refuse_in_this_phase(reply);
  reply.ok(JsonWriter().text("outcome", "done").text("before", name_of(before)).object());
}

void Operators::stop(const Arguments& arguments, const Reply& reply) {
  const bool now = !arguments.empty() && arguments[0] == "now";
  if (await_stop_.empty()) stop_since_ = steady_now();
  await_stop_.push_back(reply);
  progress_.forget();
  const auto is_stopping = [&] { return phases_.now() == Phase::stopping; };
  // A second stop by a signal kills; a second client that asks for a stop waits with the first.
  if (phases_.may_spawn()) phases_.order(Order::stop);
  if (now && is_stopping()) phases_.order(Order::stop);
}

void Operators::refuse_in_this_phase(const Reply& reply) const {
  const std::string why = why_not_now();
  reply.undone(why, not_now(why));
}

std::string Operators::why_not_now() const { return fmt::format("the supervisor is {}", name_of(phases_.now())); }

void Operators::restart(const Reply& reply) {
  if (phases_.now() != Phase::running) return refuse_in_this_phase(reply);
  fleet_.restart.restart(reply);
}

void Operators::upgrade(const Reply& reply) {
  if (!phases_.may_spawn()) return reply.ok(not_now(why_not_now()));
  upgrade_.begin(reply);
}

void Operators::reopen(const Reply& reply) {
  const std::string& file = fleet_.restart.present()->config->log.file;
  try {
    log::reopen();
  } catch (const std::system_error& error) {
    log::warn("log_not_reopened", {{"reason", error.what()}});
    return reply.ok(not_now(std::string(error.what()) + "; the old file is written on"));
  }
  reply.ok(JsonWriter().text("outcome", "done").text("file", file).object());
}

void Operators::scale(const Arguments& arguments, const Reply& reply) {
  int workers = 0;
  const auto read_number = [&](const std::string& text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), workers);
    return error == std::errc{} && end == text.data() + text.size() && workers >= 1 && workers <= Config::most_workers;
  };
  if (arguments.size() != 2 || !read_number(arguments[0]))
    return reply.error(
        fmt::format("scale takes a number from 1 to {} and the name of a capsule", Config::most_workers));
  if (phases_.now() != Phase::running) return refuse_in_this_phase(reply);
  int others = 0;
  for (const CapsuleSettings& capsule : fleet_.restart.present()->config->capsules)
    others += capsule.name == arguments[1] ? 0 : capsule.concurrency;
  if (others + workers > Config::most_workers)
    return reply.error(fmt::format("all capsules together have at most {} workers, and the others have {}",
                                   Config::most_workers, others));
  fleet_.restart.scale(workers, arguments[1], reply);
}

void Operators::kill(const Arguments& arguments, const Reply& reply) {
  static const std::map<std::string, WorkerDeath::Fate> fates{
      {"retry", WorkerDeath::Fate::retry}, {"dead", WorkerDeath::Fate::dead}, {"discard", WorkerDeath::Fate::discard}};
  if (arguments.size() != 2 || !fates.contains(arguments[1]))
    return reply.error("kill takes the id of a job, and retry, dead or discard");
  const auto ended = fleet_.pool.job_ender().end_job(arguments[0], fates.at(arguments[1]));
  if (!ended) return reply.ok("null");  // no worker runs it now
  awaited_ends_[ended->pid] = [reply, jid = arguments[0], outcome = arguments[1], ended = *ended](bool settled) {
    reply.ok(JsonWriter()
                 .text("jid", jid)
                 .text("class", ended.job_class)
                 .text("queue", ended.queue)
                 .number("slot", ended.slot)
                 .number("pid", ended.pid)
                 .decimal("age", std::chrono::duration<double>(ended.ran_for).count())
                 .text("outcome", outcome)
                 .truth("settled", settled)
                 .object());
  };
}

void Operators::stack(const Arguments& arguments, const Reply& reply) {
  const auto worker = worker_named(arguments);
  if (!worker || !fleet_.pool.is_in(worker->slot, worker->pid)) return reply.error(no_such_worker);
  fleet_.stack_log.tell(worker->slot, [reply](const std::string& json) {
    if (json.empty()) return reply.error("its stack is not available now; try again");
    reply.ok(json);
  });
}

void Operators::recycle(const Arguments& arguments, const Reply& reply) {
  const auto worker = worker_named(arguments);
  if (!worker || !fleet_.pool.recycle(worker->slot, worker->pid)) return reply.error(no_such_worker);
  reply.ok(JsonWriter().number("slot", worker->slot).number("pid", worker->pid).object());
}

void Operators::reaped(pid_t worker, const DeadWorker* to_recover) {
  auto awaited = awaited_ends_.extract(worker);
  if (!awaited) return;
  if (to_recover == nullptr) return awaited.mapped()(true);
  awaited_recoveries_[worker_field(to_recover->slot, to_recover->incarnation)] = {
      std::move(awaited.mapped()), steady_now() + longest_wait_to_settle};
}

void Operators::recovered(const DeadWorker& worker) {
  if (worker.identity != identity_) return;
  if (auto awaited = awaited_recoveries_.extract(worker_field(worker.slot, worker.incarnation)))
    awaited.mapped().answer(true);
}

void Operators::answer_without_redis(SteadyTime now) {
  std::erase_if(awaited_recoveries_, [&](const auto& one) {
    if (now < one.second.at_latest) return false;
    one.second.answer(false);
    return true;
  });
}

void Operators::advance() {
  answer_without_redis(steady_now());
  if (await_quiet_.empty() && await_stop_.empty()) return;
  if (phases_.now() == Phase::running) {
    for (const Reply& client : std::exchange(await_quiet_, {})) client.ok(not_now("it was told to resume"));
  }
  if (fleet_.pool.busy() == 0) {
    const std::string answer = done_after(steady_now() - quiet_since_);
    for (const Reply& client : std::exchange(await_quiet_, {})) client.ok(answer);
  }
  const std::string sentence = busy_sentence();
  if (!progress_.is_due(sentence, steady_now())) return;
  for (const auto* clients : {&await_quiet_, &await_stop_}) {
    for (const Reply& client : *clients) client.progress(sentence);
  }
}

void Operators::stopped() {
  const std::string answer = done_after(steady_now() - stop_since_);
  for (const Reply& client : std::exchange(await_stop_, {})) client.ok(answer);
  for (const Reply& client : std::exchange(await_quiet_, {})) client.ok(not_now("it has stopped"));
}

std::string Operators::busy_sentence() const {
  const int busy = fleet_.pool.busy();
  if (busy > 0)
    return fmt::format("{}: {} {}", name_of(phases_.now()), busy, busy == 1 ? "job still runs" : "jobs still run");
  return fmt::format("{}: no job runs", name_of(phases_.now()));
}

std::string Operators::state() const {
  return text_of(SupervisorState{.phase = std::string(name_of(phases_.now())),
                                 .generation = fleet_.restart.present()->number,
                                 .loaded_at = epoch_seconds(fleet_.restart.loaded_at().value_or(facts_.started_at)),
                                 .orders = redis_orders_->newest_first()});
}

std::string Operators::status() const {
  std::vector<std::string> drained;
  shards_.each([&](const Shard& shard) {
    if (shard.is_drained()) drained.push_back(shard.name());
  });
  return JsonWriter()
      .text("identity", identity_)
      .number("pid", getpid())
      .text("tag", facts_.tag)
      .text("config", facts_.config_file)
      .texts("queues", queues_of(facts_.capsules))
      .decimal("started_at", epoch_seconds(facts_.started_at))
      .text("phase", name_of(phases_.now()))
      .number("generation", fleet_.restart.present()->number)
      .number("concurrency", fleet_.restart.present()->config->concurrency())
      .number("ready", fleet_.pool.ready())
      .number("busy", fleet_.pool.busy())
      .number("finishing", fleet_.orders.finishing())
      .texts("draining", drained)
      .json("restart", fleet_.restart.json())
      .json("pressure", fleet_.pressure.json())
      .json("log", JsonWriter().number("dropped", log::dropped()).text("trouble", log::trouble()).object())
      .object();
}

}  // namespace brood
