#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace brood {

// The files of dead supervisors.  What a file says of the workers is needed in each shard in which they had jobs in
// flight, and a shard that cannot be reached may be one of them.  So a file is removed only when every shard has been
// looked at since its supervisor was found dead, and none names it any more: an earlier look may have come before that
// supervisor had listed itself.
class DeadFiles {
 public:
  explicit DeadFiles(int shards) : named_(static_cast<std::size_t>(shards)) {}

  // There are more shards now, which nobody has looked at.
  void expect(int shards) { named_.resize(static_cast<std::size_t>(shards)); }

  // A look at this shard has found these supervisors, living and dead.
  void note_look(int shard, std::set<std::string> names);
  // This shard has done all that it had to for this supervisor: its file is removed once the other shards have been
  // looked at, too.
  void remove(int shard, const std::string& name, const std::string& scoreboard);

  // The names found in all shards; nullopt: one shard has not been looked at.
  std::optional<std::set<std::string>> named() const;

 private:
  struct Waiting {
    std::string scoreboard;
    std::set<int> done;  // shards that were looked at since, and do not name the supervisor
  };
  bool remove_if_done(const Waiting& file) const;

  std::vector<std::optional<std::set<std::string>>> named_;  // of each shard
  std::map<std::string, Waiting> waiting_;                   // by their supervisors' names
};

}  // namespace brood
