#include <brood/api.hpp>
#include <brood/client.hpp>
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
  EXPECT(!api.process("nobody") && !api.quiet("nobody") && !api.dump("nobody") && api.leader().empty());
}

// What a class has done within five minutes.
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

// What a heartbeat told of a job before it may still stand there.
std::optional<brood::Work> work_of(brood::Api& api, const std::string& job_class) {
  for (const brood::Work& work : api.work()) {
    if (work.job.job_class == job_class) return work;
  }
  return std::nullopt;
}

// Heartbeats tell it, every ten seconds.
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

}  // namespace

void use_processes(const std::string& redis_url, const std::string& ledger) {
  brood::Client client(redis_url);
  brood::Api api(redis_url);
  show_process(api);
  const std::string identity = api.processes()[0].identity;
  client.enqueue(Lingers{});
  show_statistics(api, identity, ledger);
  EXPECT(api.stop(identity));  // which it follows with its next heartbeat
  EVENTUALLY(api.processes().empty());
}
