#include "supervisor/cli/bench/bench_queues.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "shared/api/push/push_writer.hpp"
#include "shared/base/clock.hpp"
#include "shared/store/queues/push_commands.hpp"
#include "supervisor/cli/bench/bench_interrupt.hpp"

namespace brood {
namespace {

void expect_no_error(const std::vector<Reply>& replies) {
  for (const Reply& reply : replies) {
    if (reply.view().is_error()) throw UnexpectedReply(std::string(reply.view().error()));
  }
}

std::string payload(const std::string& queue, const BenchJob& job) {
  const Push push{.job_class = job.job_class, .args = job.args, .queue = queue, .retry = job.retry};
  return prepare_push(push, wall_now()).payload;
}

}  // namespace

BenchQueues::BenchQueues(Connection& redis, int count) : redis_(redis) {
  const std::string mine = new_jid().substr(0, 8);  // two benchmarks may share a Redis
  for (int i = 0; i < count; ++i) names_.push_back(fmt::format("brood-bench-{}-{}", mine, i));
  has_aside_.resize(names_.size());
}

void BenchQueues::lay_aside(std::size_t jobs, const JobNumber& job, const std::function<void(std::size_t)>& progress) {
  constexpr std::size_t slice = 500;
  for (std::size_t begin = 0; begin < jobs; begin += slice) {
    throw_if_interrupted();
    const std::size_t end = std::min(jobs, begin + slice);
    std::vector<Command> pushes;
    for (std::size_t queue = 0; queue < names_.size(); ++queue) pushes.push_back(push_aside(names_[queue]));
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t queue = i % names_.size();
      pushes[queue].add(payload(names_[queue], job(i)));
      has_aside_[queue] = true;
    }
    std::erase_if(pushes, [](const Command& push) { return push.args.size() == 2; });
    expect_no_error(redis_.pipeline(pushes));
    progress(end);
  }
}

void BenchQueues::offer() {
  std::vector<Command> commands = {{"MULTI"}};
  for (std::size_t queue = 0; queue < names_.size(); ++queue) {
    if (has_aside_[queue]) commands.push_back(offer_laid_aside(names_[queue]));
    has_aside_[queue] = false;
  }
  commands.push_back({"EXEC"});
  expect_no_error(redis_.pipeline(commands));
}

void BenchQueues::push_traced(std::size_t queue) {
  // Everything but the time is written beforehand; the time is taken last.
  constexpr std::string_view placeholder = "1000000000000000000";
  std::string text = payload(names_[queue], {"BroodBench::Traced", fmt::format("[{},0]", placeholder)});
  const std::size_t at = text.find(placeholder);
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(steady_now().time_since_epoch()).count();
  text.replace(at, placeholder.size(), std::to_string(now));
  const Reply reply = redis_.call(push_unregistered(names_[queue], text));
  reply.view().integer();
}

void BenchQueues::remove() { redis_.call(drop_queues(names_)); }

}  // namespace brood
