#include <brood/api.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/json_answer.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"
#include "supervisor/web/views/job_parts.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t entries_a_page = 25;
constexpr std::size_t entries_told = 100, most_entries_told = 1'000;  // for programs
constexpr std::string_view api_path = "/api/v1";
constexpr std::size_t most_counted = 10'000;  // matches of a filter; beyond it the page shows "at least"
constexpr std::size_t most_a_step = 5'000;    // entries that one step of a bulk action changes
constexpr auto longest_step = 2s, longest_search = 2s;
constexpr std::size_t most_bytes_a_step = 64 << 20;  // of payloads held at once
constexpr std::size_t most_tags_shown = 20;

// The differences between the three sets.
struct SetKind {
  std::string_view path, title;
  JobSet (Api::*set)();
  JobSet::Order order;
  std::string_view time_title;
  std::string_view run_label, run_done;
  bool can_kill;
  std::string_view nothing;
};

const SetKind& kind_of(const Call& call) {
  static const SetKind kinds[] = {{"/retries", "Retries", &Api::retries, JobSet::Order::lowest_first, "Next try",
                                   "Retry", "retried", true, "No job will be retried."},
                                  {"/scheduled", "Scheduled", &Api::scheduled, JobSet::Order::lowest_first, "Due",
                                   "Run now", "enqueued", true, "No job is scheduled."},
                                  {"/dead", "Dead", &Api::dead, JobSet::Order::highest_first, "Died", "Retry",
                                   "retried", false, "No job is dead."}};
  std::string_view path = call.request.path;
  if (path.starts_with(api_path)) path.remove_prefix(api_path.size());
  for (const SetKind& kind : kinds) {
    if (path == kind.path || path.starts_with(std::string(kind.path) + "/")) return kind;
  }
  throw Refused(404, "There is no such set.");
}

// The chosen entries; empty: all.
struct EntryFilter {
  std::string text, job_class, queue, error;
  ShowArgsSettings show_args = {};  // a filter must not reveal hidden arguments either

  static EntryFilter of(const Call& call) {
    const FormValues& values = call.query;
    return {values.value("text"), values.value("class"), values.value("queue"), values.value("error"),
            call.site.settings().show_args};
  }
  bool empty() const { return text.empty() && job_class.empty() && queue.empty() && error.empty(); }
  bool takes(const SetEntry& entry) const {
    return (text.empty() || holds_text(entry)) &&
           (job_class.empty() || entry.display_class == job_class || entry.job_class == job_class) &&
           (queue.empty() || entry.queue == queue) && (error.empty() || entry.error_class == error);
  }
  bool holds_text(const SetEntry& entry) const {
    if (shown_of(show_args, entry) == ShowArgs::all) return entry.payload.find(text) != entry.payload.npos;
    for (const std::string* one :
         {&entry.jid, &entry.display_class, &entry.job_class, &entry.queue, &entry.error_class, &entry.error_message}) {
      if (one->find(text) != one->npos) return true;
    }
    return false;
  }
  std::vector<std::pair<std::string, std::string>> pairs() const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& [name, value] : {std::pair("text", &text), std::pair("class", &job_class),
                                      std::pair("queue", &queue), std::pair("error", &error)}) {
      if (!value->empty()) all.emplace_back(name, *value);
    }
    return all;
  }
  // A text that every match contains: Redis searches for it and sends less.
  std::string hint() const {
    for (const std::string* one : {&job_class, &queue, &error, &text}) {
      const bool is_plain = !one->empty() && one->find_first_of("*?[]\\\"<>&/") == one->npos &&
                            std::all_of(one->begin(), one->end(), [](char c) { return c >= ' ' && c < 0x7f; });
      if (is_plain) return *one;
    }
    return "";
  }
};

struct FilteredPage {
  std::vector<SetEntry> entries;
  std::size_t total = 0;
  bool is_cut = false;     // there may be more than `total`
  bool took_long = false;  // not all were visited
  bool has_more = false;
};

