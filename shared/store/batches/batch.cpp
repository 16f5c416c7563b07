#include "shared/store/batches/batch.hpp"

#include <algorithm>
#include <array>

#include "shared/base/plain_number.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"

namespace brood {

namespace scripts {
extern const Script open_batch, reopen_batch, close_push, cancel_batch, delete_batch, push_to_batch, end_in_batch,
    find_states;
}

namespace {

// The payload up to the place of its index.
std::string up_to_index(std::string_view payload, std::string_view bid) {
  constexpr std::string_view before_bid = ",\"bid\":\"", before_index = "\",\"batch_index\":";
  constexpr std::size_t longest_index = 12;  // with the last brace
  std::string text;
  text.reserve(payload.size() + before_bid.size() + bid.size() + before_index.size() + longest_index);
  return text.append(payload.substr(0, payload.size() - 1)).append(before_bid).append(bid).append(before_index);
}

std::int64_t number_or_0(std::string_view text) { return plain_number<std::int64_t>(text).value_or(0); }

BatchState state_of(const BatchRecord& batch) {
  const auto has = [&](const char* event) { return batch.fired.contains(event); };
  if (batch.cancelled_at) return BatchState::cancelled;
  if (batch.open > 0) return BatchState::open;
  if (has("success")) return BatchState::success;
  // Without a death its success waits for a child whose success callbacks have not run.
  if (has("finished") && (batch.dead > 0 || batch.has_died)) return BatchState::finished;
  if (has("complete") || has("finished")) return BatchState::complete;
  return BatchState::running;
}

// "<queue> <unit> <jid> <payload>"
BatchRecord::Callback read_callback(std::string_view event, std::string_view value) {
  BatchRecord::Callback callback;
  callback.event = event;
  std::array<std::string*, 3> parts{&callback.queue, nullptr, &callback.jid};
  for (std::string* part : parts) {
    const std::size_t blank = std::min(value.find(' '), value.size());
    if (part != nullptr) *part = value.substr(0, blank);
    value.remove_prefix(std::min(blank + 1, value.size()));
  }
  try {
    callback.job_class = Payload::parse(std::string(value) + "}").display_class();
  } catch (const BadPayload&) {
    callback.job_class = "?";
  }
  return callback;
}

}  // namespace

std::string callback_field(std::string_view event, std::size_t number) {
  return "on:" + std::string(event) + ":" + std::to_string(number);
}

std::string callback_value(std::string_view queue, bool milliseconds, std::string_view jid, std::string_view payload) {
  std::string value(queue);
  value.append(milliseconds ? " ms " : " s ").append(jid).append(" ");
  return value.append(payload.substr(0, payload.size() - 1));
}

ScriptCall open_batch(const NewBatch& batch, WallTime now) {
  const BatchPush& push = batch.push;
  ScriptCall call{&scripts::open_batch,
                  {keys::batch(push.bid), keys::brood_batches},
                  {push.bid, push.token, push.pusher, json_time(now, TimeUnit::integer_milliseconds), batch.description,
                   batch.parent, std::to_string(deepest_batch), batch.made_by}};
  if (!batch.parent.empty()) call.keys.push_back(keys::batch(batch.parent));
  if (!batch.parent.empty() && !batch.made_in.empty()) call.keys.push_back(keys::batch(batch.made_in));
  for (const auto& [field, value] : batch.callbacks) call.args.insert(call.args.end(), {field, value});
  return call;
}

ScriptCall reopen_batch(const BatchPush& push) {
  return {&scripts::reopen_batch, {keys::batch(push.bid)}, {push.token, push.pusher}};
}

ScriptCall close_push(const BatchPush& push, bool holds) {
  return {&scripts::close_push, {keys::batch(push.bid)}, {push.token, holds ? "1" : "0"}};
}

ScriptCall cancel_batch(std::string_view bid) { return {&scripts::cancel_batch, {keys::batch(bid)}, {}}; }

ScriptCall delete_batch(std::string_view bid) {
  return {&scripts::delete_batch, {keys::batch(bid), keys::brood_batches}, {}};
}

BatchAnswer read_batch_answer(ReplyView reply) {
  constexpr std::array<std::pair<std::string_view, BatchAnswer>, 9> answers{
      {{"OK", BatchAnswer::ok},
       {"NONE", BatchAnswer::none},
       {"CANCELLED", BatchAnswer::cancelled},
       {"ENDED", BatchAnswer::ended},
       {"EXISTS", BatchAnswer::exists},
       {"NO PARENT", BatchAnswer::no_parent},
       {"PARENT ENDED", BatchAnswer::parent_ended},
       {"PARENT CANCELLED", BatchAnswer::parent_cancelled},
       {"TOO DEEP", BatchAnswer::too_deep}}};
  for (const auto& [text, answer] : answers)
    if (reply.text() == text) return answer;
  throw UnexpectedReply("a script of batches answered " + std::string(reply.text()));
}

ScriptCall push_to_batch(const BatchPush& push, std::uint64_t number, std::uint32_t next, std::string_view queue,
                         const std::vector<BatchJob>& jobs) {
  ScriptCall call{&scripts::push_to_batch,
                  {keys::batch(push.bid), queue.empty() ? RedisKey(keys::schedule) : keys::queue(queue), keys::queues},
                  {push.token, std::to_string(number), push.pusher}};
  const bool is_plain =
      !queue.empty() && std::ranges::none_of(jobs, [](const BatchJob& job) { return job.lock.has_value(); });
  if (is_plain) {
    call.args.insert(call.args.end(), {"", std::to_string(next)});
    for (const BatchJob& job : jobs) call.args.push_back(with_place_in_batch(job.payload, push.bid, next++));
    return call;
  }
  for (const BatchJob& job : jobs) {
    const bool waits = job.lock && job.lock->on_conflict == OnConflict::after;
    const bool extends = job.lock && job.lock->on_conflict == OnConflict::extend;
    call.args.insert(call.args.end(),
                     {job.jid, job.score_text, job.lock ? std::to_string(job.lock->longest.count()) : "",
                      waits     ? "after"
                      : extends ? "extend"
                                : "",
                      up_to_index(job.payload, push.bid)});
    if (job.lock) call.keys.push_back(keys::unique_lock(job.lock->name));
  }
  return call;
}

PushedToBatch read_pushed_to_batch(ReplyView reply) {
  PushedToBatch pushed;
  if (reply[0].text() == "AGAIN") {
    pushed.before = true;
    return pushed;
  }
  pushed.moved = reply[0].text() == "MOVED";
  if (!pushed.moved) pushed.answer = read_batch_answer(reply[0]);
  if (reply.size() > 1) pushed.next = static_cast<std::uint32_t>(reply[1].integer());
  for (std::size_t i = 2; i < reply.size(); ++i) pushed.holders.emplace_back(reply[i].text());
  return pushed;
}

std::string with_place_in_batch(std::string_view payload, std::string_view bid, std::uint32_t index) {
  return up_to_index(payload, bid).append(std::to_string(index)).append("}");
}

Command ask_batch_exists(std::string_view bid) { return {"EXISTS", keys::batch(bid)}; }
bool read_batch_exists(ReplyView reply) { return reply.integer() == 1; }

ScriptCall end_jobs_in_batch(std::string_view bid, std::string_view indices, std::string_view end) {
  return {&scripts::end_in_batch, {keys::batch(bid)}, {"job", std::string(indices), std::string(end)}};
}

ScriptCall end_callback_in_batch(std::string_view bid, std::string_view jid, std::string_view end) {
  return {&scripts::end_in_batch, {keys::batch(bid)}, {"callback", std::string(jid), std::string(end)}};
}

Command ask_batch_cancelled(std::string_view bid) { return {"HEXISTS", keys::batch(bid), "cancelled"}; }
bool read_batch_cancelled(ReplyView reply) { return !reply.is_error() && reply.integer() == 1; }

std::string_view to_string(BatchState state) {
  switch (state) {
    case BatchState::open:
      return "open";
    case BatchState::running:
      return "running";
    case BatchState::complete:
      return "complete";
    case BatchState::success:
      return "success";
    case BatchState::finished:
      return "finished";
    case BatchState::cancelled:
      return "cancelled";
  }
  return "running";
}

std::vector<Command> ask_batch(std::string_view bid) {
  return {{"HGETALL", keys::batch(bid)}, ask_children(bid, scan_begins)};
}

Command ask_children(std::string_view bid, std::string_view position) {
  return {"SSCAN", keys::batch_children(bid), position, "COUNT", std::to_string(most_children_shown)};
}

std::optional<BatchRecord> read_batch(std::string_view bid, ReplyView hash, ReplyView children) {
  if (hash.is_error() || hash.size() < 2) return std::nullopt;
  std::map<std::string_view, std::string_view> fields;
  for (std::size_t i = 0; i + 1 < hash.size(); i += 2) fields[hash[i].text()] = hash[i + 1].text();
  const auto number = [&](std::string_view name) { return fields.contains(name) ? number_or_0(fields[name]) : 0; };
  BatchRecord batch;
  batch.bid = bid;
  batch.description = fields["description"];
  batch.parent = fields["parent"];
  batch.total = number("total");
  batch.succeeded = number("succeeded");
  batch.failing = number("failing");
  batch.dead = number("dead");
  batch.kids = number("kids");
  batch.open = number("open");
  batch.steps = number("steps");
  batch.has_died = number("died") > 0;
  batch.pending = batch.total - batch.succeeded - batch.dead;
  if (const std::int64_t ms = number("created_at"); ms > 0) batch.created_at = WallTime(std::chrono::milliseconds(ms));
  if (const std::int64_t s = number("cancelled"); s > 0) batch.cancelled_at = WallTime(std::chrono::seconds(s));
  for (const auto& [name, value] : fields) {
    if (name.starts_with("fired:")) batch.fired[std::string(name.substr(6))] = number_or_0(value);
    if (name.starts_with("closed:")) batch.closed[std::string(name.substr(7))] = number_or_0(value);
    if (name.starts_with("push:"))
      batch.pushers.emplace_back(value.substr(std::min(value.find(' ') + 1, value.size())));
    if (!name.starts_with("on:")) continue;
    const std::string_view event = name.substr(3, name.rfind(':') - 3);
    BatchRecord::Callback callback = read_callback(event, value);
    callback.has_ended = fields.contains("fired:" + callback.event) && !fields.contains("callback:" + callback.jid);
    batch.callbacks.push_back(std::move(callback));
  }
  batch.state = state_of(batch);
  if (!children.is_error() && children.size() == 2) {
    for (std::size_t i = 0; i < children[1].size() && i < most_children_shown; ++i)
      batch.children.emplace_back(children[1][i].text());
  }
  std::sort(batch.children.begin(), batch.children.end());
  return batch;
}

Command ask_batches(std::size_t first, std::size_t count) {
  return {"ZREVRANGE", keys::brood_batches, std::to_string(first), std::to_string(first + count - 1)};
}
std::vector<std::string> read_batches(ReplyView reply) {
  std::vector<std::string> bids;
  for (std::size_t i = 0; i < reply.size(); ++i) bids.emplace_back(reply[i].text());
  return bids;
}
Command count_batches() { return {"ZCARD", keys::brood_batches}; }

ScriptCall find_unended(std::string_view bid, std::uint32_t first, std::uint32_t count) {
  return {&scripts::find_states,
          {keys::batch(bid), keys::batch_states(bid)},
          {std::to_string(first), std::to_string(count)}};
}
std::vector<std::uint32_t> read_unended(ReplyView reply) {
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < reply.size(); ++i) indices.push_back(static_cast<std::uint32_t>(reply[i].integer()));
  return indices;
}

}  // namespace brood
