#include "supervisor/cli/batches/batch_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

constexpr std::size_t batches_asked_at_once = 200;
constexpr int cells_of_bar = 10;

int place_in_list(const BatchRecord& batch) {
  if (is_in_trouble(batch)) return 0;
  return has_ended(batch) ? 2 : 1;
}

void read_page_of_batches(Connection& redis, const std::vector<std::string>& bids, const std::string& shard,
                          std::vector<ListedBatch>& into) {
  std::vector<Command> commands;
  for (const std::string& bid : bids) {
    for (Command& command : ask_batch(bid)) commands.push_back(std::move(command));
  }
  const std::vector<Reply> replies = redis.pipeline(commands);
  for (std::size_t i = 0; i < bids.size(); ++i) {
    if (auto batch = read_batch(bids[i], replies[2 * i].view(), replies[2 * i + 1].view()))
      into.push_back({*std::move(batch), shard, {}});
  }
}

std::vector<std::string> all_children(Connection& redis, std::string_view bid, std::size_t most) {
  std::vector<std::string> children;
  std::string position(scan_begins);
  do {
    const Reply reply = redis.call(ask_children(bid, position));
    const ScanPage page = read_scan(reply.view());
    for (std::size_t i = 0; i < page.found.size(); ++i) children.emplace_back(page.found[i].text());
    position = page.next;
  } while (position != scan_begins && children.size() < most);
  std::sort(children.begin(), children.end());
  children.erase(std::unique(children.begin(), children.end()), children.end());
  return children;
}

std::optional<double> epoch_or_null(const std::optional<WallTime>& time) {
  return time ? std::optional(epoch_seconds(*time)) : std::nullopt;
}

std::optional<std::int64_t> value_of(const std::map<std::string, std::int64_t>& times, const std::string& event) {
  const auto found = times.find(event);
  return found == times.end() ? std::nullopt : std::optional(found->second);
}

void visit_below(Connection& redis, std::string_view bid, std::size_t depth, std::size_t most,
                 std::set<std::string>& seen, BatchesBelow& below) {
  if (depth > static_cast<std::size_t>(deepest_batch)) return;
  for (std::string& child : all_children(redis, bid, most)) {
    if (below.batches.size() >= most) {
      below.is_cut = true;
      return;
    }
    if (!seen.insert(child).second) continue;
    auto batch = find_batch(redis, child);
    const bool has_children = batch && batch->kids > 0;
    below.batches.push_back({depth, child, std::move(batch)});
    if (has_children) visit_below(redis, child, depth + 1, most, seen, below);
  }
}

std::size_t cancel_below(Connection& redis, const std::string& bid, std::set<std::string>& seen, std::size_t depth) {
  if (depth > static_cast<std::size_t>(deepest_batch) || !seen.insert(bid).second) return 0;
  const BatchAnswer answer = read_batch_answer(redis.run(cancel_batch(bid)).view());
  if (answer == BatchAnswer::none) return 0;
  std::size_t count = answer == BatchAnswer::ok ? 1 : 0;
  const auto batch = find_batch(redis, bid);
  if (!batch || batch->kids == 0) return count;
  std::string position(scan_begins);
  do {
    const Reply reply = redis.call(ask_children(bid, position));
    const ScanPage page = read_scan(reply.view());
    std::vector<std::string> children;
    for (std::size_t i = 0; i < page.found.size(); ++i) children.emplace_back(page.found[i].text());
    position = page.next;
    for (const std::string& child : children) count += cancel_below(redis, child, seen, depth + 1);
  } while (position != scan_begins);
  return count;
}

}  // namespace

std::vector<ListedBatch> list_batches_of(ShardConnections::Shard& shard, std::size_t most) {
  std::vector<ListedBatch> all;
  std::set<std::string> seen;  // a batch that moves meanwhile may be listed twice
  for (std::size_t first = 0; first < most;) {
    const Reply reply = shard.redis.call(ask_batches(first, std::min(batches_asked_at_once, most - first)));
    const std::vector<std::string> bids = read_batches(reply.view());
    if (bids.empty()) break;
    std::vector<std::string> unseen;
    for (const std::string& bid : bids) {
      if (seen.insert(bid).second) unseen.push_back(bid);
    }
    read_page_of_batches(shard.redis, unseen, shard.address.shard, all);
    first += bids.size();
  }
  return all;
}

std::vector<ListedBatch> list_batches(ShardConnections& shards, std::size_t most) {
  std::vector<ListedBatch> all;
  shards.each([&](ShardConnections::Shard& shard) {
    for (ListedBatch& one : list_batches_of(shard, most)) all.push_back(std::move(one));
  });
  std::stable_sort(all.begin(), all.end(), [](const ListedBatch& one, const ListedBatch& other) {
    const int place = place_in_list(one.batch), other_place = place_in_list(other.batch);
    return place != other_place ? place < other_place : one.batch.created_at > other.batch.created_at;
  });
  return all;
}

std::optional<BatchRecord> find_batch(Connection& redis, std::string_view bid) {
  if (!is_bid(bid)) return std::nullopt;
  const std::vector<Reply> replies = redis.pipeline(ask_batch(bid));
  return read_batch(bid, replies[0].view(), replies[1].view());
}

