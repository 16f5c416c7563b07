#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/walk/scene.hpp"

namespace brood::walk {

// Draws jobs and pushes them with the walk's clients.
class Pusher {
 public:
  explicit Pusher(Scene& scene) : scene_(scene) {}

  // The kinds of jobs, each as frequent as its weight in pusher.cpp.
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
    no_json,
    branch,  // the last three need a batch
    branch_apart,
    reopens
  };

  void push();
  // Pushes one job of the kind that takes a while, and returns its jid.
  std::string push_long(Kind kind);

  // A job to push, and what becomes known of it.
  struct Drawn {
    WalkJob job;
    Push push;
  };
  Drawn draw(Kind kind, int shard, bool is_long);

 private:
  void push_burst();
  WalkJob push_one(Kind kind, bool is_long);
  void send(Drawn& drawn);

  Scene& scene_;
  int pushed_ = 0;
};

}  // namespace brood::walk
