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

// Redis' own time in epoch seconds; this machine's clock only if Redis refuses to answer TIME.
std::int64_t seconds_of_redis(ReplyView time) {
  if (!time.is_array() || time.size() == 0) return static_cast<std::int64_t>(epoch_seconds(wall_now()));
  return std::atoll(std::string(time[0].text()).c_str());
}

// Does not read the documents in `known`, which may be null.
std::vector<BuildAsked> ask_builds(Connection& redis, const PublishedClassesForPushes::Documents* known = nullptr) {
  const std::vector<Reply> replies = redis.pipeline({ask_seen_builds(), {"TIME"}});
  std::vector<SeenBuild> seen = read_seen_builds(replies[0].view(), seconds_of_redis(replies[1].view()));
  std::vector<BuildAsked> builds;
  std::vector<std::string> unread;
  for (SeenBuild& build : seen) {
    const bool is_read = known != nullptr && known->contains(build.build);
    if (!is_read) unread.push_back(build.build);
    std::string document = is_read ? known->find(build.build)->second : "";
    builds.push_back({std::move(build), std::move(document)});
  }
  if (unread.empty()) return builds;
  std::vector<std::string> documents = read_documents(redis.call(ask_documents(unread)).view());
  documents.resize(unread.size());
  auto document = documents.begin();
  for (BuildAsked& one : builds) {
    if (one.document.empty()) one.document = std::move(*document++);
  }
  std::erase_if(builds, [](const BuildAsked& one) { return one.document.empty(); });
  return builds;
}

PublishedClasses published_by(std::vector<BuildAsked> builds) {
  PublishedClasses published;
  for (BuildAsked& one : builds)
    published.add({one.seen.build, one.seen.since, one.seen.seen, one.seen.runs}, std::move(one.document));
  return published;
}

std::vector<BuildAsked> ask_builds_of_all(ShardConnections& shards,
                                          const PublishedClassesForPushes::Documents* known = nullptr) {
  std::vector<BuildAsked> all;
  shards.each([&](ShardConnections::Shard& shard) {
    for (BuildAsked& one : ask_builds(shard.redis, known)) {
      const auto same =
          std::ranges::find_if(all, [&](const BuildAsked& other) { return other.seen.build == one.seen.build; });
      if (same == all.end()) {
        all.push_back(std::move(one));
        continue;
      }
      same->seen.seen = std::max(same->seen.seen, one.seen.seen);
      same->seen.since = std::min(same->seen.since, one.seen.since);
      same->seen.runs = same->seen.runs || one.seen.runs;
    }
  });
  std::ranges::stable_sort(all, [](const BuildAsked& a, const BuildAsked& b) { return is_before(a.seen, b.seen); });
  return all;
}

}  // namespace

PublishedClasses ask_published_classes(Connection& redis) { return published_by(ask_builds(redis)); }

PublishedClasses ask_published_classes(ShardConnections& shards) { return published_by(ask_builds_of_all(shards)); }

PublishedClasses published_classes_for_push(ShardConnections& shards) try {
  return ask_published_classes(shards);
} catch (const ConnectionLost&) {
  return {};
} catch (const UnexpectedReply&) {
  return {};
}

std::shared_ptr<const PublishedClasses> PublishedClassesForPushes::ask(ShardConnections& shards) try {
  if (steady_now() >= forget_at_) {
    documents_.clear();
    classes_ = nullptr;
    forget_at_ = steady_now() + std::chrono::minutes(1);
  }
  std::vector<BuildAsked> asked = ask_builds_of_all(shards, &documents_);
  std::vector<std::pair<std::string, bool>> builds;
  for (const BuildAsked& one : asked) builds.emplace_back(one.seen.build, one.seen.runs);
  if (classes_ && builds == builds_) return classes_;
  documents_.clear();
  for (const BuildAsked& one : asked) documents_.emplace(one.seen.build, one.document);
  builds_ = std::move(builds);
  classes_ = std::make_shared<const PublishedClasses>(published_by(std::move(asked)));
  return classes_;
} catch (const ConnectionLost&) {
  return std::make_shared<const PublishedClasses>();
} catch (const UnexpectedReply&) {
  return std::make_shared<const PublishedClasses>();
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
