#pragma once

#include <string>

#include "tests/walk/batch_pusher.hpp"
#include "tests/walk/commands.hpp"
#include "tests/walk/pusher.hpp"
#include "tests/walk/scene.hpp"

namespace brood::walk {

// One walk: draws actions on the site from a seed, then removes everything that holds jobs up, and waits until each has
// ended.
class Walk {
 public:
  explicit Walk(const WalkOptions& options);

  // Returns false if something is wrong; report() explains what.
  bool run();
  std::string report() const;
  std::string findings() const;                        // the first few, a line each
  void keep_logs(const std::string& directory) const;  // all of each fleet
  std::size_t jobs() const { return scene_.book.jobs().size(); }
  std::size_t lines() const { return scene_.book.lines().size(); }

 private:
  void act();
  void hup(bool bad);
  void kill_helper();
  void end_supervisor();
  void quiet_or_resume();
  void restart_redis();
  void fill_or_make_room();
  void lose_reply();
  void let_go();
  std::chrono::seconds longest_rest() const;
  bool come_to_rest();
  void wait_until_dead_are_inherited();
  void check_status();
  void stop_all();
  DrawnConfig with_site(DrawnConfig config, Spare spare);

  Scene scene_;
  Pusher pusher_;
  BatchPusher batches_;
  Commands commands_;
  DrawnConfig config_;
};

}  // namespace brood::walk
