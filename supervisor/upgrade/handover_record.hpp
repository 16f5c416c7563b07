#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/held_files.hpp"
#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "supervisor/report/metrics.hpp"
#include "supervisor/report/statistics.hpp"

namespace brood {

// A handover that cannot be read: what() is a sentence.
class BadHandover : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A configuration file as it was when it was read.
struct ConfigAsRead {
  std::string text;
  std::uint32_t mode = 0;  // of the file
};

// The state that a supervisor passes to the next program in the same process.  It is passed as JSON in a memfd, so that
// another version can read it: a reader skips unknown members, and missing members keep the values given here.
// `format` changes if that is not enough.
struct Handover {
  static constexpr int current_format = 1;

  int format = current_format;
  std::string version;     // of the brood that wrote it
  std::string program;     // the name of its file
  bool rehearsal = false;  // a copy for a child, which checks whether it could take over, and then signs the copy
  Identity identity;
  std::string redis;  // its address without a password; with several shards, all addresses
  WallTime started_at{};
  bool quiet = false;
  bool roll_is_owed = false;  // workers of an earlier program are to be replaced after the quiet

  std::uint64_t last_incarnation = 0;
  int used_slots = 0;

  // The part of a configuration that is needed until its last worker has gone.
  struct Generation {
    std::uint32_t number = 1;
    std::vector<CapsuleSettings> capsules;
    WorkerSettings worker;
    // The libraries and the directory of its workers, including workers that replace a crashed one.
    std::vector<std::string> require = {};
    std::string directory = {};
    std::vector<HeldFiles::Entry> held = {};
  };
  std::vector<Generation> generations;
  std::uint32_t present = 1;  // the generation from which vacant places are filled

  struct Worker {
    pid_t pid = 0;
    int slot = 0;
    std::uint32_t generation = 1;
    int capsule = 0, number = 0;
    std::uint64_t incarnation = 0;
    int shard = 0;
    bool finishing = false;  // no other worker takes its place
    std::uint32_t flags = 0;
    bool waits_its_turn = false, never_fetched = false;
    std::uint64_t processed_before = 0;
    SteadyTime occupied_since{}, ready_at{};  // ready_at zero: not ready
    int control = -1, output = -1;            // descriptors
    std::string output_token = {};
  };
  std::vector<Worker> workers;

  // A process that forks workers of a generation.  A template that does not understand a request exits.
  struct Template {
    pid_t pid = 0;
    std::uint32_t generation = 1;
    int slots = 0;  // how many slots it knows
    int line = -1;  // a descriptor
  };
  std::vector<Template> templates = {};

  // The file of this program's page, only for the way back: the next program has its own page.
  std::optional<HeldFiles::Entry> page = {};

  int control_listener = -1;
  int log = -1;  // used if the log file cannot be reopened

  // nullopt if there is no file.
  std::optional<ConfigAsRead> config = {};         // of the next program
  std::optional<ConfigAsRead> former_config = {};  // of this program
  struct Counted {
    int slot = -1;
    Statistics::Counts counts = {};
  };
  std::vector<Counted> counted;  // counts that were, or may have been, sent to Redis
  Statistics::Counts uncounted;  // counts that were not sent
  std::string beat_tokens;       // see BeatTokens
  std::vector<Metrics::Known> classes;
  bool is_empty_place = false;  // of a removed shard: see shard_places.hpp
  // The same four members for each shard but the first.
  struct Shard {
    std::vector<Counted> counted;
    Statistics::Counts uncounted;
    std::string beat_tokens;
    bool is_empty_place = false;
  };
  std::vector<Shard> other_shards = {};
  std::vector<int> empty_places() const;  // their numbers
  // The unrecovered remains of dead workers.
  struct Left {
    // The dead worker's slot, which becomes free once it is recovered.
    struct Slot {
      std::uint32_t generation = 0;
      int capsule = 0, number = 0;
      bool never_fetched = false;
      SteadyTime occupied_since{}, ended_at{};
    };
    int shard = 0;
    WorkerDeath death;
    std::optional<Slot> slot = {};  // nullopt if another worker has the slot, or there is none
  };
  std::vector<Left> left = {};
};

std::string to_json(const Handover& handover);
// Throws BadHandover.
Handover parse_handover(const std::string& json);

}  // namespace brood
