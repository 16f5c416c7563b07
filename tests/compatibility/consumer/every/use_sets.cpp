#include <brood/api.hpp>
#include <brood/client.hpp>

#include "expect.hpp"
#include "jobs.hpp"
#include "programs.hpp"

using namespace std::chrono_literals;

namespace {

const auto takes_all = [](const brood::JobRecord&) { return true; };

void use_queues(brood::Client& client, brood::Api& api) {
  brood::Queue queue = api.queue("waiting");
  EXPECT(queue.name() == "waiting" && queue.size() == 0 && queue.latency() == 0);
  EXPECT_THROW(std::invalid_argument, api.queue(""));
  const std::vector<std::string> jids = client.enqueue_bulk(std::vector<Lingers>(5), {.queue = "waiting"});
  EXPECT(queue.size() == 5 && queue.latency() >= 0);
  std::size_t seen = 0;
  queue.each([&](const brood::JobRecord&) { return ++seen < 3; });
  EXPECT(seen == 3 && queue.page(1, 3).size() == 2);
  const std::optional<brood::JobRecord> job = queue.find(jids[0]);
  EXPECT(job && job->is_job && job->jid == jids[0] && job->queue == "waiting" && job->job_class == "Lingers" &&
         job->display_class == "Lingers" && job->args == "[]" && job->display_args() == "[]" && job->tags.empty() &&
         job->created_at && job->enqueued_at && !job->failed_at && !job->retried_at && !job->retry_count &&
         job->error_class.empty() && job->error_message.empty() && job->backtrace().empty() &&
         job->member("retry") == "true" && job->shard.empty());
  EXPECT(!brood::JobRecord::read("no job").is_job);
  EXPECT(queue.remove(*job) && !queue.remove(*job));
  const brood::BulkResult removed = queue.remove_if([&](const brood::JobRecord& one) { return one.jid != jids[4]; },
                                                    [](std::size_t, std::size_t) { return true; });
  EXPECT(removed.looked_at == 4 && removed.wanted == 3 && removed.done == 3 && removed.gone == 0 &&
         removed.stuck == 0 && !removed.stopped);

  queue.pause();
  EXPECT(queue.paused());
  const std::vector<brood::QueueSummary> summaries = api.queue_summaries();
  EXPECT(summaries.size() == 1 && summaries[0].name == "waiting" && summaries[0].size == 1 &&
         summaries[0].latency >= 0 && summaries[0].paused && summaries[0].is_list);
  EXPECT(api.queue_summaries_by_base().size() == 1 && api.tenants("waiting").empty());
  queue.unpause();
  EXPECT(!queue.paused() && api.queues().size() == 1);
  queue.clear();
  EXPECT(api.queues().empty());
}

// One Redis is a shard without a name.
void use_shards(brood::Api& api) {
  EXPECT(api.shards() == std::vector<std::string>{""} && api.shard("").queues().empty());
  EXPECT_THROW(std::invalid_argument, api.shard("east"));
  brood::Api away("unix:///nowhere/redis.sock");
  away.on_away([](const std::string&, const std::string&) {});
  EXPECT_THROW(brood::RedisError, away.stats());  // it is the only one
}

void use_entries(brood::Client& client, brood::Api& api) {
  brood::JobSet scheduled = api.scheduled(), dead = api.dead();
  const brood::Time time = std::chrono::system_clock::now() + 1h;
  const std::vector<std::string> jids =
      client.enqueue_bulk_at(time, std::vector<Lingers>(6), {.queue = "moved", .tags = {"found"}});
  EXPECT(scheduled.name() == "schedule" && scheduled.size() == 6);
  const brood::SetEntry entry = *scheduled.find(jids[0]);
  EXPECT(entry.score > 1e9 && !entry.score_text.empty() && entry.time() > time - 1s);
  EXPECT(scheduled.find(entry.score, [&](const brood::SetEntry& one) { return one.jid == entry.jid; }).has_value());
  EXPECT(scheduled.fetch(entry.score).size() == 6 && scheduled.fetch(0, entry.score - 1).empty());
  using Order = brood::JobSet::Order;
  EXPECT(scheduled.page(0, 4).size() == 4 && scheduled.page(0, 4, Order::highest_first).size() == 4 &&
         scheduled.page(1, 4, Order::lowest_first).size() == 2);
  std::size_t seen = 0, found = 0;
  scheduled.each([&](const brood::SetEntry&) { return ++seen > 0; });
  scheduled.scan(R"("found")", [&](const brood::SetEntry&) { return ++found > 0; });
  EXPECT(scheduled.scan(
      "nobody", [](const brood::SetEntry&) { return true; }, [](std::size_t, std::size_t) { return true; }));
  EXPECT(seen == 6 && found == 6);

  EXPECT(scheduled.reschedule(entry, time + 1h) && !scheduled.reschedule(entry, time));
  EXPECT(scheduled.remove(*scheduled.find(jids[0])) && !scheduled.remove(entry));
  EXPECT(scheduled.run(*scheduled.find(jids[1])) && api.queue("moved").size() == 1);
  EXPECT(scheduled.kill(*scheduled.find(jids[2])) && dead.name() == "dead" && dead.size() == 1);
  const brood::JobSet::Condition is_third = [&](const brood::SetEntry& one) { return one.jid == jids[3]; };
  const brood::Progress once = [](std::size_t done, std::size_t total) { return done < total; };
  EXPECT(scheduled.remove_if(is_third, once).done == 1);
  EXPECT(scheduled.kill_all().done == 2 && dead.size() == 3);
  EXPECT(dead.run_all(takes_all).done == 3 && api.queue("moved").size() == 4);
  EXPECT(api.retries().name() == "retry" && api.retries().size() == 0);
  const std::string dies = client.enqueue_at(time, Lingers{}, {.queue = "moved", .unique = true});
  EXPECT(scheduled.kill(*scheduled.find(dies)));
  client.enqueue(Lingers{}, {.queue = "moved", .unique = true});
  EXPECT_THROW(brood::JobStays, dead.run(*dead.find(dies)));
  dead.clear();
  scheduled.clear();
  api.queue("moved").clear();

  api.limit_dead(2, 24h);
  EXPECT_THROW(std::invalid_argument, api.limit_dead(0, 1h));
  client.enqueue_bulk_at(time, std::vector<Lingers>(3));
  scheduled.kill_all();
  EXPECT(dead.size() == 1);  // as in Sidekiq, one less than the limit
  dead.clear();
}

void use_statistics(brood::Api& api) {
  api.reset_stats();
  const brood::Stats stats = api.stats();
  EXPECT(stats.processed == 0 && stats.failed == 0 && stats.scheduled == 0 && stats.retries == 0 && stats.dead == 0 &&
         stats.enqueued == 0 && stats.processes == 0 && stats.busy == 0 && stats.default_latency == 0);
  EXPECT(api.history(7).size() == 7 && api.history(1)[0].day.size() == 10);
  EXPECT_THROW(std::invalid_argument, api.history(0));
  EXPECT(api.mark_deploy("a commit") && !api.mark_deploy("a commit"));
  const std::vector<brood::DeployMark> marks = api.deploy_marks();
  EXPECT(marks.size() == 1 && marks[0].label == "a commit" &&
         marks[0].at > std::chrono::system_clock::now() - std::chrono::hours(1));
  EXPECT(brood::histogram_bounds_ms().size() == 25);
}

}  // namespace

void use_sets(const std::string& redis_url) {
  brood::Client client(redis_url);
  brood::Api api;  // REDIS_URL
  use_queues(client, api);
  use_shards(api);
  use_entries(client, api);
  use_statistics(api);
}
