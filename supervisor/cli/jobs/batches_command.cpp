// `brood batches`: jobs that are counted together.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "shared/api/opening.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/units.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/verb.hpp"
#include "supervisor/cli/batches/batch_check.hpp"
#include "supervisor/cli/batches/batch_list.hpp"
#include "supervisor/cli/batches/open_push.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/bulk.hpp"
#include "supervisor/cli/jobs/push_batch.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int no_such = 1, wants_person = 1;  // exit statuses
constexpr std::size_t most_below_shown = 1'000;

constexpr const char* batches_footer =
    R"(Examples:
  brood batches push jobs.ndjson --description "import 7" --on-success 'NotifyUser:[7]'
  brood batches
  brood batches show mWvCzRm5yYBB2g

A state is open (a push has not returned), running, complete (all jobs were attempted, and some wait for a retry, or
a batch below it has not succeeded), success, finished (all have ended, and some are dead) or cancelled.
push reads a file, or - for standard input, as `brood enqueue --bulk` does, and prints the bid.  If a line is no job,
nothing is pushed; of standard input the batch is cancelled then.
check looks for the jobs of batches that have not ended, at all places and twice.  It counts as dead those that are
nowhere any more, and cancels a batch whose push was killed on this host.
cancel skips jobs that have not begun, also of the batches below it.  delete forgets a batch; its jobs stay.

Exit status: 0; 1 there is no such batch, it has ended, or check found what only a person can mend; 64 usage; 69 Redis is not available; 75 unique jobs were not
pushed.)";

struct BatchesOrder {
  RedisAccess redis;
  std::vector<std::string> words;
  bool json = false;
  std::optional<std::size_t> limit, page;
  BatchOfLines lines;
  std::vector<std::string> on_success, on_death, on_complete, on_finished;
};

ShardConnections connect_for_batches(const BatchesOrder& order) {
  return ShardConnections(order.redis, {.connect = 3s, .command = 10s}, "brood-batches");
}

const std::string& only_bid(const BatchesOrder& order) {
  if (order.words.empty()) throw UsageError("the bid of the batch is missing");
  if (order.words.size() > 1) refuse_arguments({order.words[1]});
  return order.words[0];
}

int no_such_batch(const std::string& bid) {
  fmt::print(stderr, "brood batches: there is no batch {}: it was deleted, or has expired\n", log::printable(bid));
  return no_such;
}

std::string shown_count(std::int64_t count) {
  return grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, count)));
}

// "BID  description"
std::string after_name(const std::string& description) {
  return description.empty() ? "\n" : "  " + log::printable(description) + "\n";
}

std::string shown_time(const std::optional<WallTime>& time) { return time ? iso_time(*time) : ""; }

std::string table_of_batches(const std::vector<ListedBatch>& batches) {
  using Align = Table::Align;
  Table table({{"BID"},
               {"STATE"},
               {"ENDED"},
               {"TOTAL", Align::right},
               {"PENDING", Align::right},
               {"FAILING", Align::right},
               {"DEAD", Align::right},
               {"CREATED"},
               {"DESCRIPTION"}});
  for (const ListedBatch& listed : batches) {
    const BatchRecord& batch = listed.batch;
    table.add({batch.bid, std::string(to_string(batch.state)), bar_of(batch), shown_count(batch.total),
               shown_count(batch.pending), shown_count(batch.failing), shown_count(batch.dead),
               shown_time(batch.created_at), batch.description});
  }
  return table.text(Style::of_standard_output());
}

int list_all_batches(const BatchesOrder& order) {
  refuse_arguments(order.words);
  ShardConnections shards = connect_for_batches(order);
  const std::vector<ListedBatch> batches = list_batches(shards);
  if (batches.empty() && !order.json) {
    print("There is no batch.\n");
    return exit_status::ok;
  }
  Listing<ListedBatch> listing(
      order.limit, order.page, order.json, [](const ListedBatch& batch) { return batch_json(batch, TellOf::list); },
      table_of_batches);
  for (const ListedBatch& batch : batches) {
    if (!listing.add(batch)) break;
  }
  listing.end(there_are(batches.size(), "batch", "batches"));
  return exit_status::ok;
}

