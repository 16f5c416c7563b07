#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/walk/scene.hpp"

namespace brood::walk {

// Draws jobs and pushes them by the walk's clients.
class Pusher {
 public:
  explicit Pusher(Scene& scene) : scene_(scene) {}

  // The jobs that are pushed, each as often as pusher.cpp weighs it.
  enum Kind {
    plain,
    apart,
    heavy,
    fails,
    fails_apart,
    crashes,
    crashes_apart,
    slow,
    patient,
    unique,
    unique_to_start,
    alone,
    limited,
    limited_apart,
    items,
    items_apart,
    secret,
    no_class,
    no_json
  };

  void push();
  // Pushes one job of the kind that takes a while, and returns its jid.
  std::string push_long(Kind kind);

 private:
  void push_burst();
  WalkJob push_one(Kind kind, bool is_long);
  void send(WalkJob& job, const std::vector<std::pair<std::string, std::string>>& members, std::string retry,
            std::optional<int> delay_ms);

  Scene& scene_;
  int pushed_ = 0;
};

}  // namespace brood::walk
