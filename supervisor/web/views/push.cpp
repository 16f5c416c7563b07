#include <brood/client.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "shared/api/opening.hpp"
#include "shared/api/push/member_names.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/base/clock.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/json_answer.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

// The data by which pushes are checked.
struct Checks {
  explicit Checks(Call& call)
      : unchecked(call.query.value("unchecked") == "1"),
        published(call.site.published_classes()),
        ruby_serves(ask_ruby_serves(call.site.shards())) {}
  bool unchecked;
  std::shared_ptr<const PublishedClasses> published;
  RubyServes ruby_serves;
};

// With the number of the line if there are several.
Refused refused_push(const std::string& why, std::size_t line) {
  return {400, line == 0 ? why : "line " + std::to_string(line) + ": " + why};
}

// Throws Refused.
Push job_in(std::string_view text, const Checks& checks, std::size_t line, std::string* warning = nullptr) try {
  Push push = Push::parse(text);
  if (!checks.unchecked) check_member_names(push);
  spell_as_ruby(push);
  const std::string warned =
      go_by_class(push, SaidByPush::of(text), *checks.published, checks.ruby_serves, checks.unchecked);
  if (warning != nullptr) *warning = warned;
  prepare_push(push, wall_now());  // nothing is sent before all can be
  return push;
} catch (const UnfitPush& error) {
  throw refused_push(unless_unchecked(error), line);
} catch (const std::invalid_argument& error) {
  throw refused_push(error.what(), line);
}

std::string with_warning(std::string json, const std::string& warning) {
  if (!warning.empty()) json.insert(json.size() - 1, ",\"warning\":" + json_string(warning));
  return json;
}

// A job that names its jid is pushed once, however often it is sent.
std::string push_one(Client& client, Push push) {
  return push.jid.empty() ? client.push(push) : detail::Opening::push_once(client, std::move(push));
}

std::vector<Push> jobs_of_lines(std::string_view body, const Checks& checks) {
  std::vector<Push> jobs;
  std::size_t number = 0;
  while (!body.empty()) {
    const std::size_t end = std::min(body.find('\n'), body.size());
    const std::string_view line = body.substr(0, end);
    body.remove_prefix(std::min(end + 1, body.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") != line.npos) jobs.push_back(job_in(line, checks, number));
  }
  return jobs;
}

}  // namespace

// One job as JSON, or one per line, each as for `brood enqueue --bulk`.
HttpResponse accept_jobs(Call& call) {
  Client& client = call.site.client();
  const Checks checks(call);
  if (!call.request.is_of_type("application/x-ndjson")) {
    std::string warning;
    const Push push = job_in(call.request.body, checks, 0, &warning);
    call.on = "class=" + push.job_class + " queue=" + push.queue;
    const std::string jid = push_one(client, push);
    call.changed = jid.empty() ? 0 : 1;
    if (jid.empty()) return json_answer(200, refused_push_json(push, detail::Opening::holder(client, push)) + "\n");
    return json_answer(200, with_warning(push_json(push, jid), warning) + "\n");
  }
  std::vector<Push> jobs = jobs_of_lines(call.request.body, checks);
  call.on = counted(jobs.size(), "job", "jobs");
  std::vector<std::string> jids;
  std::size_t pushed = 0;
  try {
    for (Push& push : jobs) {
      jids.push_back(push_one(client, std::move(push)));
      if (!jids.back().empty()) ++pushed;
    }
  } catch (const std::exception& error) {
    throw Refused(503, std::string(error.what()) + "; of " + counted(jobs.size(), "job", "jobs") + " the first " +
                           std::to_string(jids.size()) + " were pushed");
  }
  call.changed = pushed;
  return json_answer(
      200, JsonWriter().number("pushed", pushed).number("refused", jids.size() - pushed).texts("jids", jids).object() +
               "\n");
}

}  // namespace brood