// ---- show

std::string line_below(const BatchBelow& below) {
  const std::string line =
      fmt::format("    {}{}  ", std::string(2 * (below.depth - 1), ' '), log::printable(below.bid));
  if (!below.batch) return line + "is gone\n";
  const BatchRecord& batch = *below.batch;
  return line + fmt::format("{:<9} {}{}", to_string(batch.state), bar_of(batch), after_name(batch.description));
}

std::string failing_among(const BatchRecord& batch) {
  if (batch.failing <= 0) return "";
  if (batch.failing > 1)
    return fmt::format(", of which {} have failed and wait for a retry", shown_count(batch.failing));
  return batch.pending == 1 ? ", which has failed and waits for a retry"
                            : ", of which 1 has failed and waits for a retry";
}

// Why it has not ended, according to its own hash.
std::vector<std::string> waits_for(const BatchRecord& batch) {
  std::vector<std::string> reasons;
  for (const std::string& pusher : batch.pushers) {
    if (batch.state == BatchState::open)
      reasons.push_back("a push that has not returned, " + log::printable(pusher_text(pusher)));
  }
  if (batch.pending > 0)
    reasons.push_back(
        fmt::format("{}{}", counted(static_cast<std::uint64_t>(batch.pending), "job", "jobs"), failing_among(batch)));
  return reasons;
}

// In the order of their depths: each step comes after the steps that it waits for.
std::string lines_of_steps(const std::vector<FlowStep>& steps) {
  const std::vector<std::size_t> depths = depths_of(steps);
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t one, std::size_t other) { return depths[one] < depths[other]; });
  std::string text;
  for (const std::size_t i : order) {
    const FlowStep& step = steps[i];
    text += fmt::format(
        "    {}{}  {}{}\n", std::string(2 * depths[i], ' '), log::printable(step.name), to_string(step.state),
        step.after.empty() ? "" : log::printable(fmt::format(", after {}", fmt::join(step.after, ", "))));
  }
  return text;
}

std::string text_of_batch(const ListedBatch& listed, const BatchesBelow& below) {
  const BatchRecord& batch = listed.batch;
  std::string text = log::printable(batch.bid) + after_name(batch.description);
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<10} {}\n", name, value);
  };
  add("state", std::string(to_string(batch.state)) + (batch.cancelled_at ? " " + shown_time(batch.cancelled_at) : ""));
  add("created", shown_time(batch.created_at));
  if (!listed.shard.empty()) add("shard", listed.shard);
  if (!batch.parent.empty()) add("parent", log::printable(batch.parent));
  add("jobs", fmt::format("{}  {} in all, {} succeeded, {} pending, {} failing, {} dead", bar_of(batch),
                          shown_count(batch.total), shown_count(batch.succeeded), shown_count(batch.pending),
                          shown_count(batch.failing), shown_count(batch.dead)));
  if (!has_ended(batch)) {
    for (const std::string& reason : waits_for(batch)) add("waits for", reason);
  }
  for (const BatchRecord::Callback& callback : batch.callbacks)
    add("callback",
        fmt::format("{:<8} {} ({}, queue {}) {}", callback.event, log::printable(callback.job_class),
                    log::printable(callback.jid), log::printable(callback.queue), callback_state(batch, callback)));
  if (!listed.steps.empty())
    text += fmt::format("  {}\n{}", counted(listed.steps.size(), "step", "steps"), lines_of_steps(listed.steps));
  if (!below.batches.empty()) add("children", counted(below.batches.size(), "batch", "batches") + " below it");
  for (const BatchBelow& one : below.batches) text += line_below(one);
  if (below.is_cut) text += "    ...\n";
  return text;
}

