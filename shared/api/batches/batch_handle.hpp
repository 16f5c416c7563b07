#pragma once

#include <map>
#include <string>
#include <string_view>

#include <brood/batch.hpp>

#include "shared/api/batches/batch_sender.hpp"
#include "shared/store/batches/batch.hpp"

namespace brood {

// One batch in the process that pushes into it; used by Batch and Flow.
class BatchHandle {
 public:
  // A new one, made by the job with this payload; empty: by no job.  Throws std::invalid_argument.
  BatchHandle(Client& client, const std::string& description, const std::string& parent,
              std::string_view payload_of_job);
  // One that exists, of the current job, which holds it open until it ends.
  BatchHandle(Client& client, std::string bid);

  const std::string& bid() const { return bid_; }
  BatchSender& sender() { return sender_; }
  bool exists() const { return exists_; }  // in Redis

  void on(BatchEvent event, Push job);

  BatchPush begin_push();
  void end_push(const BatchPush& push) { sender_.close(push, !is_own_job_); }
  // The push has failed: the batch is cancelled, unless it is the current job's own.  Never throws.
  void abandon_push(const BatchPush& push) noexcept;
  void cancel();

 private:
  std::string bid_;
  BatchSender sender_;
  NewBatch made_ = {};
  bool exists_ = false, is_own_job_ = false;
  std::map<BatchEvent, std::size_t> callbacks_ = {};
};

}  // namespace brood
