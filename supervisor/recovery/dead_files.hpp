#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace brood {

// The files of dead supervisors.  What they say of the dead one's workers is needed in each shard in which it had jobs
// in flight, and one that cannot be reached may be such: a file goes when every shard has been looked at, and none
// names its supervisor any more.
class DeadFiles {
 public:
  explicit DeadFiles(int shards) : named_(static_cast<std::size_t>(shards)) {}

  // A look at this shard has found these supervisors, living and dead.
  void note_look(int shard, std::set<std::string> names);
  // All that is known of this one has been seen to in this shard: its file is removed now, or when the others have done
  // so too.
  void remove(int shard, const std::string& name, const std::string& scoreboard);

  // All names of all shards; nullopt: one has not been looked at.
  std::optional<std::set<std::string>> named() const;

 private:
  bool is_needed(const std::string& name) const;

  std::vector<std::optional<std::set<std::string>>> named_;  // of each shard
  std::map<std::string, std::string> waiting_;               // scoreboards, by their supervisors' names
};

}  // namespace brood
