#include "jobs.hpp"

#include <brood/batch.hpp>

#include <stdexcept>
#include <thread>

#include "ledger.hpp"

using namespace std::chrono_literals;

void Everything::perform(brood::Context& job) {
  const bool as_told = flag && number == 1'234'567'890'123 && real == 0.5 && text == "t\u00e4xt" && list.size() == 2 &&
                       pair[1] == 4 && sizes.at("a") == 1 && places.at("b").y == 3 && colour == Colour::green &&
                       wait == 1500ms && file == "/tmp/x" && std::get<0>(more).count == 5 &&
                       std::get<1>(more).size() == 2 && std::get<std::string>(std::get<2>(more)) == "three" &&
                       std::get<3>(more).at(0) == std::byte{4} && !perhaps;
  note("everything " + std::string(as_told ? "as told" : "otherwise") + ", any " + any.text);
  const std::optional<std::chrono::milliseconds> left = job.time_left();
  job.extend_timeout(20min);
  job.log_with("width", 320);
  job.log_with("tenant", "acme");
  note("jid " + std::string(job.jid().size() == 24 ? "whole" : "cut") + ", class " + std::string(job.job_class()) +
       ", queue " + std::string(job.queue()) + ", capsule " + std::string(job.capsule()) + ", attempt " +
       std::to_string(job.attempt()) + " after " + std::to_string(job.retry_count()) + ", " +
       (job.stopping() ? "stopping" : "going on") + ", timeout " +
       (left && *left <= 30s && *job.time_left() > 19min ? "moved" : "as before") + ", payload " +
       (job.payload().find("\"retry_queue\":\"again\"") != std::string_view::npos ? "whole" : "cut"));
  job.progress(1, 2, "half");
  job.result(sizes);
  job.log("an ordinary word");
  job.log(brood::LogLevel::info, "the same word");
  job.log(brood::LogLevel::warn, "a loud word");
  job.log(brood::LogLevel::error, "a louder one");
}

void Ends::perform() {
  if (how == "by argument") throw brood::ArgumentError("no such argument");
  if (how == "by name") throw brood::JobFailure("Consumer::Named", "chosen words");
  if (how == "by signal") *reinterpret_cast<volatile int*>(0x10) = 1;
  if (how == "interrupted") {
    static bool before = false;
    note(before ? "ends after an interruption" : "is interrupted");
    if (!std::exchange(before, true)) throw brood::Interrupted{};
    return;
  }
  throw std::runtime_error(how);
}

brood::RetryDecision Ends::retry_in(int count, const std::exception& error) {
  const std::string what = error.what();
  note("retry_in " + std::to_string(count) + ": " + what.substr(0, what.find(' ', 8)));
  if (what == "later") return 2h;
  if (what == "discarded") return brood::discard;
  if (what == "killed" || what == "killed and discarded") return brood::kill;
  return brood::usual_delay;
}

brood::RetryDecision Ends::exhausted(const brood::JobInfo& job, const std::exception& error) const {
  note("exhausted " + how + " of " + std::string(job.queue) + ": " + error.what() + (job.crashed ? ", crashed" : ""));
  if (how == "killed and discarded") return brood::discard;
  return brood::usual_delay;
}

void Ends::on_expired(const brood::JobInfo& job) const { note("expired " + how + " of " + std::string(job.queue)); }

void Lingers::perform(brood::Context& job) {
  note("lingers");
  while (!job.stopping()) std::this_thread::sleep_for(5ms);
  throw brood::Interrupted{};
}

void Replaced::perform() { note("replaced by " + by_whom); }

void Limited::perform() const {
  if (by_hand) throw brood::OverLimit("by hand", 2h, brood::OverLimit::usual_reschedules);
  const brood::LimiterOptions ignores{.wait = 0ms,
                                      .policy = brood::OverLimitPolicy::ignore,
                                      .ttl = std::chrono::hours(24),
                                      .reschedule = 3,
                                      .backoff = [](int overrated) { return std::chrono::seconds(overrated); }};
  brood::LimiterOptions raises = ignores;
  raises.policy = brood::OverLimitPolicy::raise;
  const brood::Limiter erp = brood::Limiter::concurrent("erp", 4), bucket = brood::Limiter::bucket("bucket", 100, 1h),
                       window = brood::Limiter::window("window", 2, 1h, ignores),
                       again = brood::Limiter::window("window", 2, 1h, raises),
                       leaky = brood::Limiter::leaky("leaky", 100, 1h), none = brood::Limiter::unlimited();
  const int sum = brood::Limiter::all_of(erp, bucket, leaky, none).within_limit([] { return 7; });
  const bool ran = window.used(2).within_limit([] {}), left_out = !window.within_limit([] {});
  const brood::Limiter points = brood::Limiter::points("points", 100, 1);
  points.used(50).within_limit([](brood::Points& used) { used.used(used.used() / 2); });
  std::string over;
  try {
    again.within_limit([] {});
  } catch (const brood::OverLimit& reached) {
    over = reached.limiter() + " for " + std::to_string(reached.in()->count()) + " up to " +
           std::to_string(reached.reschedules());
  }
  note("limited " + erp.name() + " " + std::to_string(sum) +
       (ran && left_out ? " as told, over " : " otherwise, over ") + over);
}

void InBatch::perform(const brood::Context& job) const {
  note("batch: " + what + (job.bid().empty() ? "" : " of its batch"));
  if (what == "first step") job.result(std::string("what it leaves"));
  if (what == "second step" && job.result_of<std::string>("first") != "what it leaves") note("batch: no result");
  if (what == "second step" && job.result_of("first") != brood::Json{R"("what it leaves")"}) note("batch: no result");
  if (what == "reopens") {
    static brood::Client client;
    brood::Batch::current(job, client)->push([](brood::BatchJobs& jobs) { jobs.enqueue(InBatch{"reopened"}); });
    if (!brood::Batch::current(job)) note("batch: otherwise");
  }
  if (what != "until cancelled") return;
  while (!job.batch_cancelled() && !job.stopping()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  note("batch: was cancelled");
}

BROOD_JOBS(Everything, Ends, InBatch, Lingers, Replaced, Limited, Lines, Batches, Steps)