int show_one_batch(const BatchesOrder& order) {
  const std::string& bid = only_bid(order);
  ShardConnections shards = connect_for_batches(order);
  std::optional<ListedBatch> found;
  BatchesBelow below;
  shards.any([&](ShardConnections::Shard& shard) {
    auto batch = find_batch(shard.redis, bid);
    if (!batch) return false;
    if (!order.json && batch->kids > 0) below = batches_below(shard.redis, bid, most_below_shown);
    std::vector<FlowStep> steps = steps_of(shard.redis, *batch);
    found = ListedBatch{*std::move(batch), shard.address.shard, std::move(steps)};
    return true;
  });
  if (!found) return no_such_batch(bid);
  if (order.json)
    print_json(batch_json(*found, TellOf::one) + "\n");
  else
    print(text_of_batch(*found, below));
  return exit_status::ok;
}

// ---- check

int check_some_batches(const BatchesOrder& order) {
  std::optional<std::string> bid;
  if (!order.words.empty()) bid = only_bid(order);
  const auto dead_timeout = std::chrono::duration_cast<std::chrono::seconds>(order.redis.configuration().dead_timeout);
  ShardConnections shards = connect_for_batches(order);
  if (bid && !find_batch(shards, *bid)) return no_such_batch(*bid);
  const std::vector<CheckedBatch> checked = check_batches(shards, bid, {.dead_timeout_s = dead_timeout.count()});
  if (order.json) {
    JsonArray array;
    for (const CheckedBatch& one : checked) array.add(checked_batch_json(one));
    array.end();
  } else if (checked.empty()) {
    const auto batch = bid ? find_batch(shards, *bid) : std::nullopt;
    print(!bid                                ? "All batches have ended.\n"
          : batch && !has_ended(batch->batch) ? "Nothing was found that it waits for.\n"
                                              : "It has ended.\n");
  }
  for (const CheckedBatch& one : checked) {
    if (order.json) break;
    const BatchRecord& batch = one.batch.batch;
    std::string text = fmt::format("{}  {}  {}{}", log::printable(batch.bid), to_string(batch.state), bar_of(batch),
                                   after_name(batch.description));
    for (const BatchFinding& finding : one.findings)
      text += fmt::format("  {}{}\n",
                          finding.is_mended      ? "mended: "
                          : finding.needs_person ? "needs you: "
                                                 : "",
                          log::printable(finding.text));
    print(text);
  }
  return needs_person(checked) ? wants_person : exit_status::ok;
}

// ---- cancel, delete

int cancel_one_batch(const BatchesOrder& order) {
  const std::string& bid = only_bid(order);
  ShardConnections shards = connect_for_batches(order);
  const auto cancelled = cancel_with_children(shards, bid);
  if (!cancelled) return no_such_batch(bid);
  if (order.json) print_json(JsonWriter().text("bid", bid).number("cancelled", *cancelled).object() + "\n");
  if (*cancelled == 0) {
    fmt::print(stderr, "brood batches: {} has ended already\n", log::printable(bid));
    return no_such;
  }
  if (!order.json)
    print(fmt::format(
        "cancelled {}{}\n", log::printable(bid),
        *cancelled > 1 ? fmt::format(" and {} below it", counted(*cancelled - 1, "batch", "batches")) : ""));
  return exit_status::ok;
}

int delete_one_batch(const BatchesOrder& order) {
  const std::string& bid = only_bid(order);
  ShardConnections shards = connect_for_batches(order);
  if (!forget_batch(shards, bid)) return no_such_batch(bid);
  if (order.json)
    print_json(JsonWriter().text("bid", bid).truth("deleted", true).object() + "\n");
  else
    print(fmt::format("deleted {}\n", log::printable(bid)));
  return exit_status::ok;
}

// ---- push

