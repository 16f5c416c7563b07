#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"

namespace brood {

// What a supervisor says about itself to Sidekiq's tools; changes with a reload, not from beat to beat.
struct ProcessFacts {
  std::vector<CapsuleSettings> capsules;
  std::string tag;
  std::vector<std::string> labels;
  std::string version;  // the Web UI shows it where it differs from the UI's own version
  WallTime started_at{};
  std::string config_file = {};  // its whole path; empty: none.  For the commands of this machine alone

  int concurrency() const;  // workers of all capsules together
};

// The `info` field of the process hash: every member that any release's Web UI needs.  The busy page prints these
// members without escaping, so that every character but [A-Za-z0-9_.:@/*-] becomes '-'.
std::string heartbeat_info(const Identity& identity, const ProcessFacts& facts);

// The thread id under which a worker is listed: base 36 of incarnation and slot together, never used twice.
std::string thread_id(int slot, std::uint64_t incarnation);

}  // namespace brood
