#include <algorithm>
#include <array>
#include <brood/api.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/api/periodic_rules.hpp"
#include "shared/base/clock.hpp"
#include "shared/classes/rule_by_class.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/lists/periodic_list.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/json_answer.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"
#include "supervisor/web/views/job_parts.hpp"

namespace brood {
namespace {

constexpr int ticks_on_page = 5;
constexpr std::size_t periodic_a_page = 100, most_characters_of_rule = 60;
constexpr std::size_t most_characters_of_periodic_args = 4'000;

std::string periodic_meant(const Call& call) {
  std::string name = call.query.value("name");
  if (name.empty()) throw Refused(404, "The periodic job is missing.");
  return name;
}

Refused no_such_periodic(const std::string& name) { return {404, "No supervisor serves a periodic job " + name + "."}; }

Html tick_moment(const std::optional<WallTime>& moment, std::string_view none) {
  return moment ? ago(epoch_seconds(*moment)) : Html("<span class=\"dim\">{}</span>", none);
}

Html next_of(const ListedPeriodic& one) {
  if (one.is_paused()) return Html("<span class=\"dim\">paused</span>");
  const auto next = one.next_ticks(1);
  if (next.empty()) return Html("<span class=\"dim\">never</span>");
  return Html("{}<small>{}</small>", ago(epoch_seconds(WallTime(next.front()))), one.local_text(next.front()));
}

Html state_of_periodic(const ListedPeriodic& one) {
  if (!one.broken.empty()) return badge(Tone::bad, "broken");
  if (!one.known.paused_at.empty()) return badge(Tone::warn, "paused by the configuration");
  if (one.known.paused) return badge(Tone::warn, "paused");
  return one.served ? badge(Tone::good, "served") : badge(Tone::plain, "not served");
}

Html periodic_buttons(const Call& call, const ListedPeriodic& one, bool in_row) {
  if (!one.served || one.of_gem) return {};  // the gem's own tab runs, enables and disables its schedules
  const auto act = [&](SitePath path, std::string_view label) {
    return button(call, Url(path).with("name", one.name), {label, Role::operate, false, in_row});
  };
  Html buttons = act("/periodic/run", "Run now");
  if (one.known.paused || one.known.paused_at.empty())
    buttons += one.known.paused ? act("/periodic/unpause", "Unpause") : act("/periodic/pause", "Pause");
  if (one.origin() == "redis")
    buttons += button(call, Url("/periodic/remove").with("name", one.name), {"Remove", Role::admin, true, in_row});
  return buttons;
}

Html add_periodic_form(const Call& call) {
  if (!call.may(Role::operate)) return {};
  Html inputs;
  for (const auto& [label, name, hint] :
       std::vector<std::array<std::string_view, 3>>{{"Name", "name", "nightly-report"},
                                                    {"Rule", "cron", "0 3 * * *"},
                                                    {"Time zone", "tz", "UTC"},
                                                    {"Class", "class", "SendReport"},
                                                    {"Arguments", "args", "[]"},
                                                    {"Queue", "queue", "that of the class"}})
    inputs += Html("<label>{}<input name=\"{}\" placeholder=\"{}\" autocomplete=\"off\"></label>", label, name, hint);
  return section("Add a rule", Html("<form class=\"filter\" method=\"post\" action=\"{}\">{}{}<button "
                                    "class=\"big\">Add</button></form>",
                                    Url("/periodic/add"), token_field(call), inputs));
}

HttpResponse set_periodic_paused(Call& call, bool pauses) {
  const std::string name = periodic_meant(call);
  const PausedPeriodic paused = pause_periodic_of(call.site.shards(), name, pauses);
  if (!paused.was_so) throw no_such_periodic(name);
  if (!pauses && !paused.paused_at.empty()) throw Refused(409, paused_by_configuration(name, paused.paused_at) + ".");
  return see_other(call, Url("/periodic"), pauses ? name + " is paused." : name + " is not paused any more.");
}

}  // namespace

HttpResponse show_periodic(Call& call) {
  const std::vector<ListedPeriodic> all = list_periodic(call.site.configuration(), call.site.shards());
  Page page{.title = "Periodic", .body = {}};
  page.beside_title = Html("<p class=\"dim\">{}</p>", counted(all.size(), "job", "jobs"));
  PageTable table("Periodic jobs, by name", {{"Name"},
                                             {"State"},
                                             {"Rule"},
                                             {"Class"},
                                             {"Next"},
                                             {"Last"},
                                             {"Source"},
                                             {"Missed", PageTable::number},
                                             {"Actions", PageTable::actions}});
  const std::size_t number = page_number(call), first = number * periodic_a_page;
  for (std::size_t i = first; i < std::min(all.size(), first + periodic_a_page); ++i) {
    const ListedPeriodic& one = all[i];
    const auto left_out = static_cast<std::uint64_t>(std::max<std::int64_t>(0, one.known.missed + one.known.skipped));
    table.add({one.of_gem ? Html("{}<small>sidekiq-cron</small>", one.name)
                          : link(Url("/periodic/one").with("name", one.name), one.name),
               state_of_periodic(one),
               Html("<span class=\"mono rule\">{}</span><small>{}</small>",
                    utf8_prefix(one.cron, most_characters_of_rule), one.zone),
               code(one.job_class), next_of(one), tick_moment(one.known.last, "never"), Html("{}", one.shown_origin()),
               left_out > 0 ? badge(Tone::warn, grouped(left_out)) : Html("<span class=\"dim\">0</span>"),
               periodic_buttons(call, one, true)});
  }
  page.body += table.html(call, "There is no periodic job.");
  if (all.size() > periodic_a_page)
    page.body += pager(Url("/periodic"), number, first + periodic_a_page < all.size(),
                       counted(all.size(), "periodic job", "periodic jobs"));
  page.body += add_periodic_form(call);
  return page_response(call, std::move(page));
}

HttpResponse show_one_periodic(Call& call) {
  const std::string name = periodic_meant(call);
  ListedPeriodic one;
  std::vector<PastTick> history;
  const bool is_known = visit_periodic(call.site.shards(), name, [&](Connection& redis, const ListedPeriodic& found) {
    one = found;
    history = history_of_periodic(redis, name);
  });
  if (!is_known) {
    const auto configured = call.site.configuration().periodic;
    const auto settings = configured.find(name);
    if (settings == configured.end()) throw no_such_periodic(name);
    one = listed_periodic(name, settings->second);
  }
  Page page{.title = name, .body = {}};
  page.beside_title =
      Html("{}<div class=\"bulk\">{}</div>", state_of_periodic(one), periodic_buttons(call, one, false));
  Facts facts;
  facts.add("Class", code(one.job_class));
  facts.add("Queue", link_by_name(Url("/queues/one").with("name", one.queue), one.queue));
  facts.add("Rule", code(one.cron));
  facts.add("Zone", one.zone);
  facts.add("Source", one.known.place.empty() ? Html("{}", one.shown_origin())
                                              : Html("{}<small>{}</small>", one.shown_origin(), one.known.place));
  if (!one.known.paused_at.empty()) facts.add("Paused by the configuration", one.known.paused_at);
  facts.add("Overlap", one.overlap);
  facts.add("Last", tick_moment(one.known.last, "never"));
  facts.add("Ticks", std::to_string(one.known.claimed));
  facts.add("Missed", std::to_string(one.known.missed));
  facts.add("Skipped", std::to_string(one.known.skipped));
  page.body += facts.html();
  page.body += section(
      "Arguments", Html("<pre tabindex=\"0\">{}</pre>", told_args(call.site.settings().show_args.of({one.job_class}),
                                                                  one.args, most_characters_of_periodic_args)));
  PageTable next("The next ticks", {{"In"}, {"Local time"}});
  for (const auto tick : one.next_ticks(ticks_on_page))
    next.add({ago(epoch_seconds(WallTime(tick))), Html("<span class=\"mono\">{}</span>", one.local_text(tick))});
  page.body += section("Next ticks", next.html(call, "The rule has no more ticks."));
  PageTable past("Past ticks, the latest first", {{"Due"}, {"Claimed"}, {"Job"}});
  for (const PastTick& tick : history)
    past.add({tick_moment(tick.tick, "by hand"), tick_moment(tick.at, "–"),
              tick.jid.empty() ? Html("<span class=\"dim\">no job</span>") : code(tick.jid)});
  page.body += section("Past ticks", past.html(call, "No ticks yet."));
  return page_response(call, std::move(page));
}

HttpResponse run_one_periodic(Call& call) {
  const std::string name = periodic_meant(call);
  std::optional<std::string> jid;
  const bool is_known = visit_periodic(call.site.shards(), name, [&](Connection& redis, const ListedPeriodic& one) {
    jid = run_periodic_now(redis, one, call.user.empty() ? "brood web" : "brood web: " + call.user);
  });
  if (!is_known) throw no_such_periodic(name);
  if (!jid) throw Refused(409, "The job of " + name + " before has not ended.");
  return see_other(call, Url("/periodic/one").with("name", name), "A job was enqueued: " + *jid + ".");
}

HttpResponse remove_one_periodic(Call& call) {
  const std::string name = periodic_meant(call);
  Periodic periodic = call.site.api().periodic();
  const RemovedRule answer = detail::PeriodicRules::remove(periodic, name);
  if (!answer.removed && !answer.place.empty())
    throw Refused(409, name + " was not added at run time, but is in " + answer.place + ".");
  if (!answer.removed) throw Refused(404, "There is no rule " + name + ".");
  call.changed = 1;
  return see_other(call, Url("/periodic"), name + " is removed.");
}

namespace {

Refused refused_put(const std::string& name, const PutRule& answer) {
  switch (answer.outcome) {
    case PutRule::Outcome::exists:
      return {409, "There is a rule " + name + ": replace=1 replaces it."};
    case PutRule::Outcome::too_many:
      return {409, "There are as many rules as there may be."};
    default:
      return {409,
              name + " is in " + (answer.place.empty() ? "the configuration" : answer.place) + ": change it there."};
  }
}

}  // namespace

namespace {

// The rule with the options of its class.  Throws PushRefused.
std::string rule_by_class(Call& call, const JsonObject& rule, bool unchecked) {
  RuleAsPush by_class = rule_as_push(rule);
  go_by_class(by_class.push, by_class.said, *call.site.published_classes(), ask_ruby_serves(call.site.shards()),
              unchecked);
  return with_class_options(rule, by_class);
}

PutRule put_rule(Call& call, const std::string& name, const JsonObject& rule, bool replaces, bool unchecked) {
  call.on = "name=" + name;
  const Config config = call.site.configuration();
  if (const auto one = config.periodic.find(name); one != config.periodic.end())
    throw refused_put(name, {PutRule::Outcome::is_elsewhere, one->second.place});
  if (config.encryption.require) check_class_of_rule(*call.site.published_classes(), rule.string("class").value_or(""));
  const std::string by_class = rule_by_class(call, rule, unchecked);
  Periodic periodic = call.site.api().periodic();
  const std::string by = call.user.empty() ? "brood web" : "brood web: " + call.user;
  const PutRule answer = detail::PeriodicRules::put(periodic, name, by_class, by, replaces);
  if (answer.outcome != PutRule::Outcome::added && answer.outcome != PutRule::Outcome::replaced)
    throw refused_put(name, answer);
  call.changed = 1;
  return answer;
}

}  // namespace

// A rule as `brood periodic add` makes it, with its name.
HttpResponse accept_periodic(Call& call) try {
  const JsonObject body = JsonObject::parse(call.request.body);
  const std::string name = body.string("name").value_or("");
  const PutRule answer =
      put_rule(call, name, body, call.query.value("replace") == "1", call.query.value("unchecked") == "1");
  std::vector<std::string> ticks;
  for (const PeriodicTick& tick : Periodic::next(body.string("cron").value_or(""), body.string("tz").value_or("UTC"),
                                                 static_cast<std::size_t>(ticks_on_page)))
    ticks.push_back(tick.local);
  return json_answer(200, JsonWriter()
                                  .text("name", name)
                                  .truth("added", answer.outcome == PutRule::Outcome::added)
                                  .truth("replaced", answer.outcome == PutRule::Outcome::replaced)
                                  .texts("next", ticks)
                                  .object() +
                              "\n");
} catch (const BadJson& error) {
  throw Refused(400, error.what());
} catch (const UnfitPush& error) {
  throw Refused(400, unless_unchecked(error));
} catch (const std::invalid_argument& error) {
  throw Refused(400, error.what());
}

HttpResponse add_one_periodic(Call& call) try {
  const std::string name = call.form.value("name");
  JsonWriter rule;
  rule.text("name", name);
  for (const char* const member : {"cron", "tz", "class", "queue"}) {
    if (const std::string said = call.form.value(member); !said.empty()) rule.text(member, said);
  }
  if (const std::string args = call.form.value("args"); !args.empty()) {
    if (!is_json(args)) throw Refused(400, "The arguments are no JSON, such as [7, \"a\"].");
    rule.json("args", args);
  }
  put_rule(call, name, JsonObject::parse(rule.object()), false, false);
  return see_other(call, Url("/periodic/one").with("name", name), name + " is added.");
} catch (const BadJson& error) {
  throw Refused(400, error.what());
} catch (const std::invalid_argument& error) {
  throw Refused(400, error.what());
}

HttpResponse pause_one_periodic(Call& call) { return set_periodic_paused(call, true); }
HttpResponse unpause_one_periodic(Call& call) { return set_periodic_paused(call, false); }

}  // namespace brood
