#include <brood/iteration.hpp>
#include <thread>

#include "jobs.hpp"
#include "ledger.hpp"

brood::Items<std::string> Lines::items(std::optional<std::int64_t> cursor) const {
  return brood::each_line(file, cursor);
}
void Lines::each(const std::string& line, brood::Iteration& job) const {
  if (line == "wait to be cancelled") {
    note("waits to be cancelled");
    while (!std::ifstream(file + ".cancelled")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return;
  }
  if (line == "two" && job.executions() == 1) throw brood::Interrupted{};
  note("line " + line + ", " + std::to_string(job.items_done()) + " before it in run " +
       std::to_string(job.executions()));
  job.progress(job.items_done(), 0, line);
  if (line == "enough") job.finish();
}
void Lines::on_start(brood::Iteration& job) const {
  note(std::string("lines start") + (job.cancelled() ? ", cancelled" : ""));
}
void Lines::on_resume() const { note("lines resume"); }
void Lines::on_stop() const { note("lines stop"); }
void Lines::on_cancel() const { note("lines cancelled"); }
void Lines::on_complete() const { note("lines complete"); }

brood::Items<std::vector<int>> Batches::items(std::optional<std::int64_t> cursor) const {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  brood::Items<std::vector<int>> batches = brood::batches_of(2, brood::each_of(std::move(numbers), cursor));
  if (batches.total() != count) note("batches without a total");
  return batches;
}
void Batches::each(const std::vector<int>& batch) const {
  std::string line = "batch";
  for (const int number : batch) line += " " + std::to_string(number);
  note(line);
}

brood::Items<std::string, std::string> Steps::items(std::optional<std::string> cursor) const {
  using Step = brood::Step<std::string, std::string>;
  if (of_a_range) return std::vector<Step>{{.item = "ranged", .cursor = "r"}};
  return [done = cursor.has_value()]() mutable -> std::optional<Step> {
    if (std::exchange(done, true)) return std::nullopt;
    return brood::Step{std::string("called"), std::string("c")};
  };
}
void Steps::each(const std::string& item, brood::Iteration& job) const {
  const std::chrono::duration<double> run = job.run_time(), all = job.total_run_time();
  note("step " + item + (run <= all ? "" : ", and time runs backwards"));
}
