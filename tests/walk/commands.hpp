#pragma once

#include <string>
#include <vector>

#include "tests/walk/pusher.hpp"
#include "tests/walk/scene.hpp"

namespace brood::walk {

// Runs the commands of an operator.
class Commands {
 public:
  Commands(Scene& scene, Pusher& pusher) : scene_(scene), pusher_(pusher) {}

  void pause();
  void unpause(bool all);
  void change_job();
  void kill_job();
  void cancel_job();
  void scale();

 private:
  bool lift(const Pause& pause);
  std::string running_job(Pusher::Kind kind);

  Scene& scene_;
  Pusher& pusher_;
  std::vector<Pause> open_pauses_;
};

}  // namespace brood::walk
