#pragma once

#include <deque>
#include <set>
#include <string>

#include <brood/batch.hpp>

#include "tests/walk/pusher.hpp"
#include "tests/walk/scene.hpp"

namespace brood::walk {

// Draws batches and flows, pushes them with the walk's clients, adds to them and cancels them, and records this in the
// ledger.
class BatchPusher {
 public:
  BatchPusher(Scene& scene, Pusher& pusher) : scene_(scene), pusher_(pusher) {}

  void push();
  void reopen();
  void cancel();
  // Cancels batches with a failed push: Redis may not have received the first cancellation.
  void cancel_unreturned();
  // The bids whose cancellation was requested.
  const std::set<std::string>& cancelled() const { return cancelled_; }

 private:
  struct Pushed {
    int shard = 0;
    Batch batch;
  };

  void push_batch(int shard, const std::string& parent, int depth);
  void push_flow(int shard, const std::string& parent);
  void fill(BatchJobs& jobs, int shard, const std::string& bid, int depth);
  template <typename Batches>
  void add_callbacks(Batches& batch);
  // Writes how a push has returned.
  template <typename Function>
  void note_push(int shard, const std::string& bid, Function pushes);
  void append(const std::string& what, const std::string& id, const std::string& more);
  std::string cancel_by_command(int shard, const std::string& bid);

  Scene& scene_;
  Pusher& pusher_;
  std::deque<Pushed> pushed_;
  std::set<std::string> cancelled_;
  std::set<std::pair<int, std::string>> unreturned_;
};

}  // namespace brood::walk
