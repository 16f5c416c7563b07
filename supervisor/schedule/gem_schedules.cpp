#include "supervisor/schedule/gem_schedules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/ascii.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/job/due_job.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/periodic/fugit_rule.hpp"
#include "shared/periodic/next_tick.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/periodic/gem_schedules.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/scan.hpp"
#include "supervisor/schedule/fleet_times.hpp"

namespace brood {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::sys_seconds;

using Results = std::vector<AsyncConnection::Result>;

namespace {

using Fields = std::map<std::string, std::string>;

constexpr auto between_gem_looks = 15s;         // for changes made in the gem's tab
constexpr auto between_namespace_scans = 5min;  // each reads all keys, a page at a time
constexpr auto late_at_most = 60s;              // as in the gem
constexpr std::size_t most_schedules = 2'000;

bool is_true(const Fields& fields, const std::string& key) {
  const auto field = fields.find(key);
  return field != fields.end() && (field->second == "true" || field->second == "1");
}

std::string field_or(const Fields& fields, const std::string& key, const std::string& other) {
  const auto field = fields.find(key);
  return field == fields.end() || field->second.empty() ? other : field->second;
}

std::string random_uuid(std::mt19937_64& random) {
  const std::uint64_t a = random(), b = random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xffff, a & 0xfff,
                     (b >> 48 & 0x3fff) | 0x8000, b & 0xffffffffffff);
}

// The arguments.  A text that is not JSON is itself the only argument.
std::string args_of(const Fields& fields, WallTime now) {
  std::string args = field_or(fields, "args", "[]");
  try {
    JsonObject::parse("{\"args\":" + args + "}");
    if (args[args.find_first_not_of(" \t\n\r")] != '[') args = "[" + args + "]";
  } catch (const BadJson&) {
    args = "[" + json_string(args) + "]";
  }
  if (!is_true(fields, "date_as_argument")) return args;
  const std::size_t end = args.rfind(']');
  const bool none = args.find_first_not_of(" \t\n\r", args.find('[') + 1) == end;
  return args.substr(0, end) + (none ? "" : ",") + gem_date(now) + "]";
}

// Throws BadJson.
std::string payload_of(const Fields& fields, WallTime now, std::mt19937_64& random) {
  const std::string args = args_of(fields, now);
  const JsonObject message = JsonObject::parse(field_or(fields, "message", "{}"));
  if (message.truthy("encrypt")) throw CronError("its class has encrypt: only Ruby can push it");
  const std::string queue = message.string("queue").value_or("default");
  if (!is_true(fields, "active_job")) {
    JsonObject job = message.with({{"args", args}});
    if (!job.raw("class")) job = job.with({{"class", json_string(field_or(fields, "klass", ""))}});
    if (!job.raw("queue")) job = job.with({{"queue", json_string(queue)}});
    if (!job.raw("retry")) job = job.with({{"retry", "true"}});
    return job.text();
  }
  const std::string job_class = field_or(fields, "klass", "");
  const std::string prefix = field_or(fields, "queue_name_prefix", "");
  const std::string full = prefix.empty() ? queue : prefix + field_or(fields, "queue_name_delimiter", "_") + queue;
  const std::string wrapped = JsonWriter()
                                  .text("job_class", job_class)
                                  .text("job_id", random_uuid(random))
                                  .text("queue_name", full)
                                  .json("arguments", args)
                                  .object();
  return JsonWriter()
      .text("class", "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper")
      .text("wrapped", job_class)
      .text("queue", full)
      .text("description", field_or(fields, "description", ""))
      .json("args", "[" + wrapped + "]")
      .json("retry", "true")
      .object();
}

}  // namespace

struct GemSchedules::Run {
  Run(EventLoop& event_loop, AsyncConnection& connection, const Settings& settings)
      : loop(event_loop),
        redis(connection),
        serves(settings.serves),
        fleet_times(connection, settings.times),
        timer(loop, [this] { look(); }) {}

  EventLoop& loop;
  AsyncConnection::Scope redis;
  const bool serves;
  std::set<std::string> sets = usual_gem_sets(), looked_at;
  bool scanning = false;
  SteadyTime next_scan{};
  FleetTimes fleet_times;
  TimeUnit times = usual_time_unit;
  bool looking = false, stopped = false;
  Timer timer;
  std::mt19937_64 random{std::random_device{}()};
  std::set<std::string> said;  // names of schedules with a logged error
  WallTime now{};
  SteadyTime next{};

  void look();
  void look_for_namespaces(std::string_view position);
  void read_names(const Results& results);
  void ask_schedules(const std::vector<std::string>& names);
  void read_schedules(const std::vector<std::string>& names, const Results& results);
  std::optional<GemTick> judge(const std::string& name, const Fields& fields);
  void claim(std::vector<GemTick> ticks);
  void end();
  void say(const std::string& name, const std::string& why) {
    if (said.insert(name + why).second) log::warn("sidekiq_cron_schedule_fails", {{"name", name}, {"error", why}});
  }

  void ask(const std::vector<Command>& commands, const std::function<void(const Results&)>& read) {
    redis.send_all(commands, longest_answer_time, [this, read](const Results& results) {
      const bool answered =
          std::all_of(results.begin(), results.end(), [](const auto& one) { return one.error.empty(); });
      if (!answered) return end();  // look() is also called when Redis is back
      try {
        read(results);
      } catch (const UnexpectedReply& error) {
        say("", error.what());
        end();
      }
    });
  }
};

