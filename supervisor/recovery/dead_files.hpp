#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace brood {

// The files of dead supervisors.
//
// A file describes the workers, and each shard in which they had jobs in flight needs it.  A shard that cannot be
// reached may be one of them.  So a file is removed only when every shard has been looked at since its supervisor was
// found dead, and none names the supervisor any more.  An earlier look does not count: the supervisor may not have
// listed itself yet.
class DeadFiles {
 public:
  explicit DeadFiles(int shards) : named_(static_cast<std::size_t>(shards)) {}

  // Call it when shards were added, which have not been looked at.
  void expect(int shards) { named_.resize(static_cast<std::size_t>(shards)); }

  // Notes that a look at this shard has found these supervisors, living and dead.
  void note_look(int shard, std::set<std::string> names);
  // Notes that this shard needs this supervisor's file no more.  The file is removed once the other shards have been
  // looked at, too.
  void remove(int shard, const std::string& name, const std::string& scoreboard);

  // The names found in all shards; nullopt if a shard has not been looked at.
  std::optional<std::set<std::string>> named() const;

 private:
  struct Waiting {
    std::string scoreboard;
    std::set<int> done;  // shards that were looked at since and do not name the supervisor
  };
  bool remove_if_done(const Waiting& file) const;

  std::vector<std::optional<std::set<std::string>>> named_;  // by shard
  std::map<std::string, Waiting> waiting_;                   // by the supervisor's name
};

}  // namespace brood
