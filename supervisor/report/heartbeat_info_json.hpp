#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"

namespace brood {

// How a supervisor describes itself to Sidekiq's tools.  Changes with a reload, not from beat to beat.
struct ProcessFacts {
  std::vector<CapsuleSettings> capsules;
  std::string tag;
  std::vector<std::string> labels;
  std::string version;  // the Web UI shows it if it differs from the UI's own version
  WallTime started_at{};
  std::string config_file = {};  // absolute path; empty if none.  Used only by commands on this machine

  int concurrency() const;  // workers of all capsules together
};

// The `info` field of the process hash, with the members that the Web UI of any release needs.  The busy page prints
// them unescaped, so every character except [A-Za-z0-9_.:@/*-] becomes '-'.
std::string heartbeat_info(const Identity& identity, const ProcessFacts& facts);

// The thread id under which a worker is listed: incarnation and slot in base 36, never used twice.
std::string thread_id(int slot, std::uint64_t incarnation);

}  // namespace brood
