#include "shared/api/job_finder.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "shared/api/push/client_connection.hpp"
#include "shared/base/clock.hpp"
#include "shared/store/in_flight/job_search.hpp"
#include "shared/store/kept_report.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_block =
    30s;  // of one BLMOVE: then it asks whether the server is the master
constexpr std::chrono::milliseconds turn_of_a_shard = 1s;  // while the job's shard is unknown
constexpr std::chrono::milliseconds reply_slack = 5s;
constexpr std::chrono::milliseconds before_next_try = 200ms;
constexpr std::chrono::milliseconds longest_wait_for_job = std::chrono::hours(24 * 365);

std::chrono::milliseconds left_until(SteadyTime deadline) {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now()), 0ms);
}

}  // namespace

JobFinder::JobFinder(const std::vector<RedisAddress>& shards) {
  for (const RedisAddress& address : shards)
    shards_.push_back(std::make_unique<Shard>(Shard{address.without_password(), Connection(address)}));
}

// A shard that is away is passed over, unless the job is nowhere else.
JobFinder::Found JobFinder::look(std::string_view jid) {
  std::exception_ptr trouble;
  for (const auto& shard : shards_) {
    const auto note = [&](const std::exception_ptr& why) {
      if (!trouble) trouble = why;
    };
    try {
      LookedUpJob job = look_up_job(shard->redis, jid);
      if (job.report.state == JobState::unknown) continue;
      const bool has_ended = job.report.state == JobState::done || job.report.state == JobState::dead;
      return {std::move(job.report), shard.get(), !has_ended};
    } catch (const ConnectionLost& lost) {
      note(std::make_exception_ptr(RedisLost(lost.why, "Redis at " + shard->name + ": " + lost.what())));
    } catch (const UnexpectedReply& reply) {
      note(std::make_exception_ptr(RedisError("Redis at " + shard->name + ": " + reply.what())));
    }
  }
  if (trouble) std::rethrow_exception(trouble);
  return {{}, nullptr, false};
}

std::optional<JobReport> JobFinder::find(std::string_view jid) {
  Found found = look(jid);
  if (found.shard == nullptr) return std::nullopt;
  return std::move(found.report);
}

// Waits in this Redis; nullopt: in that time there was none.  Throws ConnectionLost where asking again may help.
std::optional<JobReport> JobFinder::kept_in(Shard& shard, std::string_view jid, std::chrono::milliseconds longest) {
  const Reply reply = std::move(shard.redis
                                    .call_patiently({longest > 0ms ? wait_for_report(jid, longest) : ask_report(jid)},
                                                    {.longest = longest + reply_slack})
                                    .front());
  switch (classify_error(reply.view().error())) {
    case ErrorKind::none:
      return read_kept_report(reply.view());
    case ErrorKind::not_applied_retry:  // a full Redis refuses BLMOVE
      std::this_thread::sleep_for(std::min(longest, before_next_try));
      return read_kept_report(shard.redis.call(ask_report(jid)).view());
    case ErrorKind::not_applied_reconnect:
      shard.redis.disconnect();
      throw ConnectionLost(std::string(reply.view().error()));
    default:
      throw RedisError("Redis at " + shard.name + ": " + std::string(reply.view().error()));
  }
}

std::optional<JobReport> JobFinder::wait(std::string_view jid, std::chrono::milliseconds timeout) {
  const SteadyTime deadline = steady_now() + std::clamp<std::chrono::milliseconds>(timeout, 0ms, longest_wait_for_job);
  Shard* there = shards_.size() == 1 ? shards_.front().get() : nullptr;
  std::optional<JobReport>
      earlier;  // of a death after which the job was retried: it lies there until the job ends anew
  bool looked = there != nullptr;
  for (std::size_t turn = 0;; ++turn) {
    const auto left = left_until(deadline);
    std::exception_ptr trouble;
    try {
      if (!looked) {
        Found found = look(jid);
        looked = true;
        there = found.shard;
        if (there != nullptr && !found.is_alive) return std::move(found.report);
      }
      Shard& shard = there != nullptr ? *there : *shards_[turn % shards_.size()];
      const auto length = earlier ? 0ms : std::min(left, there != nullptr ? longest_block : turn_of_a_shard);
      std::optional<JobReport> report = kept_in(shard, jid, length);
      if (report && !earlier && report->state == JobState::dead) {
        Found found = look(jid);
        if (!found.is_alive) return found.shard != nullptr ? std::move(found.report) : report;
        earlier = report;
      } else if (report && !(earlier && report->ended_at == earlier->ended_at)) {
        return report;
      }
      if (earlier) std::this_thread::sleep_for(std::min(left, before_next_try));
      if (!report && !shard.redis.is_at_master()) shard.redis.disconnect();
    } catch (const ConnectionLost& lost) {
      trouble = std::make_exception_ptr(RedisLost(lost.why, lost.what()));
      if (lost.why == Loss::login_refused) std::rethrow_exception(trouble);
    } catch (const RedisLost& lost) {
      if (!is_away(lost)) throw;
      trouble = std::current_exception();
    }
    if (left == 0ms && trouble) std::rethrow_exception(trouble);
    if (left == 0ms) return std::nullopt;
    if (trouble) std::this_thread::sleep_for(std::min(left, before_next_try));
  }
}

}  // namespace brood
