#include "supervisor/cli/jobs/bulk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "shared/base/log_line.hpp"
#include "supervisor/cli/jobs/job_lines.hpp"
#include "supervisor/cli/terminal/count_text.hpp"

namespace brood {
namespace {

constexpr std::size_t slice_jobs = 1'000;
constexpr std::size_t slice_bytes = 4 << 20;  // ends a slice too, so that long lines do not pile up in memory

class Slices {
 public:
  Slices(Client& client, const BulkOptions& options) : client_(client), options_(options) {}

  void add(Push push, std::size_t bytes) {
    waiting_.push_back(std::move(push));
    waiting_bytes_ += bytes;
    if (waiting_.size() >= slice_jobs || waiting_bytes_ >= slice_bytes) send();
  }

  void send() {
    const std::size_t count = waiting_.size();
    waiting_bytes_ = 0;
    try {
      // A unique job whose lock another job holds has no jid.
      const std::vector<std::string> jids = client_.push_bulk(std::exchange(waiting_, {}), options_);
      const auto refused = static_cast<std::size_t>(std::ranges::count(jids, std::string()));
      refused_ += refused;
      pushed_ += jids.size() - refused;
    } catch (const NotConfirmed& error) {
      unconfirmed_ = error;
      pushed_ += count;
    } catch (const RedisError& error) {
      if (pushed_ == 0) throw;
      throw RedisError(fmt::format("{}; the {} jobs before these were pushed{}", error.what(), pushed_,
                                   unconfirmed_ ? ", and replicas have not confirmed all of them" : ""));
    }
  }

  std::size_t pushed() const { return pushed_; }
  PushedLines result(std::size_t unfit) const { return {pushed_, refused_, unfit}; }
  // Throws NotConfirmed if replicas did not confirm all jobs.
  void complain() const {
    if (unconfirmed_) throw NotConfirmed(fmt::format("{}; all {} jobs were pushed", unconfirmed_->what(), pushed_));
  }

 private:
  Client& client_;
  BulkOptions options_;
  std::vector<Push> waiting_;
  std::size_t waiting_bytes_ = 0, pushed_ = 0, refused_ = 0;
  std::optional<NotConfirmed> unconfirmed_;
};

// The next job that can be pushed.  Reports the lines before it that cannot on standard error and counts them in
// `unfit`.
std::optional<Push> next_that_fits(JobLines& lines, std::size_t& unfit) {
  for (;;) {
    try {
      return lines.next();
    } catch (const std::invalid_argument& error) {
      ++unfit;
      fmt::print(stderr, "brood enqueue: {}: {}\n", log::printable(lines.place()), log::printable(error.what()));
    }
  }
}

}  // namespace

PushedLines push_lines(Client& client, const std::string& path, const LineOptions& options) {
  JobLines lines(path, options);
  PushProgress progress(lines);
  Slices slices(client, {.spread = options.spread});
  std::size_t unfit = 0;
  while (auto push = next_that_fits(lines, unfit)) {
    slices.add(*std::move(push), lines.bytes_of_line());
    progress.show(slices.pushed());
  }
  slices.send();
  slices.complain();
  return slices.result(unfit);
}

std::string locks_held_by_others(std::size_t jobs) {
  return counted(jobs, "unique job is not pushed: another holds its lock",
                 "unique jobs are not pushed: others hold their locks");
}

}  // namespace brood
