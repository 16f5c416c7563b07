#pragma once

#include <brood/api.hpp>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/lists/quarantine_list.hpp"

namespace brood {

// All jobs of a queue that wait for their turn: in the queue, beside it because of a cap, and in quarantine or for
// their paused class.  Scheduled jobs and retries are not among them.  Throws as Queue does, and ConnectionLost.
class JobsOfQueue {
 public:
  // Asks Redis which queues are beside this one.
  JobsOfQueue(Api& api, ShardConnections& shards, const std::string& name);

  // The queue itself, then those beside it.
  const std::vector<Queue>& lists() const { return lists_; }
  std::size_t size() const;
  struct Waiting {
    std::size_t jobs = 0;
    bool is_cut = false;                 // there may be more
    std::set<std::string> classes = {};  // their own and wrapped classes: any of these may be paused
  };
  // The jobs in quarantine or of a paused class.
  Waiting waiting_for_class(const QuarantineBounds& bounds = {}) const;

  // `where` is the queue that holds the job, or waits_for_class.
  static constexpr const char* waits_for_class = "(its class)";
  // List after list, each from the newest job to the oldest.  `visit` returns false to stop.
  using Visit = std::function<bool(const JobRecord& job, const std::string& where)>;
  void each(const Visit& visit) const;

  bool remove(const JobRecord& job);  // false if it is no longer there
  // Without a condition, removes all.
  BulkResult remove_if(const std::function<bool(const JobRecord&)>& wanted, const Progress& progress);
  // Removes all jobs, and the names of the queues.  Returns how many jobs there were.
  std::size_t clear();

 private:
  bool each_waiting(ShardConnections::Shard& shard, const QuarantineBounds& bounds,
                    const std::function<QuarantineStep(const JobRecord&, const QuarantinedJob&)>& take) const;

  std::string name_;
  std::vector<Queue> lists_;
  ShardConnections& shards_;
};

}  // namespace brood
