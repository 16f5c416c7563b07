#include <brood/api.hpp>
#include <brood/client.hpp>
#include <brood/periodic.hpp>
#include <chrono>
#include <fstream>
#include <optional>

#include "expect.hpp"
#include "jobs.hpp"
#include "programs.hpp"

namespace {

bool has_noted(const std::string& ledger, const std::string& wanted) {
  std::ifstream file(ledger);
  for (std::string line; std::getline(file, line);) {
    if (line == wanted) return true;
  }
  return false;
}

void show_process(brood::Api& api) {
  EXPECT(api.processes().size() == 1);
  const brood::Process process = *api.process(api.processes()[0].identity);
  EXPECT(!process.hostname.empty() && process.tag == "consumer" && !process.version.empty() && process.pid > 1 &&
         process.queues.size() == 2 && process.labels.size() == 1 && process.concurrency == 2 && process.rss_kb > 0 &&
         process.rtt_us > 0 && !process.quiet && !process.embedded);
  EXPECT(process.busy <= 2 && process.started_at < process.beat + std::chrono::seconds(2));
  EXPECT(process.capsules.size() == 2);
  const brood::Process::Capsule& capsule = process.capsules[0];
  EXPECT(!capsule.name.empty() && capsule.concurrency == 1 && !capsule.mode.empty() && capsule.weights.size() == 1);
  EXPECT(!api.process("nobody") && !api.quiet("nobody") && !api.dump("nobody") && !api.resume("nobody") &&
         api.leader().empty());
}

// The figures of a class in the last five minutes.
brood::ClassMetrics sum_of(brood::Api& api, const std::string& job_class) {
  const std::vector<brood::MinuteMetrics> minutes = api.metrics_of(job_class, std::chrono::minutes(5));
  EXPECT(minutes.size() == 5 && minutes[0].minute < minutes[4].minute && minutes[0].histogram.size() == 26);
  brood::ClassMetrics sum;
  for (const brood::MinuteMetrics& minute : minutes) {
    sum.processed += minute.processed;
    sum.failed += minute.failed;
    sum.milliseconds += minute.milliseconds;
  }
  return sum;
}

// The class's job in the last heartbeats, which may still show an earlier one.
std::optional<brood::Work> work_of(brood::Api& api, const std::string& job_class) {
  for (const brood::Work& work : api.work()) {
    if (work.job.job_class == job_class) return work;
  }
  return std::nullopt;
}

// Heartbeats update it every ten seconds.
void show_statistics(brood::Api& api, const std::string& identity, const std::string& ledger) {
  EVENTUALLY(work_of(api, "Lingers").has_value());
  const brood::Work work = *work_of(api, "Lingers");
  EXPECT(work.identity == identity && !work.tid.empty() && work.queue == "default" && work.run_at > brood::Time{});
  EXPECT(has_noted(ledger, "lingers"));
  EVENTUALLY(sum_of(api, "Ends").processed >= 7 && sum_of(api, "Ends").failed >= 6);
  const auto counts_all = [](const brood::DayStats& day) { return day.processed >= 7 && day.failed >= 6; };
  EVENTUALLY(api.stats().processed >= 7 && counts_all(api.history(1).front()));
  const brood::ClassMetrics top = api.top_classes(std::chrono::minutes(60)).front();
  EXPECT(!top.job_class.empty() && top.processed >= top.failed && top.average_seconds() >= 0 &&
         top.milliseconds < 1'000'000);
}

void pause_a_class(brood::Api& api) {
  api.pause_class("Ruby::Sync", "the ERP is down", std::chrono::hours(1));
  const brood::PausedClass paused = api.paused_classes().at(0);
  EXPECT(paused.job_class == "Ruby::Sync" && paused.reason == "the ERP is down" && paused.shard.empty());
  EXPECT(*paused.until - *paused.since == std::chrono::hours(1));
  EXPECT(api.unpause_class("Ruby::Sync") && !api.unpause_class("Ruby::Sync"));
}

void add_periodic_jobs(brood::Api& api, const std::string& redis_url) {
  const brood::PeriodicTick tick = brood::Periodic::next("30 2 * * *", "Europe/Berlin", 1).at(0);
  EXPECT(tick.at > std::chrono::system_clock::now() && tick.offset >= std::chrono::hours(1) && tick.local.size() == 26);
  brood::Periodic periodic(redis_url);
  EXPECT(periodic.add("late", "@yearly", Lingers{}, {.tz = "Europe/Berlin"}));
  EXPECT(periodic.replace("late", "@monthly", brood::Push{.job_class = "Ruby::Late", .args = "[1]", .queue = "late"}));
  const brood::PeriodicJob late = *api.periodic().find("late");
  EXPECT(late.name == "late" && late.cron == "@monthly" && late.tz == "UTC" && late.job_class == "Ruby::Late" &&
         late.args == "[1]" && late.queue == "late" && late.retry == "true" && !late.place.empty());
  EXPECT(late.source == brood::PeriodicSource::redis && !late.paused && late.paused_at.empty() && late.error.empty());
  EXPECT(late.next && !late.last && late.claimed == 0 && late.missed == 0 && late.skipped == 0);
  bool has_library = false;
  for (const brood::PeriodicJob& job : periodic.list()) {
    has_library |= job.source == brood::PeriodicSource::library;
    EXPECT(job.source != brood::PeriodicSource::configuration);
  }
  EXPECT(has_library);
  EXPECT(periodic.remove("late") && !periodic.remove("late"));
}

}  // namespace

void use_processes(const std::string& redis_url, const std::string& ledger) {
  brood::Client client(redis_url);
  brood::Api api(redis_url);
  show_process(api);
  pause_a_class(api);
  add_periodic_jobs(api, redis_url);
  const std::string identity = api.processes()[0].identity;
  client.enqueue(Lingers{});
  show_statistics(api, identity, ledger);
  EXPECT(api.stop(identity));  // it stops at its next heartbeat
  EVENTUALLY(api.processes().empty());
}
