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

// A Redis, with the unreliable connection to it that brood and the walk's client use.
struct Shard {
  Shard() : server(RedisServer::Options{.append_only = true}), proxy(server.socket_path()) {}

  // Refuses each write that takes memory, until make_room().
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

// A supervisor, which may be ended and started again, and the configurations that its workers may have.
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
  void kill9();               // only the supervisor
  void kill9_with_workers();

  State state() const { return state_; }
  const std::string& name() const { return name_; }
  BroodProcess& process() { return *process_; }
  std::vector<Helper> helpers() const;
  std::string log() const { return process_ ? process_->log() : std::string(); }
  const DrawnConfig& config() const { return config_; }

  // Its past and present caps.
  const std::vector<Bound>& queue_caps() const { return queue_caps_; }
  const std::vector<Bound>& class_caps() const { return class_caps_; }
  const std::vector<Bound>& tenant_caps() const { return tenant_caps_; }
  // Looks in the log whether a restart has ended.  The earlier caps then no longer hold.
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
  std::vector<Bound> queue_caps_, class_caps_, tenant_caps_;
  bool restart_is_open_ = false;
  std::size_t ends_awaited_ = 0;
};

// The parts of a site.
struct SiteShape {
  int shards = 1;  // in each configuration
  bool has_spare = false;
  bool has_two_fleets = false, preloads = false, clients_keep = false;

  int all_shards() const { return shards + (has_spare ? 1 : 0); }
};

// How a configuration treats the spare shard, to which jobs are always pushed.
enum class Spare { absent, served, drained };

// A batch in Redis.
struct FoundBatch {
  int shard = 0;
  BatchRecord record;
  std::string states;  // two bits for each job
};

// Everything that a walk uses.
struct Site {
  Site(const SiteShape& shape, const std::string& planted);

  std::string config(Spare spare, int active_key) const;

  void use_library(bool bad) const;
  std::vector<Whereabouts> whereabouts();
  std::vector<FoundBatch> batches();
  std::size_t jobs_left();  // anywhere except in `dead`
  void make_due(const std::string& set);
  // Returns what Redis still holds after all fleets have ended: locks, places, jobs in flight; also negative numbers.
  std::vector<std::string> leftovers();
  // Returns where an encrypted argument appears in clear: in the writes that Redis has kept, and in logs.
  std::vector<std::string> secrets_in_clear() const;

  SiteShape shape;
  TemporaryDirectory directory;
  std::string ledger = directory.write("ledger", "");
  std::deque<Shard> shards;
  std::deque<Fleet> fleets;
};

}  // namespace brood::walk
