#pragma once

#include <brood/api.hpp>

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/store/batches/batch.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/walk/drawn_config.hpp"
#include "tests/walk/job_book.hpp"

namespace brood::walk {

// A Redis, and the unreliable way to it that brood and the walk's client take.
struct Shard {
  Shard() : server(RedisServer::Options{.append_only = true}), proxy(server.socket_path()) {}

  // Until then each write that takes memory is refused.
  void fill();
  void make_room();

  RedisServer server;
  TcpProxy proxy;
  std::optional<Client> client{};
  bool is_full = false;
};

// A process of brood below a supervisor.
struct Helper {
  pid_t pid = 0;
  std::string title;
};

// A supervisor, which may be ended and started again, and the configurations that its workers may go by.
class Fleet {
 public:
  enum class State { running, quiet, ended };

  Fleet(const TemporaryDirectory& directory, std::string name, bool preloads, std::string planted);

  void start(const DrawnConfig& config);  // for the first time, or after its end
  void hup(const DrawnConfig& config);    // while it runs
  void take_over();                       // USR2
  void quiet();
  bool resume();
  std::optional<int> stop();  // its exit status
  void kill9();               // the supervisor alone
  void kill9_with_workers();

  State state() const { return state_; }
  const std::string& name() const { return name_; }
  BroodProcess& process() { return *process_; }
  std::vector<Helper> helpers() const;
  std::string log() const { return process_ ? process_->log() : std::string(); }
  const DrawnConfig& config() const { return config_; }

  // What its caps have been so far, and are.
  const std::vector<Bound>& queue_caps() const { return queue_caps_; }
  const std::vector<Bound>& class_caps() const { return class_caps_; }
  // Looks into the log whether a restart has ended: then the caps before it hold no more.
  void follow_restarts();

 private:
  void write_config(const DrawnConfig& config);
  void note_caps(const DrawnConfig& config);
  void close_caps(std::size_t before, std::int64_t at);

  const TemporaryDirectory& directory_;
  const std::string name_;
  const bool preloads_;
  const std::string planted_;
  std::shared_ptr<TemporaryDirectory> home_ = std::make_shared<TemporaryDirectory>();
  std::optional<BroodProcess> process_;
  State state_ = State::ended;
  DrawnConfig config_;
  std::vector<Bound> queue_caps_, class_caps_;
  bool restart_is_open_ = false;
  std::size_t ends_awaited_ = 0;
};

// What a site is made of.
struct SiteShape {
  int shards = 1;  // that each configuration has
  bool has_spare = false;
  bool has_two_fleets = false, preloads = false, clients_keep = false;

  int all_shards() const { return shards + (has_spare ? 1 : 0); }
};

// What a configuration does with the spare shard, to which jobs are always pushed.
enum class Spare { absent, served, drained };

// A batch in Redis.
struct FoundBatch {
  int shard = 0;
  BatchRecord record;
  std::string states;  // two bits for each job
};

// All that a walk goes over.
struct Site {
  Site(const SiteShape& shape, const std::string& planted);

  std::string config(Spare spare, int active_key) const;

  void use_library(bool bad) const;
  std::vector<Whereabouts> whereabouts();
  std::vector<FoundBatch> batches();
  std::size_t jobs_left();  // anywhere but in `dead`
  void make_due(const std::string& set);
  // Returns what is held in Redis although all fleets have ended: locks, places, jobs in flight; and negative numbers.
  std::vector<std::string> leftovers();
  // Returns where an argument that was to be encrypted is found in clear: in any write that Redis has kept, or a log.
  std::vector<std::string> secrets_in_clear() const;

  SiteShape shape;
  TemporaryDirectory directory;
  std::string ledger = directory.write("ledger", "");
  std::deque<Shard> shards;
  std::deque<Fleet> fleets;
};

}  // namespace brood::walk