void GemSchedules::Run::look() {
  if (!serves || stopped || looking || !redis.connected()) return;
  looking = true;
  next = steady_now() + between_gem_looks;
  if (!scanning && steady_now() >= next_scan) look_for_namespaces(scan_begins);
  looked_at = sets;
  std::vector<Command> commands = ask_gem_schedules(sets);
  commands.push_back(ask_time());
  ask(commands, [this](const Results& results) { read_names(results); });
}

// Runs beside the looks: a Redis may have very many keys.
void GemSchedules::Run::look_for_namespaces(std::string_view position) {
  scanning = true;
  redis.send_all({find_gem_sets(position)}, longest_answer_time, [this](const Results& results) {
    scanning = false;
    next_scan = steady_now() + between_namespace_scans;
    if (!results.front().error.empty()) return;  // look() is also called when Redis is back
    try {
      const GemSets page =
          read_gem_sets(results.front().reply.view(), Keyspace(redis.connection().address().key_prefix));
      sets.insert(page.found.begin(), page.found.end());
      if (page.next != scan_begins) return look_for_namespaces(page.next);
    } catch (const UnexpectedReply& error) {
      say("", error.what());
      return;
    }
    if (sets != looked_at) look();  // a namespace was found
  });
}

void GemSchedules::Run::read_names(const Results& results) {
  now = redis_time(results.back().reply.view());
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < results.size(); ++i) {
    for (std::string& name : read_gem_schedules(results[i].reply.view())) names.push_back(std::move(name));
  }
  if (names.empty()) return end();
  if (names.size() > most_schedules) names.resize(most_schedules);
  fleet_times.look(redis.guard([this, names](TimeUnit unit) {
    times = unit;
    ask_schedules(names);
  }));
}

void GemSchedules::Run::ask_schedules(const std::vector<std::string>& names) {
  std::vector<Command> commands;
  for (const std::string& name : names) commands.push_back(ask_gem_schedule(name));
  ask(commands, [this, names](const Results& found) { read_schedules(names, found); });
}

void GemSchedules::Run::read_schedules(const std::vector<std::string>& names, const Results& results) {
  std::vector<GemTick> ticks;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Fields fields = read_gem_schedule(results[i].reply.view());
    if (field_or(fields, "status", "") != "enabled") continue;
    try {
      if (auto tick = judge(names[i], fields)) ticks.push_back(std::move(*tick));
    } catch (const CronError& error) {
      say(names[i], error.what());
    } catch (const BadJson& error) {
      say(names[i], error.what());
    } catch (const BadPayload& error) {
      say(names[i], error.what());
    }
  }
  if (ticks.empty()) return end();
  claim(std::move(ticks));
}

// The last tick of the schedule, if it must be claimed.  The next tick sets the time of the next look.
std::optional<GemTick> GemSchedules::Run::judge(const std::string& name, const Fields& fields) {
  const FugitRule rule = FugitRule::parse(field_or(fields, "cron", ""));
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  if (const auto coming = next_tick(rule.rule, rule.zone, second))
    next = std::min(next, steady_now() + std::max<nanoseconds>(WallTime(*coming) - now, 1ms));
  const DueTicks due = due_ticks(rule.rule, rule.zone, second - late_at_most - 1s, second, late_at_most, false);
  if (due.claims.empty()) return std::nullopt;
  const std::string last_push = field_or(fields, "last_enqueue_time", "");
  const auto last = parse_gem_time(last_push);
  if (last && *last >= due.claims.back()) return std::nullopt;
  const RewrittenJob job = prepare_due_job(payload_of(fields, now, random), now, random, times);
  if (job.queue.empty()) throw CronError(job.reason);
  return GemTick{.schedule = name,
                 .tick = due.claims.back(),
                 .queue = job.queue,
                 .payload = job.payload,
                 .jid = Payload::parse(job.payload).jid(),
                 .last_push = last_push,
                 .now = second};
}

void GemSchedules::Run::claim(std::vector<GemTick> ticks) {
  std::vector<ScriptCall> calls;
  for (const GemTick& tick : ticks) calls.push_back(claim_gem_tick(tick));
  redis.connection().run_all(
      std::move(calls), longest_answer_time, redis.guard([this, ticks = std::move(ticks)](Results results) {
        for (std::size_t i = 0; i < results.size(); ++i) {
          if (results[i].error.empty() && !results[i].ok()) say(ticks[i].schedule, results[i].why());
          if (results[i].ok() && read_gem_claim(results[i].reply.view()))
            log::debug("sidekiq_cron_job_pushed", {{"name", ticks[i].schedule}, {"jid", ticks[i].jid}});
        }
        end();
      }));
}

void GemSchedules::Run::end() {
  looking = false;
  timer.start_at(next);
}

GemSchedules::GemSchedules(EventLoop& loop, AsyncConnection& redis, Settings settings)
    : run_(std::make_unique<Run>(loop, redis, settings)) {}

GemSchedules::~GemSchedules() { stop(); }

void GemSchedules::look() {
  run_->redis.cancel();
  run_->looking = run_->scanning = false;
  run_->look();
}

void GemSchedules::set(Settings settings) {
  if (!run_->stopped) resume(settings);
}

void GemSchedules::resume(Settings settings) {
  stop();
  const std::unique_ptr<Run> old = std::move(run_);
  run_ = std::make_unique<Run>(old->loop, old->redis.connection(), settings);
  if (run_->redis.connected()) look();
}

void GemSchedules::stop() {
  run_->stopped = true;
  run_->redis.cancel();
  run_->timer.stop();
}

}  // namespace brood
