#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/push.hpp>
#include <brood/report.hpp>

#include "shared/api/push/push_writer.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/batches/flow.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"

namespace brood {

// Takes the pushes of every Client of this process, in place of Redis: <brood/testing.hpp> is built on it.  Called from
// any thread, and never while a Client holds its lock: the receiver may use that Client.
class BROOD_API PushReceiver {
 public:
  virtual ~PushReceiver();

  // Whether a test replaces all of Redis, so that other uses of Redis by the program are errors.
  virtual bool stands_for_redis() const { return true; }
  // Its exceptions come out of the push.
  virtual void push(std::vector<ClientPush> jobs) = 0;
  // Batches and flows, as the scripts of shared/store/batches do it; the pusher throws BatchClosed for an answer that
  // is not ok.  A job comes without its place in the batch, a step with it.
  virtual BatchAnswer open_batch(const NewBatch&) { return BatchAnswer::ok; }
  virtual BatchAnswer reopen_batch(const std::string& /*bid*/) { return BatchAnswer::ok; }
  virtual BatchAnswer push_to_batch(const std::string& bid, std::vector<ClientPush> jobs);
  virtual BatchAnswer push_steps(const std::string& /*bid*/, const std::vector<NewStep>& /*steps*/) {
    return BatchAnswer::ok;
  }
  // `holds`: the push was begun by open_batch() or reopen_batch(); else it is a job's into its own batch.
  virtual BatchAnswer close_batch(const std::string& /*bid*/, bool /*holds*/) { return BatchAnswer::ok; }
  virtual void cancel_batch(const std::string& /*bid*/) {}
  // Cancels a scheduled job; with `time`, in epoch seconds, only one scheduled for then.
  virtual bool cancel(std::string_view jid, std::optional<double> time) = 0;
  // Returns the jid of the job that holds a unique job's lock; empty: none.
  virtual std::string holder(std::string_view) { return {}; }
  // As Client::find() and Client::wait().
  virtual std::optional<JobReport> find(std::string_view) { return std::nullopt; }
  virtual std::optional<JobReport> wait(std::string_view jid, std::chrono::milliseconds) { return find(jid); }
  // Returns when the job was first cancelled.
  virtual std::int64_t cancel_iteration(std::string_view jid, std::int64_t now_epoch_seconds) = 0;

  // Keeps the rules of periodic jobs, by name, as periodic_rule.hpp has them.  Their ticks do not come.
  PutRule::Outcome put_periodic_rule(const std::string& name, const std::string& rule, bool replaces);
  bool remove_periodic_rule(const std::string& name);
  std::map<std::string, std::string> periodic_rules() const;

 private:
  mutable std::mutex periodic_mutex_;
  std::map<std::string, std::string> periodic_rules_;
};

// The receiver added last gets the pushes.  They may be removed in any order.
BROOD_API void add_push_receiver(std::shared_ptr<PushReceiver> receiver);
BROOD_API void remove_push_receiver(const PushReceiver& receiver);

// nullptr: pushes go to Redis, and asking costs one read of memory.
std::shared_ptr<PushReceiver> push_receiver();

}  // namespace brood