FilteredPage read_page(const JobSet& set, const SetKind& kind, const EntryFilter& filter, std::size_t number,
                       std::size_t per_page = entries_a_page) {
  FilteredPage page;
  if (filter.empty()) {
    page.entries = set.page(number, per_page, kind.order);
    page.total = set.size();
    page.has_more = (number + 1) * per_page < page.total;
    return page;
  }
  const std::size_t first = number * per_page;
  const SteadyTime end = steady_now() + longest_search;
  const auto take = [&](const SetEntry& entry) {
    if (!filter.takes(entry)) return true;
    if (page.total >= first && page.entries.size() < per_page) page.entries.push_back(entry);
    page.is_cut = ++page.total == most_counted;
    return !page.is_cut;
  };
  page.took_long = !set.scan(filter.hint(), take, [&](std::size_t, std::size_t) { return steady_now() < end; });
  page.is_cut |= page.took_long;
  const auto earlier = [&](const SetEntry& one, const SetEntry& other) {
    return kind.order == JobSet::Order::lowest_first ? one.score < other.score : one.score > other.score;
  };
  std::stable_sort(page.entries.begin(), page.entries.end(), earlier);
  page.has_more = first + per_page < page.total;
  return page;
}

std::string total_text(const FilteredPage& page) {
  return (page.is_cut ? "at least " : "") + counted(page.total, "entry", "entries");
}

Url entry_url(const SetKind& kind, std::string_view action, const SetEntry& entry, const EntryFilter& filter) {
  static constexpr std::string_view paths[][5] = {
      {"/retries", "/retries/one", "/retries/run", "/retries/kill", "/retries/delete"},
      {"/scheduled", "/scheduled/one", "/scheduled/run", "/scheduled/kill", "/scheduled/delete"},
      {"/dead", "/dead/one", "/dead/run", "/dead/run", "/dead/delete"}};
  static constexpr std::string_view actions[] = {"", "one", "run", "kill", "delete"};
  for (const auto& row : paths) {
    if (row[0] != kind.path) continue;
    for (std::size_t i = 0; i < std::size(actions); ++i) {
      if (actions[i] == action)
        return Url::of_route(row[i]).with("score", entry.score_text).with("jid", entry.jid).with_all(filter.pairs());
    }
  }
  throw Refused(404, "There is no such action.");
}

// The entry that a button or a link refers to.
SetEntry entry_meant(const Call& call, const JobSet& set) {
  const std::string score_text = call.query.value("score"), jid = call.query.value("jid");
  double score = 0;
  const auto [end, error] = std::from_chars(score_text.data(), score_text.data() + score_text.size(), score);
  if (error != std::errc{} || end != score_text.data() + score_text.size()) throw Refused(404, "The entry is missing.");
  // Compares the number alone: releases of Redis spell it differently, with an exponent or without.
  auto found = set.find(score, [&](const SetEntry& entry) { return entry.jid == jid; });
  if (found) return std::move(*found);
  throw Refused(409, "The job is not there any more, or was changed meanwhile.");
}

Html filter_form(const SetKind& kind, const EntryFilter& filter) {
  const auto field = [](const char* name, const char* label, const std::string& value) {
    return Html("<label>{}<input name=\"{}\" value=\"{}\" autocomplete=\"off\"></label>", label, name, value);
  };
  return Html(
      "<form class=\"filter\" method=\"get\" action=\"{}\" role=\"search\">{}{}{}{}<button "
      "class=\"big\">Filter</button>{}</form>",
      Url::of_route(kind.path), field("class", "Class", filter.job_class), field("queue", "Queue", filter.queue),
      field("error", "Error", filter.error), field("text", "Text", filter.text),
      filter.empty() ? Html() : Html("<a class=\"step\" href=\"{}\">Show all</a>", Url::of_route(kind.path)));
}

Html all_buttons(const Call& call, const SetKind& kind, const EntryFilter& filter, const FilteredPage& page) {
  if (page.total == 0) return {};
  const auto labelled = [&](std::string_view verb) {
    return filter.empty()
               ? fmt::format("{} all {}", verb, grouped(page.total))
               : fmt::format("{} {}{} found", verb, page.is_cut ? "all, at least " : "all ", grouped(page.total));
  };
  Html out;
  const auto add = [&](std::string_view path, std::string_view verb, Role role, bool is_dangerous) {
    const std::string label = labelled(verb) + " …";
    out += button(call, Url::of_route(path).with_all(filter.pairs()), {label, role, is_dangerous, false});
  };
  if (kind.path == "/retries") {
    add("/retries/run/all", "Retry", Role::operate, false);
    add("/retries/kill/all", "Kill", Role::admin, true);
    add("/retries/delete/all", "Delete", Role::admin, true);
  } else if (kind.path == "/scheduled") {
    add("/scheduled/run/all", "Run", Role::operate, false);
    add("/scheduled/kill/all", "Kill", Role::admin, true);
    add("/scheduled/delete/all", "Delete", Role::admin, true);
  } else {
    add("/dead/run/all", "Retry", Role::operate, false);
    add("/dead/delete/all", "Delete", Role::admin, true);
  }
  return Html("<div class=\"bulk\">{}</div>", out);
}