int push_one_batch(const BatchesOrder& order) {
  if (order.words.size() != 1) throw UsageError("give one file of jobs, or - for standard input");
  BatchOfLines lines = order.lines;
  lines.path = order.words[0];
  const std::pair<BatchEvent, const std::vector<std::string>&> callbacks[] = {
      {BatchEvent::success, order.on_success},
      {BatchEvent::death, order.on_death},
      {BatchEvent::complete, order.on_complete},
      {BatchEvent::finished, order.on_finished}};
  for (const auto& [event, texts] : callbacks) {
    for (const std::string& text : texts) lines.callbacks.emplace_back(event, text);
  }
  Client client = detail::Opening::client(order.redis.known());
  ClassChecks classes(order.redis, "brood batches", lines.unchecked);
  lines.classes = &classes;
  PushedBatch pushed;
  try {
    pushed = push_batch(client, lines);
  } catch (const std::invalid_argument& error) {
    throw UsageError(log::printable(error.what()));
  } catch (const BatchClosed& closed) {
    fmt::print(stderr, "brood batches: {}\n", log::printable(closed.what()));
    return no_such;
  }
  ShardConnections shards = connect_for_batches(order);
  const auto batch = find_batch(shards, pushed.bid);
  const std::size_t taken = batch ? std::min(pushed.jobs, static_cast<std::size_t>(batch->batch.total)) : pushed.jobs;
  const std::size_t refused = pushed.jobs - taken;
  if (order.json)
    print_json(JsonWriter().text("bid", pushed.bid).number("pushed", taken).number("refused", refused).object() + "\n");
  else
    print(pushed.bid + "\n");
  if (refused == 0) return exit_status::ok;
  fmt::print(stderr, "brood batches: {} (the same class, queue and arguments, or the same values in unique_by)\n",
             locks_held_by_others(refused));
  return exit_status::try_again;
}

}  // namespace

int batches_command(const std::vector<std::string>& args) {
  static const std::vector<VerbFor<BatchesOrder>> verbs = {
      {{"list", "", "show all batches, those in trouble first", {"--limit", "--page"}}, list_all_batches},
      {{"show", "BID", "show one, its callbacks and the batches below it", {}}, show_one_batch},
      {{"check", "[BID]", "say why batches do not end, and mend what can be mended", {}}, check_some_batches},
      {{"cancel", "BID", "skip its jobs that have not begun", {}}, cancel_one_batch},
      {{"delete", "BID", "forget it; its jobs stay where they are", {}}, delete_one_batch},
      {{"push",
        "FILE",
        "push the jobs of a file as one batch",
        {"--description", "--parent", "--on-success", "--on-death", "--on-complete", "--on-finished",
         "--callback-queue", "--unchecked"}},
       push_one_batch}};
  BatchesOrder order;
  CommandLine line("Batches, jobs that are counted together: brood batches [VERB] [BID] [OPTIONS]", "brood batches");
  line.flag("--json", order.json, "Answer in JSON, for programs");
  line.option("--limit", order.limit, "N", "How many to list (default: 25, or as many as the terminal has room for)");
  line.option("--page", order.page, "N", "Which page of them, from 1");
  line.option("--description", order.lines.description, "TEXT", "What people see of the batch");
  line.option("--parent", order.lines.parent, "BID", "The batch whose callbacks wait for this one");
  line.option("--on-success", order.on_success, "CLASS[:ARGS]",
              "Push this job when every job has succeeded; ARGS is a JSON array.  May be repeated, like those below");
  line.option("--on-death", order.on_death, "CLASS[:ARGS]", "When the first job has died");
  line.option("--on-complete", order.on_complete, "CLASS[:ARGS]", "When every job was attempted at least once");
  line.option("--on-finished", order.on_finished, "CLASS[:ARGS]", "When every job has ended, well or dead");
  line.option("--callback-queue", order.lines.callback_queue, "NAME",
              "Queue of these (default: the class's, else default)");
  line.flag("--unchecked", order.lines.unchecked,
            "Push what does not fit its class too, and members that neither brood nor Sidekiq knows");
  order.redis.add_options(line);
  const std::vector<Verb> says = only_verbs(verbs);
  line.footer(fmt::format("{}\n{}", help_on("batches", says), batches_footer));
  order.words = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.words);
  if (order.page && *order.page == 0) throw UsageError("--page counts from 1");
  return verbs[verb].obey(order);
}

}  // namespace brood
