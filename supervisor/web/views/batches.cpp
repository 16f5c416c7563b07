#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/plain_number.hpp"
#include "supervisor/cli/batches/batch_check.hpp"
#include "supervisor/cli/batches/batch_list.hpp"
#include "supervisor/cli/batches/open_push.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/json_answer.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// For each shard, since they are sorted here; each costs two commands.
constexpr std::size_t most_on_page = 500, most_for_programs = 2'000;
constexpr std::size_t batches_a_page = 50, batches_told = 100, most_batches_told = 1'000;
constexpr std::size_t most_below_on_page = 200, most_steps_on_page = 200;
constexpr auto longest_check = 20s;
constexpr std::string_view path_of_batches = "/api/v1/batches/";

std::string batch_count(std::int64_t number) {
  return grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, number)));
}

std::string bid_meant(const Call& call) {
  std::string bid = call.query.value("bid");
  if (bid.empty()) throw Refused(404, "The bid of the batch is missing.");
  return bid;
}

[[noreturn]] void refuse_unknown_batch() {
  throw Refused(404, "There is no such batch: it was deleted, or has expired.");
}

Tone tone_of(const BatchRecord& batch) {
  if (batch.state == BatchState::cancelled) return Tone::plain;
  if (batch.dead > 0) return Tone::bad;
  return batch.failing > 0 ? Tone::warn : Tone::good;
}

Html bar(const BatchRecord& batch) {
  const int percent = percent_ended(batch);
  return Html("<progress max=\"100\" value=\"{}\" aria-label=\"ended\"></progress> {}%", percent, percent);
}

Html link_to_batch(const std::string& bid) { return link(Url("/batches/one").with("bid", bid), bid); }

Html created_ago(const BatchRecord& batch) {
  return batch.created_at ? ago(epoch_seconds(*batch.created_at)) : Html("<span class=\"dim\">–</span>");
}

Html batch_buttons(const Call& call, const BatchRecord& batch) {
  const auto url = [&](SitePath path) { return Url(path).with("bid", batch.bid); };
  Html buttons;
  if (!has_ended(batch)) {
    buttons += button(call, url("/batches/check"), {"Check", Role::operate, false, false});
    if (batch.state != BatchState::cancelled)
      buttons += button(call, url("/batches/cancel"), {"Cancel", Role::operate, true, false});
  }
  buttons += button(call, url("/batches/delete"), {"Delete", Role::admin, true, false});
  return Html("<div class=\"bulk\">{}</div>", buttons);
}

Html callbacks_of(const Call& call, const BatchRecord& batch) {
  PageTable table("Callbacks", {{"Event"}, {"Class"}, {"State"}, {"Job"}, {"Queue"}});
  for (const BatchRecord::Callback& callback : batch.callbacks) {
    const bool is_pushed = batch.fired.contains(callback.event);
    const Html job =
        is_pushed ? link_by_name(Url("/jobs/one").with("jid", callback.jid), callback.jid) : code(callback.jid);
    table.add({Html("{}", callback.event), code(callback.job_class), Html("{}", callback_state(batch, callback)),
               Html("<span class=\"mono\">{}</span>", job),
               link_by_name(Url("/queues/one").with("name", callback.queue), callback.queue)});
  }
  return table.html(call, "It has no callbacks.");
}

Tone tone_of(FlowStep::State state) {
  if (state == FlowStep::State::dead) return Tone::bad;
  if (state == FlowStep::State::failing) return Tone::warn;
  return state == FlowStep::State::succeeded ? Tone::good : Tone::plain;
}

Html steps_of_flow(const Call& call, const std::vector<FlowStep>& steps) {
  PageTable table("Steps", {{"Step"}, {"State"}, {"After"}});
  const std::vector<std::size_t> depths = depths_of(steps);
  for (std::size_t i = 0; i < std::min(steps.size(), most_steps_on_page); ++i) {
    std::string indent;
    for (std::size_t depth = 0; depth < std::min<std::size_t>(depths[i], 10); ++depth) indent += "· ";
    table.add({Html("{}{}", indent, shown_name(steps[i].name)),
               badge(tone_of(steps[i].state), to_string(steps[i].state)),
               Html("{}", fmt::format("{}", fmt::join(steps[i].after, ", ")))});
  }
  return table.html(call, "There is none.");
}

