#include "supervisor/web/views/job_parts.hpp"

#include <chrono>
#include <string_view>

#include "shared/job/batch_membership.hpp"
#include "shared/json/json.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

constexpr std::size_t most_characters_of_args = 160;
constexpr std::string_view not_shown = "not shown";

}  // namespace

ShowArgs shown_of(const ShowArgsSettings& settings, const JobRecord& job) {
  if (settings.of_class.empty()) return settings.usual;
  if (!job.is_job) return settings.of_any();
  const std::string wrapped = job.member("wrapped").value_or("");
  return settings.of({job.display_class, job.job_class, wrapped.starts_with('"') ? json_unescape(wrapped) : ""});
}

Html args_of(const Call& call, const JobRecord& job) {
  const ShowArgs shows = shown_of(call.site.settings().show_args, job);
  if (shows == ShowArgs::none) return Html("<span class=\"dim\">{}</span>", not_shown);
  if (job.member("encrypt").value_or("false") == "true") return Html("<span class=\"dim\">encrypted</span>");
  return Html("<code class=\"args\">{}</code>", told_args(shows, job.display_args(), most_characters_of_args));
}

std::string told_args(ShowArgs shows, const std::string& args, std::size_t most_characters) {
  if (shows == ShowArgs::none || (shows == ShowArgs::keys && !is_json(args))) return std::string(not_shown);
  const std::string told = shows == ShowArgs::keys ? json_shape(args, "…") : args;
  const std::string shown = utf8_prefix(told, most_characters);
  return shown.size() < told.size() ? shown + "…" : shown;
}

std::optional<Html> batch_of(const std::string& payload) {
  const auto named = batch_named_by(payload);
  if (!named) return std::nullopt;
  const std::string& bid = named->bid.empty() ? named->callback : named->bid;
  const Html to_it = link(Url("/batches/one").with("bid", bid), bid);
  return named->bid.empty() ? Html("callback of {}", to_it) : to_it;
}

double epoch_of(Time time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

}  // namespace brood
