#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// A cap ([limits.NAME]): at most `most` workers, over all machines, hold jobs of these queues at a time.  If classes
// are named, only jobs of these classes count.  No queue as a whole is in two caps, and no class in two for one queue.
//
// Redis does not know the classes of the jobs in a queue.  So the worker that finds a job of such a class sets it
// aside, into a queue beside its own: "<queue>@<cap>".  The cap applies to all of that queue, and a worker that serves
// the queue serves it too.
struct CapSettings {
  std::string name;
  std::vector<std::string> queues;  // if classes are named, none stands for all queues
  std::int64_t most = 1;
  std::vector<std::string> classes = {};
  bool per_tenant = false;  // each of the tenants in `queues` ("images~*") has `most` places
  std::string place = {};   // of the section: "etc/brood.toml:12: limits.heavy"

  bool names(std::string_view queue) const { return std::find(queues.begin(), queues.end(), queue) != queues.end(); }
  bool is_of_class(std::string_view name_of_class) const {
    return std::find(classes.begin(), classes.end(), name_of_class) != classes.end();
  }
  // A name may be "images~*", for all tenants of images.
  bool may_set_aside(std::string_view queue) const;
  bool may_set_aside_of_tenants(std::string_view base) const;
};

// The queue that `queue` stands beside; `queue` itself if it holds no jobs that were set aside.
std::string_view home_of(const std::vector<CapSettings>& caps, std::string_view queue);

// The caps that apply to a queue: its own, and the one for which its jobs were set aside.  Most queues have none.
std::vector<const CapSettings*> caps_of(const std::vector<CapSettings>& caps, std::string_view queue);

// The queues beside `queue` in which its jobs may be set aside.
std::vector<std::string> asides_of(const std::vector<CapSettings>& caps, std::string_view queue);

// The queue in which a job of this class waits that was fetched from `queue`, or from beside it; empty: it may run as
// fetched.
std::string aside_for(const std::vector<CapSettings>& caps, std::string_view queue, std::string_view job_class);

// One shard's share of these caps: the places are divided, so that all shards together have no more.
std::vector<CapSettings> share_of(std::vector<CapSettings> caps, std::size_t shard, std::size_t shards);

}  // namespace brood
