#include <brood/batch.hpp>
#include <brood/client.hpp>
#include <brood/flow.hpp>

#include <fstream>
#include <vector>

#include "expect.hpp"
#include "jobs.hpp"
#include "programs.hpp"

using namespace std::chrono_literals;

namespace {

bool noted(const std::string& ledger, const std::string& line) {
  std::ifstream file(ledger);
  for (std::string one; std::getline(file, one);)
    if (one == line) return true;
  return false;
}

void use_batch(brood::Client& client, const std::string& ledger) {
  const brood::BatchOptions options{.description = "of the consumer", .parent = ""};
  brood::Batch batch(client, options);
  EXPECT(batch.bid().size() == 14);
  batch.on(brood::BatchEvent::success, InBatch{"success"}, {.retry = 1});
  batch.on(brood::BatchEvent::complete, brood::Push{.job_class = "InBatch", .args = R"(["complete"])"});
  batch.on(brood::BatchEvent::finished, InBatch{"finished"});
  batch.on(brood::BatchEvent::death, InBatch{"death"});
  EXPECT_THROW(std::invalid_argument, batch.on(brood::BatchEvent::death,
                                               brood::Push{.job_class = "X", .at = std::chrono::system_clock::now()}));
  batch.push([&](brood::BatchJobs& jobs) {
    EXPECT(jobs.enqueue(InBatch{"job"}).size() == 24);
    jobs.enqueue_in(1ms, InBatch{"soon"});
    jobs.enqueue_at(std::chrono::system_clock::now() + 10ms, InBatch{"at"}, {.retry = 2});
    EXPECT(jobs.enqueue_bulk(std::vector<InBatch>{{"reopens"}, {"more"}}) == 2);
    EXPECT(jobs.push({.job_class = "InBatch", .args = R"(["pushed"])"}).size() == 24);
    brood::Batch child(client, {.parent = batch.bid()});
    child.push([](brood::BatchJobs& its) { its.enqueue(InBatch{"of a child"}); });
  });
  EXPECT_THROW(std::logic_error, batch.on(brood::BatchEvent::death, InBatch{"late"}));
  for (const char* line :
       {"job of its batch", "reopens of its batch", "reopened of its batch", "success", "complete", "finished"})
    EVENTUALLY(noted(ledger, std::string("batch: ") + line));
  EXPECT(!noted(ledger, "batch: death"));
  EXPECT_THROW(brood::BatchClosed, batch.push([](brood::BatchJobs& jobs) { jobs.enqueue(InBatch{"too late"}); }));
}

void use_cancelled(brood::Client& client, const std::string& ledger) {
  brood::Batch batch(client);
  batch.push([](brood::BatchJobs& jobs) { jobs.enqueue(InBatch{"until cancelled"}); });
  EVENTUALLY(noted(ledger, "batch: until cancelled of its batch"));
  brood::Batch moved = std::move(batch);
  moved.cancel();
  EVENTUALLY(noted(ledger, "batch: was cancelled"));
}

void use_flow(brood::Client& client, const std::string& ledger) {
  const brood::FlowOptions options{.description = "of steps", .parent = ""};
  brood::Flow flow(client, options);
  EXPECT(flow.bid().size() == 14);
  const brood::StepName first = flow.add("first", InBatch{"first step"});
  const brood::StepOptions runs{.after = {first}, .if_failed = brood::IfFailed::run};
  flow.add("second", InBatch{"second step"}, runs);
  flow.add("third", brood::Push{.job_class = "InBatch", .args = R"(["third step"])"},
           {.after = {"first", std::string("second")}, .if_failed = brood::IfFailed::skip});
  flow.add("fourth", InBatch{"fourth step"}, {.after = {std::string_view("third")}, .if_failed = brood::IfFailed::fail},
           {.retry = 3});
  flow.on(brood::BatchEvent::success, InBatch{"flow"});
  flow.on(brood::BatchEvent::death, brood::Push{.job_class = "InBatch", .args = R"(["death"])"});
  flow.push();
  EXPECT(first.name == "first" && !noted(ledger, "batch: no result"));
  EVENTUALLY(noted(ledger, "batch: flow"));
  for (const char* line : {"first step of its batch", "second step of its batch", "fourth step of its batch"})
    EXPECT(noted(ledger, std::string("batch: ") + line));
  brood::Flow circle(client);
  circle.add("one", InBatch{"one"}, {.after = {"one"}});
  EXPECT_THROW(std::invalid_argument, circle.push());
  brood::Flow other = std::move(circle);
  other.cancel();
}

}  // namespace

void use_batches(const std::string& redis_url, const std::string& ledger) {
  brood::Client client{redis_url};
  use_batch(client, ledger);
  use_cancelled(client, ledger);
  use_flow(client, ledger);
}
