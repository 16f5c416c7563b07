#include "supervisor/cli/web/views/job_parts.hpp"

#include <chrono>

#include "shared/json/json.hpp"
#include "supervisor/cli/web/page/parts.hpp"
#include "supervisor/cli/web/page/site.hpp"

namespace brood {
namespace {

constexpr std::size_t most_characters_of_args = 160;

}  // namespace

Html args_of(const Call& call, const JobRecord& job) {
  if (!call.site.settings().show_args) return Html("<span class=\"dim\">not shown</span>");
  if (job.member("encrypt").value_or("false") == "true") return Html("<span class=\"dim\">encrypted</span>");
  const std::string args = job.display_args();
  const std::string shown = utf8_prefix(args, most_characters_of_args);
  return Html("<code class=\"args\">{}{}</code>", shown, shown.size() < args.size() ? "…" : "");
}

double epoch_of(Time time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

}  // namespace brood