Html error_of(const SetEntry& entry) {
  if (entry.error_class.empty()) return Html("<span class=\"dim\">–</span>");
  return Html("{}<small>{}</small>", badge(Tone::bad, entry.error_class), shown_name(entry.error_message));
}

HttpResponse show_set(Call& call) {
  const SetKind& kind = kind_of(call);
  const JobSet set = (call.site.api().*kind.set)();
  const EntryFilter filter = EntryFilter::of(call);
  const std::size_t number = page_number(call);
  const FilteredPage found = read_page(set, kind, filter, number);
  Page page{.title = std::string(kind.title), .body = {}};
  page.beside_title = Html("<p class=\"dim\">{}</p>", total_text(found));
  page.body += filter_form(kind, filter);
  const bool has_errors = kind.path != "/scheduled";
  std::vector<PageTable::Column> columns = {{kind.time_title}, {"Job"}, {"Queue"}, {"Arguments"}};
  if (has_errors) columns.push_back({"Error"});
  if (kind.path == "/retries") columns.push_back({"Tries", PageTable::number});
  columns.push_back({"Actions", PageTable::actions});
  PageTable table(kind.title, columns);
  for (const SetEntry& entry : found.entries) {
    std::vector<Html> cells = {
        ago(entry.score),
        Html("{}<small class=\"mono\">{}</small>",
             link(entry_url(kind, "one", entry, {}), entry.display_class.empty() ? "(no job)" : entry.display_class),
             shown_name(entry.jid)),
        Html("{}", shown_name(entry.queue)), args_of(call, entry)};
    if (has_errors) cells.push_back(error_of(entry));
    if (kind.path == "/retries")
      cells.push_back(Html("{}", entry.retry_count ? std::to_string(*entry.retry_count + 1) : "–"));
    Html actions = button(call, entry_url(kind, "run", entry, filter), {kind.run_label, Role::operate});
    if (kind.can_kill) actions += button(call, entry_url(kind, "kill", entry, filter), {"Kill", Role::admin, true});
    actions += button(call, entry_url(kind, "delete", entry, filter), {"Delete", Role::admin, true});
    cells.push_back(actions);
    table.add(cells);
  }
  page.body += table.html(call, filter.empty()    ? kind.nothing
                                : found.took_long ? "No match within two seconds of search."
                                                  : "No entry matches the filter.");
  page.body += all_buttons(call, kind, filter, found);
  page.body += pager(Url::of_route(kind.path).with_all(filter.pairs()), number, found.has_more, total_text(found));
  return page_response(call, std::move(page));
}

HttpResponse back_to_set(const Call& call, const SetKind& kind, std::string_view said) {
  return see_other(call, Url::of_route(kind.path).with_all(EntryFilter::of(call).pairs()), said);
}

enum class BulkVerb { run, kill, remove };

// Changes at most `most` entries.
BulkResult do_step(JobSet& set, BulkVerb verb, const EntryFilter& filter, std::size_t most) {
  BulkResult sum;
  const SteadyTime end = steady_now() + longest_step;
  // An entry that is no job can only be removed.  It must not hold up those that can be moved.
  const auto can_be = [&](const SetEntry& entry) { return verb == BulkVerb::remove || entry.is_job; };
  if (filter.empty()) {
    std::size_t taken = 0;
    const JobSet::Condition wanted = [&](const SetEntry& entry) {
      return taken < most && can_be(entry) && ++taken > 0;
    };
    const Progress progress = [&](std::size_t, std::size_t) { return taken < most && steady_now() < end; };
    if (verb == BulkVerb::run) return set.run_all(wanted, progress);
    return verb == BulkVerb::kill ? set.kill_all(wanted, progress) : set.remove_if(wanted, progress);
  }
  // First finds matches, then changes them: the set may contain a million other entries.  Entries that stay must not
  // hold up those that can be moved.
  std::set<std::string> stuck;
  std::size_t stuck_before = 0;
  do {
    stuck_before = stuck.size();
    std::vector<SetEntry> wanted;
    std::size_t bytes = 0;
    sum.stopped = false;
    const auto take = [&](const SetEntry& entry) {
      if (!can_be(entry) || !filter.takes(entry) || stuck.contains(entry.payload)) return true;
      bytes += entry.payload.size();
      wanted.push_back(entry);
      sum.stopped = wanted.size() >= most || bytes >= most_bytes_a_step;
      return !sum.stopped;
    };
    sum.stopped |=
        !set.scan(filter.hint(), take, [&](std::size_t, std::size_t) { return wanted.empty() || steady_now() < end; });
    for (const SetEntry& entry : wanted) {
      if (steady_now() >= end) {
        sum.stopped = true;
        break;
      }
      ++sum.wanted;
      try {
        const bool was_there = verb == BulkVerb::run    ? set.run(entry)
                               : verb == BulkVerb::kill ? set.kill(entry)
                                                        : set.remove(entry);
        ++(was_there ? sum.done : sum.gone);
      } catch (const std::invalid_argument&) {
        stuck.insert(entry.payload);
      } catch (const JobStays&) {
        stuck.insert(entry.payload);
      }
    }
  } while (sum.stopped && sum.done == 0 && stuck.size() > stuck_before && steady_now() < end);
  sum.stuck = stuck.size();
  return sum;
}

