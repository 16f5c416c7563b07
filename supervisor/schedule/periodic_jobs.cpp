#include "supervisor/schedule/periodic_jobs.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/job/due_job.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/ruby_spelling.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/periodic/next_tick.hpp"
#include "shared/periodic/zone.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"
#include "shared/store/periodic/periodic_rule.hpp"
#include "supervisor/schedule/fleet_times.hpp"

namespace brood {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::sys_seconds;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr auto between_services = 60s;
constexpr auto between_tries = 1s;  // while the previous job has not ended
constexpr nanoseconds after_failure = 5s;

struct ServedJob {
  PeriodicSettings settings;
  Zone zone;
  bool replaces = true;  // replaces another rule in Redis
  bool ours = false;     // by this rule
  bool paused = false;
  sys_seconds last{};
  SteadyTime not_before{};   // after a failure, or while the previous job has not ended
  std::string failure = {};  // logged once
};

// The job and tick of one claim.
struct SentClaim {
  ServedJob* job;
  TickClaim claim;
};

}  // namespace

struct PeriodicJobs::Run {
  Run(EventLoop& event_loop, AsyncConnection& connection, Settings given)
      : loop(event_loop),
        redis(connection),
        identity(std::move(given.identity)),
        fleet_times(connection, given.times),
        timer(loop, [this] { wake(); }) {
    for (auto& [name, settings] : given.jobs) {
      const auto zone = Zone::find(settings.zone);
      if (!zone) log::error("periodic_zone_unknown", {{"name", name}, {"tz", settings.zone}});
      settings.args = ruby_spelling(settings.args, 1);  // as `brood enqueue` does with what a person typed
      if (zone) jobs.emplace(name, ServedJob{.settings = std::move(settings), .zone = *zone});
    }
  }

  EventLoop& loop;
  AsyncConnection::Scope redis;
  const std::string identity;
  FleetTimes fleet_times;
  TimeUnit times = usual_time_unit;
  Timer timer;
  std::map<std::string, ServedJob> jobs;
  std::mt19937_64 random{std::random_device{}()};
  bool looking = false, stopped = false;

  WallTime told{};  // by Redis, at the last answer
  SteadyTime told_at{};
  SteadyTime next_service{};

  WallTime now() const { return told + (steady_now() - told_at); }
  sys_seconds second_now() const { return std::chrono::floor<std::chrono::seconds>(now()); }
  void note_time(WallTime time) {
    told = time;
    told_at = steady_now();
  }

  void wake();
  void serve();
  PeriodicService service_of(const std::string& name, const ServedJob& job) const;
  void read_service(ServedJob& job, const std::string& name, const AsyncConnection::Result& result);
  void claim_due();
  void send_claims();
  void add_claims(const std::string& name, ServedJob& job, std::vector<SentClaim>& claims);
  TickClaim claim_of(const std::string& name, const ServedJob& job, sys_seconds tick, bool passes);
  void read_claims(const std::vector<SentClaim>& claims, const Results& results);
  void read_claim(const SentClaim& sent, const AsyncConnection::Result& result);
  std::string entry(sys_seconds tick) const;
  void plan();
  void fail(ServedJob& job, const std::string& name, const std::string& why, nanoseconds pause = after_failure);
  static void wait_for_rule(ServedJob& job);
  nanoseconds until_next_after(const ServedJob& job, sys_seconds moment) const;
  // A question was not answered, so this look ends.  look() is also called when Redis is back.
  void give_up() {
    looking = false;
    next_service = {};
    timer.start_in(after_failure);
  }
  static bool answered(const Results& results) {
    return std::all_of(results.begin(), results.end(), [](const auto& result) { return result.error.empty(); });
  }
};

void PeriodicJobs::Run::wake() {
  if (looking || stopped || jobs.empty() || !redis.connected()) return;
  looking = true;
  timer.stop();
  if (steady_now() >= next_service) return serve();
  claim_due();
}

void PeriodicJobs::Run::serve() {
  std::vector<ScriptCall> calls;
  for (const auto& [name, job] : jobs) calls.push_back(serve_periodic(service_of(name, job)));
  redis.connection().run_all(std::move(calls), longest_answer_time, redis.guard([this](Results results) {
    if (!answered(results)) return give_up();
    std::size_t next = 0;
    for (auto& [name, job] : jobs) read_service(job, name, results[next++]);
    next_service = steady_now() + between_services;
    claim_due();
  }));
}

// A rule in this Redis holds even if another supervisor knows an older one: Redis compares them.
PeriodicService PeriodicJobs::Run::service_of(const std::string& name, const ServedJob& job) const {
  using Source = PeriodicSettings::Source;
  const PeriodicSettings& settings = job.settings;
  const std::string host = identity.substr(0, identity.find(':'));
  PeriodicService service{.name = name,
                          .rule = periodic_rule_text(settings),
                          .definition = periodic_definition(settings),
                          .replaces = job.replaces || !settings.stored.empty(),
                          .source = std::string(name_of(settings.source)),
                          .stored = settings.stored};
  if (settings.source == Source::configuration) service.place = settings.place + " on " + host;
  if (settings.source == Source::library) service.place = "a job library on " + host;
  if (settings.source == Source::redis) service.place = settings.place;
  if (!settings.paused_at.empty()) service.paused_at = settings.paused_at + " on " + host;
  return service;
}

