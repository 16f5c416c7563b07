#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/redis/script_call.hpp"

namespace brood {

// The options and fields of job classes, which supervisors publish for clients that push: a document for each build.  A
// build is one set of job libraries and commands; workers of several builds run during a rolling restart.

// How often a supervisor publishes its build.  A build that was not seen for three times as long counts as gone.  So
// does one that was last seen more than three times as long in the future.
inline constexpr std::chrono::seconds between_publications{300};

// Notes that workers of a build run.  `document` is JSON; empty if it is published already.  The answer is false if it
// is not published after all, and must be sent.
ScriptCall publish_classes(std::string_view build, std::string_view document);
bool read_was_published(ReplyView reply);  // throws UnexpectedReply

// A build; when its workers were first seen, and when they were last seen, in epoch seconds.
struct SeenBuild {
  std::string build;
  std::int64_t since = 0, seen = 0;
  bool runs = false;  // it is not gone by `now`
};
bool is_before(const SeenBuild& a, const SeenBuild& b);  // builds that run come first; among equals the newer one
Command ask_seen_builds();
// Ordered by is_before().  Entries that cannot be read are left out; empty if Redis refuses.
std::vector<SeenBuild> read_seen_builds(ReplyView reply, std::int64_t now);

// The documents of these builds, at least one, in their order; empty for a build that is not known.
Command ask_documents(const std::vector<std::string>& builds);
std::vector<std::string> read_documents(ReplyView reply);

}  // namespace brood
