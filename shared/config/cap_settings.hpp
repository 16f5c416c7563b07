#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// At most so many workers, over all machines, hold jobs of these queues at a time; if classes are named, jobs of these
// classes.  No queue as a whole is in two caps, and no class in two for one queue.
//
// A job's class cannot be seen from outside its queue.  So the worker that finds a job of such a class sets it aside,
// into a queue beside its own: "<queue>@<cap>".  The cap applies to all of that queue, and a worker that serves the
// queue serves it too.
struct CapSettings {
  std::string name;
  std::vector<std::string> queues;  // with classes: none stands for all
  std::int64_t most = 1;
  std::vector<std::string> classes = {};
  bool per_tenant = false;  // of the tenants in `queues` ("images~*") each has so many places
  std::string place = {};   // of the section: "etc/brood.toml:12: limits.heavy"

  bool names(std::string_view queue) const { return std::find(queues.begin(), queues.end(), queue) != queues.end(); }
  bool is_of_class(std::string_view name_of_class) const {
    return std::find(classes.begin(), classes.end(), name_of_class) != classes.end();
  }
  // A name may be "images~*", for all tenants of images.
  bool may_set_aside(std::string_view queue) const;
  bool may_set_aside_of_tenants(std::string_view base) const;
};

// The queue that `queue` stands beside; itself where it is no queue of jobs that were set aside.
std::string_view home_of(const std::vector<CapSettings>& caps, std::string_view queue);

// The caps that hold for a queue: its own, and that for which its jobs were set aside; none for most.
std::vector<const CapSettings*> caps_of(const std::vector<CapSettings>& caps, std::string_view queue);

// The queues beside this one that its jobs may be in.
std::vector<std::string> asides_of(const std::vector<CapSettings>& caps, std::string_view queue);

// Where a job of this class waits that was fetched from `queue`, or from beside it; empty: it may be run as fetched.
std::string aside_for(const std::vector<CapSettings>& caps, std::string_view queue, std::string_view job_class);

// One shard's share of these caps: places are shared out, so that all shards together have no more.
std::vector<CapSettings> share_of(std::vector<CapSettings> caps, std::size_t shard, std::size_t shards);

}  // namespace brood