Html batches_below_of(const Call& call, const BatchesBelow& below) {
  PageTable table("Batches below it", {{"Batch"}, {"State"}, {"Ended"}, {"Jobs", PageTable::number}, {"Description"}});
  for (const auto& [depth, bid, batch] : below.batches) {
    std::string indent;
    for (std::size_t i = 1; i < depth; ++i) indent += "· ";
    const Html name("{}{}", indent, link_to_batch(bid));
    if (batch)
      table.add({name, badge(tone_of(*batch), to_string(batch->state)), bar(*batch),
                 Html("{}", batch_count(batch->total)), Html("{}", batch->description)});
    else
      table.add({name, Html("gone"), Html("–"), Html("–"), Html("–")});
  }
  Html out = table.html(call, "There is none.");
  if (below.is_cut) out += Html("<p class=\"dim\">There are more.</p>");
  return out;
}

std::size_t limit_of(const Call& call) {
  const auto wanted = plain_number<std::size_t>(call.query.value("limit")).value_or(0);
  return wanted == 0 ? batches_told : std::min(wanted, most_batches_told);
}

}  // namespace

HttpResponse show_batches(Call& call) {
  const std::vector<ListedBatch> all = list_batches(call.site.shards(), most_on_page);
  Page page{.title = "Batches", .body = {}};
  const std::string total = (all.size() >= most_on_page ? "at least " : "") + counted(all.size(), "batch", "batches");
  page.beside_title = Html("<p class=\"dim\">{} of jobs that are counted together</p>", total);
  PageTable table("Batches, those with failed or dead jobs first", {{"Batch"},
                                                                    {"Description"},
                                                                    {"State"},
                                                                    {"Ended"},
                                                                    {"Jobs", PageTable::number},
                                                                    {"Pending", PageTable::number},
                                                                    {"Failing", PageTable::number},
                                                                    {"Dead", PageTable::number},
                                                                    {"Made"}});
  const std::size_t number = page_number(call), first = std::min(number * batches_a_page, all.size());
  for (std::size_t i = first; i < std::min(first + batches_a_page, all.size()); ++i) {
    const BatchRecord& batch = all[i].batch;
    table.add({link_to_batch(batch.bid), Html("{}", batch.description), badge(tone_of(batch), to_string(batch.state)),
               bar(batch), Html("{}", batch_count(batch.total)), Html("{}", batch_count(batch.pending)),
               Html("{}", batch_count(batch.failing)), Html("{}", batch_count(batch.dead)), created_ago(batch)});
  }
  page.body += table.html(call, all.empty() ? "There is no batch." : "There are no more batches.");
  if (all.size() > batches_a_page)
    page.body += pager(Url("/batches"), number, first + batches_a_page < all.size(), total);
  return page_response(call, std::move(page));
}