void PeriodicJobs::Run::read_service(ServedJob& job, const std::string& name, const AsyncConnection::Result& result) {
  if (!result.ok()) return fail(job, name, result.why());
  const ServedPeriodic served = read_served_periodic(result.reply.view());
  note_time(served.now);
  if (served.stale) return wait_for_rule(job);
  if (!served.ours)
    return fail(job, name, "another supervisor has begun to serve it by another rule", between_services);
  job.replaces = false;
  job.ours = true;
  job.paused = served.paused;
  job.last = served.last;
}

// Claims everything due by now, until nothing is left.
void PeriodicJobs::Run::claim_due() {
  fleet_times.look(redis.guard([this](TimeUnit unit) {
    times = unit;
    send_claims();
  }));
}

void PeriodicJobs::Run::send_claims() {
  std::vector<SentClaim> claims;
  for (auto& [name, job] : jobs) {
    if (!job.ours || steady_now() < job.not_before) continue;
    try {
      add_claims(name, job, claims);
    } catch (const BadPayload& error) {
      fail(job, name, error.what(), between_services);
    }
  }
  if (claims.empty()) return plan();
  std::vector<ScriptCall> calls;
  for (const SentClaim& one : claims) calls.push_back(claim_tick(one.claim));
  redis.connection().run_all(
      std::move(calls), longest_answer_time,
      redis.guard([this, claims = std::move(claims)](Results results) { read_claims(claims, results); }));
}

// Also tries to claim for a paused job: the pause may have ended.
void PeriodicJobs::Run::add_claims(const std::string& name, ServedJob& job, std::vector<SentClaim>& claims) {
  const PeriodicSettings& settings = job.settings;
  const DueTicks due = due_ticks(settings.rule, job.zone, job.last, second_now(), settings.late_at_most(),
                                 settings.catches_up() == PeriodicSettings::CatchUp::all);
  sys_seconds last = job.last;
  std::int64_t missed = due.missed;
  const auto add = [&](sys_seconds tick, bool passes) {
    TickClaim claim = claim_of(name, job, tick, passes);
    claim.last = std::exchange(last, tick);
    claim.missed = std::exchange(missed, 0);
    claims.push_back({&job, std::move(claim)});
  };
  for (const sys_seconds tick : due.claims) {
    add(tick, false);
    if (settings.overlap == PeriodicSettings::Overlap::queue) break;  // the others wait for this one
  }
  if (due.passed) add(*due.passed, true);
}

TickClaim PeriodicJobs::Run::claim_of(const std::string& name, const ServedJob& job, sys_seconds tick, bool passes) {
  using Overlap = PeriodicSettings::Overlap;
  const PeriodicSettings& settings = job.settings;
  TickClaim claim{
      .name = name, .rule = periodic_rule_text(settings), .tick = tick, .entry = entry(tick), .queue = settings.queue};
  if (passes) return claim;
  if (settings.jitter > 0s) {
    const double wait = std::uniform_real_distribution<>(0, static_cast<double>(settings.jitter.count()))(random);
    claim.score = score_text(epoch_seconds(WallTime(tick)) + wait);
  }
  JsonWriter text;
  text.json("retry", settings.retry)
      .text("queue", settings.queue)
      .text("class", settings.job_class)
      .json("args", settings.args)
      .text("periodic", name)
      .number("periodic_tick", tick.time_since_epoch().count());
  if (settings.overlap != Overlap::allow) {
    text.text("unique_lock", turn_of_periodic(name));
    claim.while_held = settings.overlap == Overlap::queue ? TickClaim::WhileHeld::wait : TickClaim::WhileHeld::skip;
  }
  std::string payload = text.object();
  payload.insert(payload.size() - 1, settings.members);
  claim.payload = prepare_due_job(payload, now(), random, times).payload;
  claim.jid = Payload::parse(claim.payload).jid();
  claim.entry = JsonWriter()
                    .number("tick", tick.time_since_epoch().count())
                    .decimal("at", epoch_seconds(now()))
                    .text("jid", claim.jid)
                    .text("by", identity)
                    .object();
  claim.skipped_entry = entry(tick);
  return claim;
}

// The history entry of a tick whose job does not run.
std::string PeriodicJobs::Run::entry(sys_seconds tick) const {
  return JsonWriter()
      .number("tick", tick.time_since_epoch().count())
      .decimal("at", epoch_seconds(now()))
      .null("jid")
      .text("by", identity)
      .object();
}

void PeriodicJobs::Run::read_claims(const std::vector<SentClaim>& claims, const Results& results) {
  if (!answered(results)) return give_up();  // it is unknown which were applied
  for (std::size_t i = 0; i < claims.size(); ++i) {
    try {
      read_claim(claims[i], results[i]);
    } catch (const UnexpectedReply& error) {
      fail(*claims[i].job, claims[i].claim.name, error.what());
    }
  }
  claim_due();
}

