#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <brood/client.hpp>

#include "shared/api/push/client_shards.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/base/clock.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/batches/flow.hpp"

namespace brood {

// Sends the operations of one batch, over a client's connection to the shard that the batch lies on.  Each call may be
// sent again after a lost reply, and takes effect once.  Throws RedisError; BatchClosed if the batch takes no more
// jobs.
class BatchSender {
 public:
  explicit BatchSender(Client& client) : client_(client) {}

  void open(const NewBatch& batch);  // on its parent's shard, or one that answers
  void reopen(const BatchPush& push);
  void find(const std::string& bid);  // the shard of an existing batch
  void close(const BatchPush& push, bool holds);
  void cancel(const std::string& bid);

  // Runs the client's middleware and checks the job; nullopt: a middleware has stopped the push.
  std::optional<ClientPush> prepare(Push job);
  // Sends at most max_jobs_pushed_to_batch jobs, in as many scripts as they have destinations.  `numbers` counts these.
  void push(const BatchPush& push, std::uint64_t& numbers, std::vector<ClientPush> jobs);
  // The text that Redis keeps of a callback until a script pushes it.
  std::string kept(Push job);
  // Writes the same of a step of a flow into it, and what is noted of its report.
  void keep_step(Push job, const std::string& bid, std::uint32_t index, NewStep& step);
  // All steps of a flow; those that wait for no other begin.
  void push_steps(const BatchPush& push, const std::vector<NewStep>& steps);

  WallTime now();

 private:
  Reply run(const ScriptCall& call);
  bool find_shard(const std::string& bid);
  ClientPush prepare_kept(Push job, TimeUnit& times);

  Client& client_;
  std::optional<std::size_t> shard_;  // its place among the client's
  std::optional<PushWriter> writer_;  // of the jobs that are sent next
  std::uint32_t next_ = 0;            // the index of the batch's next job, unless another process pushes too
};

}  // namespace brood
