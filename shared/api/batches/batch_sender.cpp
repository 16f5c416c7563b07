#include "shared/api/batches/batch_sender.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <brood/batch.hpp>

#include "shared/api/opening.hpp"
#include "shared/api/push/push_receiver.hpp"
#include "shared/base/redis_clock.hpp"

namespace brood {
namespace {

constexpr int most_attempts = 5;  // of a call whose reply was lost

void require(BatchAnswer answer, const std::string& bid) {
  const auto closed = [&](const char* why) { throw BatchClosed("the batch " + bid + " " + why); };
  switch (answer) {
    case BatchAnswer::ok:
      return;
    case BatchAnswer::none:
      return closed("does not exist: it was deleted, or has expired");
    case BatchAnswer::cancelled:
      return closed("was cancelled");
    case BatchAnswer::ended:
      return closed("has ended");
    case BatchAnswer::exists:
      return closed("exists already");
    case BatchAnswer::no_parent:
      return closed("has a parent that does not exist: it was deleted, or has expired");
    case BatchAnswer::parent_ended:
      return closed("has a parent that has ended");
    case BatchAnswer::parent_cancelled:
      return closed("has a parent that was cancelled");
    case BatchAnswer::too_deep:
      return closed("is nested too deep: at most 32 batches may be");
  }
}

// The batch writes these itself.
void refuse_place_in_batch(const Push& job) {
  for (const auto& [name, json] : job.members) {
    if (name == "bid" || name == "batch_index")
      throw std::invalid_argument("\"" + name + "\" is given twice: it has a place of its own in a job of a batch");
  }
}

BatchJob batch_job(ClientPush job) {
  BatchJob sent{std::move(job.jid), job.score ? score_text(*job.score) : "", std::move(job.payload), std::nullopt};
  if (job.lock) sent.lock = BatchJob::Lock{job.lock->name, job.lock->longest, job.lock->on_conflict};
  return sent;
}

}  // namespace

Reply BatchSender::run(const ScriptCall& call) {
  ClientShards& shards = detail::Opening::shards(client_);
  for (int attempt = 1;; ++attempt) {
    try {
      return shards.at(shard_.value(), [&](PushSender& sender) {
        Reply reply = sender.redis().run(call);
        if (!sender.redis().is_confirmed())
          throw NotConfirmed("Redis at " + sender.redis().name() + ": too few replicas confirm the push");
        return reply;
      });
    } catch (const RedisLost& lost) {
      if (!is_away(lost) || attempt == most_attempts) throw;
    }
  }
}

bool BatchSender::find_shard(const std::string& bid) {
  ClientShards& shards = detail::Opening::shards(client_);
  if (shards.count() == 1) shard_ = 0;
  for (std::size_t i = 0; !shard_ && i < shards.count(); ++i) {
    const bool is_here = shards.at(
        i, [&](PushSender& sender) { return read_batch_exists(sender.redis().call(ask_batch_exists(bid)).view()); });
    if (is_here) shard_ = i;
  }
  return shard_.has_value();
}

void BatchSender::find(const std::string& bid) {
  if (!push_receiver() && !find_shard(bid)) require(BatchAnswer::none, bid);
}

void BatchSender::open(const NewBatch& batch) {
  if (const auto receiver = push_receiver()) return require(receiver->open_batch(batch), batch.push.bid);
  if (batch.parent.empty())
    shard_ = detail::Opening::shards(client_).choose();
  else if (!find_shard(batch.parent))
    require(BatchAnswer::no_parent, batch.push.bid);
  require(read_batch_answer(run(open_batch(batch, redis_now())).view()), batch.push.bid);
}

void BatchSender::reopen(const BatchPush& push) {
  if (const auto receiver = push_receiver()) return require(receiver->reopen_batch(push.bid), push.bid);
  require(read_batch_answer(run(reopen_batch(push)).view()), push.bid);
}

void BatchSender::close(const BatchPush& push, bool holds) {
  if (const auto receiver = push_receiver()) return require(receiver->close_batch(push.bid, holds), push.bid);
  require(read_batch_answer(run(close_push(push, holds)).view()), push.bid);
}

void BatchSender::cancel(const std::string& bid) {
  if (const auto receiver = push_receiver()) return receiver->cancel_batch(bid);
  run(cancel_batch(bid));
}

std::optional<ClientPush> BatchSender::prepare(Push job) {
  refuse_place_in_batch(job);
  if (!writer_) writer_ = detail::Opening::writer(client_);
  const bool is_in_order = std::any_of(job.members.begin(), job.members.end(), [](const auto& member) {
    return member.first == "sequence" && member.second != "null" && member.second != "false";
  });
  std::optional<ClientPush> prepared = detail::Opening::prepare(client_, *writer_, std::move(job));
  if (prepared && is_in_order && !push_receiver() && detail::Opening::shards(client_).count() > 1)
    throw std::invalid_argument(
        "with several shards a job of a sequence cannot be in a batch: its sequence may lie on another one");
  if (!prepared || !prepared->lock) return prepared;
  if (prepared->lock->on_conflict == OnConflict::replace)
    throw std::invalid_argument("a job of a batch cannot take the place of another: on_conflict is not replace");
  if (!push_receiver() && detail::Opening::shards(client_).count() > 1)
    throw std::invalid_argument(
        "with several shards a unique job cannot be in a batch: its lock may lie on another one");
  return prepared;
}

void BatchSender::push(const BatchPush& push, std::uint64_t& numbers, std::vector<ClientPush> jobs) {
  writer_.reset();
  if (const auto receiver = push_receiver()) {
    for (ClientPush& job : jobs) job.shard_by.clear();
    return require(receiver->push_to_batch(push.bid, std::move(jobs)), push.bid);
  }
  std::map<std::string, std::vector<BatchJob>> by_queue;  // "": the schedule
  for (ClientPush& job : jobs) {
    std::string queue = job.score ? "" : job.queue;
    by_queue[std::move(queue)].push_back(batch_job(std::move(job)));
  }
  for (auto& [queue, its_jobs] : by_queue) {
    ++numbers;
    for (bool is_sent = false; !is_sent;) {
      const PushedToBatch pushed =
          read_pushed_to_batch(run(push_to_batch(push, numbers, next_, queue, its_jobs)).view());
      is_sent = !pushed.moved;
      require(pushed.answer, push.bid);
      next_ = pushed.next.value_or(next_);
    }
  }
}

// Its payload has no enqueued_at: the script that pushes it writes that.
ClientPush BatchSender::prepare_kept(Push job, TimeUnit& times) {
  PushWriter writer = detail::Opening::writer(client_);
  job.at = std::chrono::system_clock::now();
  std::optional<ClientPush> prepared = detail::Opening::prepare(client_, writer, std::move(job));
  if (!prepared) throw std::invalid_argument("a middleware stops the push of a callback or a step");
  if (prepared->lock) throw std::invalid_argument("a callback or a step is not unique: it runs once where it belongs");
  times = writer.times();
  return *std::move(prepared);
}

std::string BatchSender::kept(Push job) {
  TimeUnit times{};
  const ClientPush push = prepare_kept(std::move(job), times);
  return callback_value(push.queue, times == TimeUnit::integer_milliseconds, push.jid, push.payload);
}

void BatchSender::keep_step(Push job, const std::string& bid, std::uint32_t index, NewStep& step) {
  refuse_place_in_batch(job);
  TimeUnit times{};
  ClientPush push = prepare_kept(std::move(job), times);
  step.report = report_of_step(push.payload);
  step.kept = callback_value(push.queue, times == TimeUnit::integer_milliseconds, push.jid,
                             with_place_in_batch(push.payload, bid, index));
}

void BatchSender::push_steps(const BatchPush& push, const std::vector<NewStep>& steps) {
  if (const auto receiver = push_receiver()) return require(receiver->push_steps(push.bid, steps), push.bid);
  std::uint64_t slices = 0;
  std::vector<std::uint32_t> begin;
  for (std::size_t first = 0; first < steps.size(); first += max_steps_added) {
    const std::size_t end = std::min(first + max_steps_added, steps.size());
    const std::vector<NewStep> slice(steps.begin() + static_cast<std::ptrdiff_t>(first),
                                     steps.begin() + static_cast<std::ptrdiff_t>(end));
    require(read_batch_answer(run(add_steps(push, ++slices, static_cast<std::uint32_t>(first), slice)).view()),
            push.bid);
  }
  for (std::uint32_t i = 0; i < steps.size(); ++i)
    if (steps[i].before == 0) begin.push_back(i);
  for (std::size_t first = 0; first < begin.size(); first += max_steps_added) {
    const std::size_t end = std::min(first + max_steps_added, begin.size());
    const std::vector<std::uint32_t> slice(begin.begin() + static_cast<std::ptrdiff_t>(first),
                                           begin.begin() + static_cast<std::ptrdiff_t>(end));
    require(read_batch_answer(run(release_steps(push.bid, slice)).view()), push.bid);
  }
}

WallTime BatchSender::now() { return detail::Opening::now(client_); }

}  // namespace brood
