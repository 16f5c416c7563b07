#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/walk/dice.hpp"
#include "tests/walk/job_book.hpp"
#include "tests/walk/site.hpp"

namespace brood::walk {

struct WalkOptions {
  std::uint64_t seed = 1;
  int actions = 60;
  std::string planted{};  // the name of a planted bug; empty: none
  bool verbose = false;
};

// One walk: does to the site what a seed draws, then lifts all that holds jobs up, and waits until each has ended.
class Walk {
 public:
  explicit Walk(const WalkOptions& options);

  // Returns false if something is not as it must be; report() tells what.
  bool run();
  std::string report() const;
  std::string findings() const;                        // the first few, a line each
  void keep_logs(const std::string& directory) const;  // all of each fleet
  std::size_t jobs() const { return book_.jobs().size(); }
  std::size_t lines() const { return book_.lines(); }

 private:
  void act();
  void push();
  void push_burst();
  WalkJob drawn_job();
  void send(WalkJob& job, const std::vector<std::pair<std::string, std::string>>& members, std::string retry,
            std::optional<int> delay_ms);
  void hup(bool bad);
  void kill_helper();
  void end_supervisor();
  void quiet_or_resume();
  void pause();
  void unpause(bool all);
  void restart_redis();
  void lose_reply();
  void change_job();
  void let_go();
  bool come_to_rest();
  void check_status();
  void stop_all();

  Fleet& some_fleet();
  Shard& some_shard(int& index);
  std::string command(int shard, std::vector<std::string> words);
  void note(const std::string& what);
  void find(const std::string& jid, const std::string& what) { findings_.push_back({jid, what}); }

  const WalkOptions options_;
  WalkDice dice_;
  const std::int64_t began_ = now_ns();
  const int shard_count_;
  const bool has_two_fleets_, has_preload_, clients_keep_;
  DrawnConfig config_;
  Site site_;
  JobBook book_;
  Excuses excuses_;
  std::vector<Finding> findings_;
  std::vector<std::string> actions_;
  int pushed_ = 0;
  bool library_is_bad_ = false;
  std::vector<Pause> open_pauses_;
};

}  // namespace brood::walk
