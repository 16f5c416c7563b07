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

// What job classes say, as supervisors publish it for those who push: a document by build.  A build is one set of job
// libraries and commands; workers of several run during a rolling restart.

// A supervisor says so once in this time, and a build that has not been seen for three times as long is gone.  So is
// one that was seen later than in three times as long from now.
inline constexpr std::chrono::seconds between_publications{300};

// `document` is JSON; empty: it is published already.  The answer is false if it is not, and must be sent.
ScriptCall publish_classes(std::string_view build, std::string_view document);
bool read_was_published(ReplyView reply);  // throws UnexpectedReply

// A build, and since when and when last workers of it ran, in epoch seconds.
struct SeenBuild {
  std::string build;
  std::int64_t since = 0, seen = 0;
  bool runs = false;  // it is not gone by `now`
};
bool is_before(const SeenBuild& a, const SeenBuild& b);  // the newer one, those that run before those that are gone
Command ask_seen_builds();
// In that order.  Entries that cannot be read are left out, and all where Redis refuses to tell.
std::vector<SeenBuild> read_seen_builds(ReplyView reply, std::int64_t now);

// The documents of these builds, of one at least, in their order; empty for one that is not known.
Command ask_documents(const std::vector<std::string>& builds);
std::vector<std::string> read_documents(ReplyView reply);

}  // namespace brood
