#include "supervisor/cli/access/ask_published_classes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/store/report/published_builds.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "supervisor/cli/access/shard_connections.hpp"

namespace brood {
namespace {

struct BuildAsked {
  SeenBuild seen;
  std::string document;
};

// By when Redis answers, not by this machine's clock.
std::int64_t seconds_of_redis(ReplyView time) {
  if (!time.is_array() || time.size() == 0) return static_cast<std::int64_t>(epoch_seconds(wall_now()));
  return std::atoll(std::string(time[0].text()).c_str());
}

std::vector<BuildAsked> ask_builds(Connection& redis) {
  const std::vector<Reply> replies = redis.pipeline({ask_seen_builds(), {"TIME"}});
  std::vector<SeenBuild> seen = read_seen_builds(replies[0].view(), seconds_of_redis(replies[1].view()));
  if (seen.empty()) return {};
  std::vector<std::string> names;
  for (const SeenBuild& build : seen) names.push_back(build.build);
  const std::vector<std::string> documents = read_documents(redis.call(ask_documents(names)).view());
  std::vector<BuildAsked> builds;
  for (std::size_t i = 0; i < seen.size() && i < documents.size(); ++i) {
    if (!documents[i].empty()) builds.push_back({std::move(seen[i]), documents[i]});
  }
  return builds;
}

PublishedClasses published_by(std::vector<BuildAsked> builds) {
  PublishedClasses published;
  for (BuildAsked& one : builds)
    published.add({one.seen.build, one.seen.since, one.seen.seen, one.seen.runs}, std::move(one.document));
  return published;
}

}  // namespace

PublishedClasses ask_published_classes(Connection& redis) { return published_by(ask_builds(redis)); }

PublishedClasses ask_published_classes(ShardConnections& shards) {
  std::vector<BuildAsked> all;
  shards.each([&](ShardConnections::Shard& shard) {
    for (BuildAsked& one : ask_builds(shard.redis)) {
      const auto known =
          std::ranges::find_if(all, [&](const BuildAsked& other) { return other.seen.build == one.seen.build; });
      if (known == all.end()) {
        all.push_back(std::move(one));
        continue;
      }
      known->seen.seen = std::max(known->seen.seen, one.seen.seen);
      known->seen.since = std::min(known->seen.since, one.seen.since);
      known->seen.runs = known->seen.runs || one.seen.runs;
    }
  });
  std::ranges::stable_sort(all, [](const BuildAsked& a, const BuildAsked& b) { return is_before(a.seen, b.seen); });
  return published_by(std::move(all));
}

PublishedClasses published_classes_for_push(ShardConnections& shards) try {
  return ask_published_classes(shards);
} catch (const ConnectionLost&) {
  return {};
} catch (const UnexpectedReply&) {
  return {};
}

RubyServes ask_ruby_serves(ShardConnections& shards) {
  return [&shards, processes = std::make_shared<std::optional<std::vector<RubyProcess>>>()](const std::string& queue) {
    if (!*processes) {
      processes->emplace();
      try {
        shards.each([&](ShardConnections::Shard& shard) {
          for (RubyProcess& process :
               ruby_processes([&](const std::vector<Command>& asked) { return shard.redis.pipeline(asked); }))
            (*processes)->push_back(std::move(process));
        });
      } catch (const ConnectionLost&) {
      }
    }
    return std::ranges::any_of(**processes, [&](const RubyProcess& process) {
      return std::ranges::find(process.queues, queue) != process.queues.end();
    });
  };
}

}  // namespace brood