std::optional<ListedBatch> find_batch(ShardConnections& shards, std::string_view bid) {
  std::optional<ListedBatch> found;
  shards.any([&](ShardConnections::Shard& shard) {
    auto batch = find_batch(shard.redis, bid);
    if (!batch) return false;
    std::vector<FlowStep> steps = steps_of(shard.redis, *batch);
    found = ListedBatch{*std::move(batch), shard.address.shard, std::move(steps)};
    return true;
  });
  return found;
}

std::vector<FlowStep> steps_of(Connection& redis, const BatchRecord& batch) {
  if (batch.steps <= 0) return {};
  const std::vector<Reply> replies = redis.pipeline(ask_steps(batch.bid));
  return read_steps(replies[0].view(), replies[1].view());
}

std::vector<std::size_t> depths_of(const std::vector<FlowStep>& steps) {
  std::map<std::string, std::size_t> depths;
  // A step may have been added before the steps that it waits for.
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const FlowStep& step : steps) {
      std::size_t depth = 0;
      for (const std::string& before : step.after) depth = std::max(depth, depths[before] + 1);
      depth = std::min(depth, steps.size());  // ends even if another program has made a circle
      if (std::exchange(depths[step.name], depth) != depth) has_changed = true;
    }
  }
  std::vector<std::size_t> all;
  for (const FlowStep& step : steps) all.push_back(depths[step.name]);
  return all;
}

bool has_ended(const BatchRecord& batch) {
  return batch.closed.contains("finished") ||
         (batch.fired.contains("finished") && batch.state != BatchState::cancelled);
}

bool is_in_trouble(const BatchRecord& batch) {
  return batch.state != BatchState::cancelled && (batch.failing > 0 || batch.dead > 0);
}

int percent_ended(const BatchRecord& batch) {
  if (batch.total <= 0) return 100;
  return static_cast<int>(std::clamp<std::int64_t>(batch.succeeded + batch.dead, 0, batch.total) * 100 / batch.total);
}

std::string bar_of(const BatchRecord& batch) {
  const int percent = percent_ended(batch);
  const auto full = static_cast<std::size_t>(percent * cells_of_bar / 100);
  return fmt::format("[{}{}] {:>3}%", std::string(full, '#'), std::string(cells_of_bar - full, '.'), percent);
}

std::string callback_state(const BatchRecord& batch, const BatchRecord::Callback& callback) {
  if (!batch.fired.contains(callback.event)) return "waits";
  return callback.has_ended ? "has ended" : "is pushed, and has not ended";
}

std::string batch_json(const ListedBatch& listed, TellOf tells) {
  const BatchRecord& batch = listed.batch;
  JsonWriter json;
  json.text("bid", batch.bid)
      .text("description", batch.description)
      .text("state", to_string(batch.state))
      .number("total", batch.total)
      .number("pending", batch.pending)
      .number("failing", batch.failing)
      .number("dead", batch.dead)
      .decimal("created_at", epoch_or_null(batch.created_at))
      .text_or_null("parent", batch.parent)
      .texts("children", batch.children);
  if (tells == TellOf::list) return json.object();
  json.number("succeeded", batch.succeeded).decimal("cancelled_at", epoch_or_null(batch.cancelled_at));
  json.each("callbacks", batch.callbacks, [&](const BatchRecord::Callback& callback) {
    return JsonWriter()
        .text("event", callback.event)
        .text("class", callback.job_class)
        .text("jid", callback.jid)
        .text("queue", callback.queue)
        .number("fired_at", value_of(batch.fired, callback.event))
        .truth("has_ended", callback.has_ended)
        .object();
  });
  json.texts("pushers", batch.pushers);
  json.each("steps", listed.steps, [](const FlowStep& step) {
    return JsonWriter()
        .text("name", step.name)
        .text("state", to_string(step.state))
        .texts("after", step.after)
        .text_or_null("jid", step.jid)
        .object();
  });
  if (!listed.shard.empty()) json.text("shard", listed.shard);
  return json.object();
}

std::optional<std::size_t> cancel_with_children(Connection& redis, std::string_view bid) {
  if (!find_batch(redis, bid)) return std::nullopt;
  std::set<std::string> seen;
  return cancel_below(redis, std::string(bid), seen, 1);
}

std::optional<std::size_t> cancel_with_children(ShardConnections& shards, std::string_view bid) {
  std::optional<std::size_t> cancelled;
  shards.any([&](ShardConnections::Shard& shard) {
    cancelled = cancel_with_children(shard.redis, bid);
    return cancelled.has_value();
  });
  return cancelled;
}

bool forget_batch(ShardConnections& shards, std::string_view bid) {
  if (!is_bid(bid)) return false;
  return shards.any(
      [&](ShardConnections::Shard& shard) { return shard.redis.run(delete_batch(bid)).view().integer() == 1; });
}

BatchesBelow batches_below(Connection& redis, std::string_view bid, std::size_t most) {
  BatchesBelow below;
  std::set<std::string> seen{std::string(bid)};
  visit_below(redis, bid, 1, most, seen, below);
  return below;
}

}  // namespace brood