void PeriodicJobs::Run::read_claim(const SentClaim& sent, const AsyncConnection::Result& result) {
  using Outcome = ClaimedTick::Outcome;
  ServedJob& job = *sent.job;
  const std::string& name = sent.claim.name;
  if (!result.ok()) return fail(job, name, result.why());
  const ClaimedTick claimed = read_claimed_tick(result.reply.view());
  const auto outcome = claimed.outcome;
  job.paused = outcome == Outcome::paused;
  const bool is_unmoved = outcome == Outcome::lost && claimed.last == job.last;  // the key does not hold a time
  job.last = claimed.last;
  if (outcome == Outcome::waits) job.not_before = steady_now() + between_tries;
  if (outcome == Outcome::paused) job.not_before = steady_now() + until_next_after(job, second_now());
  if (outcome == Outcome::another_rule && job.settings.source == PeriodicSettings::Source::redis)
    return wait_for_rule(job);
  if (outcome == Outcome::another_rule)
    return fail(job, name, "another supervisor has begun to serve it by another rule", between_services);
  const bool state_is_gone = outcome == Outcome::lost && claimed.last == sys_seconds{};
  // The clock of Redis was put back, Redis has lost its data, or another program has changed them.
  if (outcome == Outcome::early || state_is_gone || is_unmoved) {
    job.not_before = steady_now() + between_tries;
    next_service = {};
  }
  if (outcome == Outcome::claimed && !sent.claim.payload.empty())
    log::debug("periodic_job_pushed", {{"name", name}, {"jid", sent.claim.jid}});
  if (outcome == Outcome::skipped)
    log::info("periodic_tick_skipped", {{"name", name}, {"reason", "the job of the tick before has not ended"}});
  const bool ours = outcome == Outcome::claimed || outcome == Outcome::skipped;
  if (ours) job.failure.clear();
  if (ours && sent.claim.missed > 0)
    log::warn("periodic_ticks_missed",
              {{"name", name}, {"ticks", sent.claim.missed}, {"hint", "no supervisor ran; see catch_up"}});
}

void PeriodicJobs::Run::fail(ServedJob& job, const std::string& name, const std::string& why, nanoseconds pause) {
  job.ours = false;
  job.not_before = steady_now() + pause;
  if (job.failure != why) log::warn("periodic_job_fails", {{"name", name}, {"error", why}});
  job.failure = why;
}

// The rule was replaced or removed in Redis.  We will have read that soon.
void PeriodicJobs::Run::wait_for_rule(ServedJob& job) {
  job.ours = false;
  job.not_before = steady_now() + after_failure;
}

nanoseconds PeriodicJobs::Run::until_next_after(const ServedJob& job, sys_seconds moment) const {
  const auto tick = next_tick(job.settings.rule, job.zone, moment);
  if (!tick) return between_services;
  return std::clamp<nanoseconds>(WallTime(*tick) - now(), 0ns, between_services);
}

void PeriodicJobs::Run::plan() {
  looking = false;
  for (const auto& [name, job] : jobs) {
    if (!job.ours) next_service = std::min(next_service, job.not_before);
  }
  SteadyTime next = next_service;
  for (const auto& [name, job] : jobs) {
    if (job.ours) next = std::min(next, std::max(steady_now() + until_next_after(job, job.last), job.not_before));
  }
  timer.start_at(next);
}

PeriodicJobs::PeriodicJobs(EventLoop& loop, AsyncConnection& redis, Settings settings)
    : run_(std::make_unique<Run>(loop, redis, std::move(settings))) {}

PeriodicJobs::~PeriodicJobs() { stop(); }

void PeriodicJobs::look() {
  run_->redis.cancel();
  run_->looking = false;
  run_->next_service = {};
  run_->wake();
}

void PeriodicJobs::set(Settings settings) {
  if (run_->stopped) return;
  for (const auto& [name, job] : run_->jobs) {
    if (!settings.jobs.contains(name) && run_->redis.connected())
      run_->redis.connection().send(leave_periodic(name), longest_answer_time, [](const auto&) {});
  }
  resume(std::move(settings));
}

void PeriodicJobs::resume(Settings settings) {
  stop();
  auto next = std::make_unique<Run>(run_->loop, run_->redis.connection(), std::move(settings));
  const std::unique_ptr<Run> old = std::exchange(run_, std::move(next));
  for (auto& [name, job] : run_->jobs) {  // unread jobs must not replace what others have written since
    const auto known = old->jobs.find(name);
    if (known != old->jobs.end() && periodic_definition(known->second.settings) == periodic_definition(job.settings))
      job.replaces = known->second.replaces;
  }
  if (run_->redis.connected()) look();
}

void PeriodicJobs::stop() {
  run_->stopped = true;
  run_->redis.cancel();
  run_->timer.stop();
}

}  // namespace brood