std::size_t number_in(const FormValues& form, std::string_view name) {
  const std::string text = form.value(name);
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

HttpResponse change_all(Call& call, BulkVerb verb) {
  const SetKind& kind = kind_of(call);
  JobSet set = (call.site.api().*kind.set)();
  const EntryFilter filter = EntryFilter::of(call);
  const std::string_view name = verb == BulkVerb::run ? kind.run_label : verb == BulkVerb::kill ? "Kill" : "Delete";
  const std::string_view past = verb == BulkVerb::run ? kind.run_done : verb == BulkVerb::kill ? "killed" : "deleted";
  const Url here = Url::of_route(call.request.path == kind.path ? kind.path : std::string_view(call.request.path))
                       .with_all(filter.pairs());
  const Url back = Url::of_route(kind.path).with_all(filter.pairs());
  const auto form = [&](std::string_view label, std::size_t done, const std::optional<std::size_t>& most) {
    return Html(
        "<div class=\"bulk\"><form method=\"post\" action=\"{}\" data-continue=\"{}\">{}<input type=\"hidden\" "
        "name=\"sure\" value=\"yes\"><input type=\"hidden\" name=\"done\" value=\"{}\">{}"
        "<button class=\"big {}\">{}</button></form><a class=\"step\" href=\"{}\">Go back</a></div>",
        here, done > 0 ? "yes" : "no", token_field(call), done,
        most ? Html("<input type=\"hidden\" name=\"most\" value=\"{}\">", *most) : Html(),
        verb == BulkVerb::run ? "" : "danger", label, back);
  };
  Page page{.title = std::string(kind.title), .body = {}};
  if (call.form.value("sure") != "yes") {
    call.changed = std::nullopt;
    const FilteredPage found = read_page(set, kind, filter, 0);
    page.title = fmt::format("{} {}?", name, total_text(found));
    page.body +=
        Html("<p class=\"lead\">{} of {} will be {}, in small steps. {}</p>", total_text(found), kind.title, past,
             found.is_cut ? "New entries that match the filter are included." : "New entries are not included.");
    if (!filter.empty()) {
      Facts facts;
      for (const auto& [condition, value] : filter.pairs()) facts.add(condition, code(value));
      page.body += facts.html();
    }
    page.body += form(fmt::format("{} {}", name, total_text(found)), 0,
                      found.is_cut ? std::nullopt : std::optional(found.total));
    return page_response(call, std::move(page));
  }
  const std::size_t before = number_in(call.form, "done");
  // The number that the user confirmed; nullopt: all, for a program.
  const std::optional<std::size_t> most =
      call.form.has("most") ? std::optional(number_in(call.form, "most")) : std::nullopt;
  const std::size_t left = most ? *most - std::min(*most, before) : most_a_step;
  const BulkResult result = left == 0 ? BulkResult() : do_step(set, verb, filter, std::min(left, most_a_step));
  const std::size_t done = before + result.done;
  call.changed = result.done;
  const std::string said =
      fmt::format("{} {}.{}", counted(done, "job was", "jobs were"), past,
                  result.stuck > 0 ? fmt::format(" {} could not be moved.", grouped(result.stuck)) : "");
  const bool goes_on = result.stopped && result.done > 0 && (!most || done < *most);
  if (!goes_on) return see_other(call, back, said);
  page.title = said;
  page.body += Html("<p class=\"lead\">There are more.</p>");
  page.body += form("Go on", done, most);
  return page_response(call, std::move(page));
}

}  // namespace

HttpResponse show_retries(Call& call) { return show_set(call); }
HttpResponse show_scheduled(Call& call) { return show_set(call); }
HttpResponse show_dead(Call& call) { return show_set(call); }

