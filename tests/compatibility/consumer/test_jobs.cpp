#include <brood/batch.hpp>
#include <brood/client.hpp>
#include <brood/testing.hpp>
#include <cstdio>
#include <stdexcept>

#include "resize_image.hpp"

namespace {

void expect(bool fact, const char* what) {
  if (!fact) throw std::runtime_error(what);
}

void fake_collects_and_performs() {
  brood::testing::Fake fake(brood::testing::Jobs::of<ResizeImage>());
  const std::string jid =
      brood::Client{}.enqueue(ResizeImage{.path = "cat.png", .width = 320}, {.keep_result = std::chrono::hours(1)});
  expect(brood::Client{}.find(jid)->state == brood::JobState::queued, "the job waits");
  expect(fake.jobs_of<ResizeImage>().at(0).width == 320, "the job was pushed with its width");
  expect(fake.jobs().at(0).queue == "images", "the job was pushed to its queue");
  const brood::testing::EnqueuedTo now{.queue = "images", .in = {}, .at = {}};
  expect(fake.was_enqueued(fake.jobs_of<ResizeImage>().at(0), now), "this very job was enqueued");
  expect(fake.drain() == 1, "one job was performed");
  expect(brood::Client{}.wait(jid, std::chrono::seconds(0))->state == brood::JobState::done, "the job left a report");
  const brood::JobProgress none;
  expect(fake.progress(jid).value_or(none).done == 0 && none.total == 0 && none.note.empty(), "it said nothing");
}

void fake_counts_batches() {
  using brood::testing::FakeBatch;
  brood::testing::Fake fake(brood::testing::Jobs::of<ResizeImage>());
  brood::Client client;
  brood::Batch batch(client, {.description = "pictures", .parent = {}});
  batch.on(brood::BatchEvent::success, brood::Push{.job_class = "Ruby::Album", .args = "[7]"});
  batch.push([](brood::BatchJobs& jobs) { jobs.enqueue(ResizeImage{.path = "owl.png", .width = 40}); });
  expect(fake.find_batch(batch.bid())->state == FakeBatch::State::running, "the batch waits for its job");
  const std::string jid = fake.jobs().at(0).jid;
  expect(fake.kill(jid) && fake.dead().at(0).jid == jid && fake.retries().empty(), "the job died");
  expect(fake.batches().at(0).dead == 1, "its death was counted");
  expect(fake.retry(jid) && fake.drain("images") == 1, "it was performed after all");
  expect(fake.batches().at(0).state == FakeBatch::State::success, "so the batch has succeeded");
  expect(fake.jobs_of("Ruby::Album").size() == 1, "its callback was pushed");
}

void inline_performs(const char* library) {
  const brood::testing::Inline performs(brood::testing::Jobs::of_library(library));
  const std::string jid = brood::Client{}.enqueue(ResizeImage{.path = "dog.png", .width = 160});
  expect(!performs.progress(jid), "it said nothing");
}

void supervised_runs_workers(const char* library) {
  using brood::testing::Outcome;
  brood::testing::Supervised brood({.libraries = {library}});
  const Outcome done = brood.wait_for(brood.client().enqueue(ResizeImage{.path = "cow.png", .width = 80}));
  expect(done.kind == Outcome::Kind::succeeded, "the job succeeded in a worker");
  const std::string jid = brood.client().push({.job_class = "ResizeImage", .args = R"(["cow.png", "wide"])"});
  const Outcome failed = brood.wait_for(jid);
  expect(failed.kind == Outcome::Kind::retried && failed.error_class == "ArgumentError", "wrong arguments were told");
}

}  // namespace

// Without any test framework.
int main(int argc, char** argv) {
  if (argc != 2) return 64;
  try {
    fake_collects_and_performs();
    fake_counts_batches();
    inline_performs(argv[1]);
    supervised_runs_workers(argv[1]);
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
