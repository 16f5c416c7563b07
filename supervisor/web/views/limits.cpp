#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "supervisor/cli/lists/limit_list.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

constexpr std::size_t most_limits_on_page = 200;  // of each kind and shard: each costs Redis a script

std::string limit_meant(const Call& call) {
  std::string name = call.query.value("name");
  if (name.empty()) throw Refused(404, "The limit is missing.");
  return name;
}

std::string count_of_limit(std::int64_t number) {
  return grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(0, number)));
}

Html used_of(const ListedLimit& limit) {
  const std::string text = limit.interval.count() == 0
                               ? count_of_limit(limit.held) + " of " + count_of_limit(limit.amount)
                               : count_of_limit(limit.held) + " of " + limit.limit_text();
  return badge(limit.held >= limit.amount && limit.amount > 0 ? Tone::warn : Tone::good, text);
}

Html reset_button(const Call& call, const std::string& name, bool in_row) {
  return button(call, Url("/limits/reset").with("name", name), {"Reset", Role::admin, true, in_row});
}

// The state of a holder of slots, "<identity>/<slot>.<incarnation>".  The holder of a cap's slots is an in-flight list,
// whose name contains the identity.
Html state_of_holder(const std::set<std::string>& living, const std::string& holder) {
  const bool lives = std::any_of(living.begin(), living.end(),
                                 [&](const std::string& identity) { return holder.find(identity) != holder.npos; });
  return lives ? badge(Tone::good, "its process is alive") : badge(Tone::bad, "no heartbeat");
}

}  // namespace

HttpResponse show_limits(Call& call) {
  std::vector<ListedLimit> limits;
  bool is_cut = false;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    std::vector<ListedLimit> here = list_limits_of(shard, most_limits_on_page);
    is_cut |= here.size() >= most_limits_on_page;
    for (ListedLimit& limit : here) limits.push_back(std::move(limit));
  });
  Page page{.title = "Limits", .body = {}};
  page.beside_title =
      Html("<p class=\"dim\">{}{}</p>", is_cut ? "at least " : "", counted(limits.size(), "limit", "limits"));
  page.body += Html(
      "<form class=\"filter\" method=\"get\" action=\"{}\" role=\"search\"><label>Name<input name=\"name\" "
      "autocomplete=\"off\"></label><button class=\"big\">Show</button></form>",
      Url("/limits/one"));
  PageTable table("Limits and caps, and how much of each is used", {{"Name"},
                                                                    {"Kind"},
                                                                    {"Used"},
                                                                    {"Taken", PageTable::number},
                                                                    {"Waited", PageTable::number},
                                                                    {"Over", PageTable::number},
                                                                    {"Reclaimed", PageTable::number},
                                                                    {"Actions", PageTable::actions}});
  for (const ListedLimit& limit : limits) {
    const auto count = [&](std::int64_t ListedLimit::Counts::*member) {
      return limit.counts ? Html("{}", count_of_limit((*limit.counts).*member)) : Html("<span class=\"dim\">–</span>");
    };
    const Html name = link(Url("/limits/one").with("name", limit.name), limit.name);
    table.add({limit.shard.empty() ? name : Html("{} <span class=\"dim\">{}</span>", name, limit.shard),
               Html("{}", limit.kind), used_of(limit), count(&ListedLimit::Counts::taken),
               count(&ListedLimit::Counts::waited), count(&ListedLimit::Counts::over),
               count(&ListedLimit::Counts::reclaimed), reset_button(call, limit.name, true)});
  }
  page.body += table.html(call, "No limit was used yet.");
  return page_response(call, std::move(page));
}

HttpResponse show_one_limit(Call& call) {
  const std::string name = limit_meant(call);
  std::vector<ListedLimit> limits;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    for (ListedLimit& limit : find_limits(shard, name)) limits.push_back(std::move(limit));
  });
  if (limits.empty()) throw Refused(404, "There is no limit " + name + ".");
  std::set<std::string> living;
  const StatusReport report = call.site.everything();
  if (report.redis) {
    for (const ProcessStatus& process : report.redis->processes) living.insert(process.identity);
  }
  Page page{.title = name, .body = {}};
  page.beside_title = Html("<div class=\"bulk\">{}</div>", reset_button(call, name, false));
  for (const ListedLimit& limit : limits) {
    Facts facts;
    facts.add("Kind", limit.kind);
    facts.add("Limit", limit.limit_text());
    if (!limit.shard.empty()) facts.add("Shard", limit.shard);
    facts.add("Used", used_of(limit));
    if (const auto& counts = limit.counts) {
      facts.add("Taken", count_of_limit(counts->taken));
      facts.add("Waited", count_of_limit(counts->waited) + " times");
      facts.add("Waiting in all", length_text(static_cast<double>(counts->waited_ms) / 1000));
      facts.add("Over", count_of_limit(counts->over) + " times");
      facts.add("Reclaimed", count_of_limit(counts->reclaimed));
    }
    page.body += facts.html();
    PageTable table("Holders", {{"Holder"}, {"State"}});
    for (const std::string& holder : limit.holders) table.add({code(holder), state_of_holder(living, holder)});
    page.body += table.html(call, "It has no holders.");
  }
  return page_response(call, std::move(page));
}

HttpResponse reset_one_limit(Call& call) {
  const std::string name = limit_meant(call);
  bool is_known = false;
  std::int64_t held = 0;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    if (find_limits(shard, name).empty()) return;
    is_known = true;
    held += reset_limits(shard, name);
  });
  if (!is_known) throw Refused(404, "There is no limit " + name + ".");
  return see_other(call, Url("/limits"), name + " was reset; " + count_of_limit(held) + " held by running jobs.");
}

}  // namespace brood
