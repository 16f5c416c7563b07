#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace brood {

// The files of dead supervisors.  What a file says of the workers is needed in each shard in which they had jobs in
// flight, and a shard that cannot be reached may be one of them.  So a file is removed only when every shard has been
// looked at and none names its supervisor any more.
class DeadFiles {
 public:
  explicit DeadFiles(int shards) : named_(static_cast<std::size_t>(shards)) {}

  // There are more shards now, which nobody has looked at.
  void expect(int shards) { named_.resize(static_cast<std::size_t>(shards)); }

  // A look at this shard has found these supervisors, living and dead.
  void note_look(int shard, std::set<std::string> names);
  // This shard has done all that it had to for this supervisor: its file is removed now, or when the other shards have
  // done so too.
  void remove(int shard, const std::string& name, const std::string& scoreboard);

  // The names found in all shards; nullopt: one shard has not been looked at.
  std::optional<std::set<std::string>> named() const;

 private:
  bool is_needed(const std::string& name) const;

  std::vector<std::optional<std::set<std::string>>> named_;  // of each shard
  std::map<std::string, std::string> waiting_;               // scoreboards, by their supervisors' names
};

}  // namespace brood
