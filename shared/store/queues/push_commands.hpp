#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/store/script.hpp"

namespace brood {

// How many jobs one command pushes unless the caller chooses: as many as in Sidekiq 8.
inline constexpr std::size_t usual_push_batch = 1000, usual_scheduled_batch = 100;

// The commands that push jobs.  In order: the names of the queues; the jobs of each; the jobs of the schedule; the
// tenants that have got jobs.  Of the replies only errors matter.
class PushCommands {
 public:
  explicit PushCommands(std::size_t batch_size);  // 0: the usual sizes
  PushCommands(const PushCommands&) = delete;
  PushCommands& operator=(const PushCommands&) = delete;

  void add(const std::string& queue, std::string payload);
  void add_scheduled(std::string_view score_text, std::string payload);

  std::vector<Command> take();  // call it once

 private:
  // The jobs of one queue or of the schedule, one command per batch.
  struct Batches {
    std::string_view verb;
    RedisKey key;
    std::size_t batch;
    std::size_t in_last = 0, bytes_in_last = 0;
    std::vector<Command> commands = {};

    void add(std::string_view score_text, std::string payload);
  };

  std::size_t queue_batch_;
  Command register_queues_;
  std::map<std::string, Batches> queues_;
  std::map<std::string, Batches>::iterator last_queue_;
  Batches schedule_;
};

// How many jobs one of these commands pushes; 0 if it names queues.
std::size_t jobs_in(const Command& push);

// Pushes one job without registering its queue, so that lists of queues do not show it.  Answers the length of the
// queue.
Command push_unregistered(std::string_view queue, std::string_view payload);

inline constexpr std::size_t max_jobs_pushed_once = 500;

// Pushes a batch of at most so many jobs of one `client`: payloads for a queue or, with no queue, scores and payloads
// in turn for the schedule.  Batches are numbered from 1.  A batch that is sent twice is pushed once, for a day after
// the client's last batch.
ScriptCall push_once(std::string_view client, std::uint64_t number, std::string_view queue,
                     std::vector<std::string> payloads);

// Writes jobs for a queue where no worker looks, so that all of them can be offered at one moment.
Command push_aside(std::string_view queue);  // add the payloads to the command
// Offers the jobs laid aside for a queue; there must be some.  Send it in a transaction with those of other queues.
Command offer_laid_aside(std::string_view queue);

Command drop_queues(const std::vector<std::string>& queues);  // and the jobs laid aside for them

}  // namespace brood