HttpResponse show_one_batch(Call& call) {
  const std::string bid = bid_meant(call);
  std::optional<ListedBatch> found;
  BatchesBelow below;
  call.site.shards().any([&](ShardConnections::Shard& shard) {
    auto batch = find_batch(shard.redis, bid);
    if (!batch) return false;
    if (batch->kids > 0) below = batches_below(shard.redis, bid, most_below_on_page);
    std::vector<FlowStep> steps = steps_of(shard.redis, *batch);
    found = ListedBatch{*std::move(batch), shard.address.shard, std::move(steps)};
    return true;
  });
  if (!found) refuse_unknown_batch();
  const BatchRecord& batch = found->batch;
  Page page{.title = batch.description.empty() ? bid : batch.description, .body = {}};
  page.beside_title = batch_buttons(call, batch);
  Facts facts;
  facts.add("Id", code(bid));
  facts.add("State", badge(tone_of(batch), to_string(batch.state)));
  facts.add("Ended", bar(batch));
  facts.add("Jobs", batch_count(batch.total));
  facts.add("Succeeded", batch_count(batch.succeeded));
  facts.add("Pending", batch_count(batch.pending));
  facts.add("Failing", batch_count(batch.failing));
  facts.add("Dead", batch_count(batch.dead));
  facts.add("Made", created_ago(batch));
  if (batch.cancelled_at) facts.add("Cancelled", ago(epoch_seconds(*batch.cancelled_at)));
  if (!found->shard.empty()) facts.add("Shard", found->shard);
  if (!batch.parent.empty()) facts.add("Parent", link_to_batch(batch.parent));
  if (batch.state == BatchState::open) {
    for (const std::string& pusher : batch.pushers) facts.add("Is pushed", pusher_text(pusher));
  }
  page.body += facts.html();
  if (!found->steps.empty()) page.body += section("Steps", steps_of_flow(call, found->steps));
  page.body += section("Callbacks", callbacks_of(call, batch));
  if (batch.kids > 0) page.body += section("Children", batches_below_of(call, below));
  return page_response(call, std::move(page));
}

HttpResponse cancel_one_batch(Call& call) {
  const std::string bid = bid_meant(call);
  const auto cancelled = cancel_with_children(call.site.shards(), bid);
  if (!cancelled) refuse_unknown_batch();
  if (*cancelled == 0) throw Refused(409, "The batch has ended already.");
  call.changed = *cancelled;
  return see_other(call, Url("/batches/one").with("bid", bid),
                   counted(*cancelled, "batch was cancelled.", "batches were cancelled."));
}

HttpResponse delete_one_batch(Call& call) {
  if (!forget_batch(call.site.shards(), bid_meant(call))) refuse_unknown_batch();
  return see_other(call, Url("/batches"), "The batch was deleted; its jobs stay where they are.");
}

HttpResponse check_one_batch(Call& call) {
  const std::string bid = bid_meant(call);
  if (!find_batch(call.site.shards(), bid)) refuse_unknown_batch();
  const auto dead_timeout = std::chrono::duration_cast<std::chrono::seconds>(call.site.configuration().dead_timeout);
  const std::vector<CheckedBatch> checked = check_batches(
      call.site.shards(), bid, {.dead_timeout_s = dead_timeout.count(), .until = steady_now() + longest_check});
  std::string said;
  std::uint64_t mended = 0;
  for (const CheckedBatch& one : checked) {
    for (const BatchFinding& finding : one.findings) {
      if (one.batch.batch.bid != bid && !finding.is_mended && !finding.needs_person) continue;
      if (one.batch.batch.bid != bid) said += one.batch.batch.bid + ": ";
      said += finding.text + ". ";
      mended += finding.is_mended ? 1 : 0;
    }
  }
  call.changed = mended;
  return see_other(call, Url("/batches/one").with("bid", bid), said.empty() ? "It has ended." : said);
}

HttpResponse answer_batches(Call& call) {
  const std::vector<ListedBatch> all = list_batches(call.site.shards(), most_for_programs);
  const std::size_t limit = limit_of(call), first = std::min(page_number(call) * limit, all.size());
  const std::vector<ListedBatch> page(all.begin() + static_cast<std::ptrdiff_t>(first),
                                      all.begin() + static_cast<std::ptrdiff_t>(std::min(first + limit, all.size())));
  return json_answer(200, json_array(page, [](const ListedBatch& batch) { return batch_json(batch, TellOf::list); }));
}

HttpResponse answer_one_batch(Call& call) {
  const auto found = find_batch(call.site.shards(), std::string_view(call.request.path).substr(path_of_batches.size()));
  if (!found) refuse_unknown_batch();
  return json_answer(200, batch_json(*found, TellOf::one) + "\n");
}

}  // namespace brood