HttpResponse answer_set(Call& call) {
  const SetKind& kind = kind_of(call);
  const JobSet set = (call.site.api().*kind.set)();
  const std::size_t wanted = number_in(call.query, "limit");
  const std::size_t limit = wanted == 0 ? entries_told : std::min(wanted, most_entries_told);
  const FilteredPage found = read_page(set, kind, EntryFilter::of(call), page_number(call), limit);
  if (found.took_long && found.entries.size() < limit)
    throw Refused(503, "The search takes too long: filter by class, queue or error too.");
  const ShowArgsSettings& show_args = call.site.settings().show_args;
  return json_answer(200, json_array(found.entries, [&](const SetEntry& entry) {
                       return job_json(entry, false, shown_of(show_args, entry));
                     }));
}

HttpResponse show_entry(Call& call) {
  const SetKind& kind = kind_of(call);
  const JobSet set = (call.site.api().*kind.set)();
  const SetEntry entry = entry_meant(call, set);
  Page page{.title = entry.display_class.empty() ? "(no job)" : entry.display_class, .body = {}};
  Html actions = button(call, entry_url(kind, "run", entry, {}), {kind.run_label, Role::operate, false, false});
  if (kind.can_kill) actions += button(call, entry_url(kind, "kill", entry, {}), {"Kill", Role::admin, true, false});
  actions += button(call, entry_url(kind, "delete", entry, {}), {"Delete", Role::admin, true, false});
  page.beside_title = Html("<div class=\"bulk\">{}</div>", actions);
  Facts facts;
  facts.add("Id", code(entry.jid));
  facts.add(kind.time_title, ago(entry.score));
  facts.add("Queue", link_by_name(Url("/queues/one").with("name", entry.queue), entry.queue));
  if (!entry.shard.empty()) facts.add("Shard", entry.shard);
  if (entry.created_at) facts.add("Made", ago(epoch_of(*entry.created_at)));
  if (entry.failed_at) facts.add("Failed first", ago(epoch_of(*entry.failed_at)));
  if (entry.retried_at) facts.add("Failed last", ago(epoch_of(*entry.retried_at)));
  if (const auto batch = batch_of(entry.payload)) facts.add("Batch", *batch);
  if (entry.retry_count) facts.add("Tries", std::to_string(*entry.retry_count + 1));
  for (std::size_t i = 0; i < std::min(entry.tags.size(), most_tags_shown); ++i)
    facts.add("Tag", shown_name(entry.tags[i]));
  page.body += facts.html();
  page.body += section("Arguments", Html("<pre tabindex=\"0\">{}</pre>", args_of(call, entry)));
  if (!entry.error_class.empty()) {
    page.body +=
        section("Error", Html("<p class=\"lead\">{} {}</p>", badge(Tone::bad, entry.error_class), entry.error_message));
    const std::vector<std::string> backtrace = entry.backtrace();
    if (!backtrace.empty()) page.body += section("Stack", lines(backtrace));
    const std::string replay[] = {call.site.replay_of(entry.jid)};
    page.body += section("Run it again under a debugger", lines(replay));
  }
  page.body += Html("<p>{}</p>", link(Url::of_route(kind.path), fmt::format("All of {}", kind.title)));
  return page_response(call, std::move(page));
}

HttpResponse run_entry(Call& call) {
  const SetKind& kind = kind_of(call);
  JobSet set = (call.site.api().*kind.set)();
  const SetEntry entry = entry_meant(call, set);
  if (!set.run(entry)) throw Refused(409, "The job is not there any more.");
  return back_to_set(call, kind, fmt::format("{} was {}.", shown_name(entry.display_class), kind.run_done));
}

HttpResponse kill_entry(Call& call) {
  const SetKind& kind = kind_of(call);
  JobSet set = (call.site.api().*kind.set)();
  const SetEntry entry = entry_meant(call, set);
  if (!set.kill(entry)) throw Refused(409, "The job is not there any more.");
  return back_to_set(call, kind, shown_name(entry.display_class) + " is dead.");
}

HttpResponse delete_entry(Call& call) {
  const SetKind& kind = kind_of(call);
  JobSet set = (call.site.api().*kind.set)();
  const SetEntry entry = entry_meant(call, set);
  if (!set.remove(entry)) throw Refused(409, "The job is not there any more.");
  return back_to_set(call, kind, shown_name(entry.display_class) + " was deleted.");
}

HttpResponse run_all_entries(Call& call) { return change_all(call, BulkVerb::run); }
HttpResponse kill_all_entries(Call& call) { return change_all(call, BulkVerb::kill); }
HttpResponse delete_all_entries(Call& call) { return change_all(call, BulkVerb::remove); }

}  // namespace brood
