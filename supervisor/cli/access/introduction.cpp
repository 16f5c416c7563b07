#include "supervisor/cli/access/introduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/units.hpp"
#include "supervisor/cli/terminal/count_text.hpp"

namespace brood {
namespace {

constexpr std::size_t most_queues = 5;

std::string queues_text(const JsonObject& status) {
  std::vector<std::string> queues;
  for (const std::string& name : json_elements(status.raw("queues").value_or("[]"))) {
    if (name.starts_with('"')) queues.push_back(log::printable(json_unescape(name)));
  }
  if (queues.empty()) return "";
  const std::size_t shown = std::min(queues.size(), most_queues);
  std::string text = fmt::format("{} {}", queues.size() == 1 ? "queue" : "queues",
                                 fmt::join(queues.begin(), queues.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == queues.size() ? text : text + fmt::format(" and {} more", queues.size() - shown);
}

}  // namespace

std::string introduction(const JsonObject& status, WallTime now) {
  std::vector<std::string> parts;
  if (const std::string tag = status.string("tag").value_or(""); !tag.empty())
    parts.push_back("tag " + log::printable(tag));
  if (std::string queues = queues_text(status); !queues.empty()) parts.push_back(std::move(queues));
  if (const auto workers = status.integer("concurrency"); workers && *workers >= 0)
    parts.push_back(counted(static_cast<std::uint64_t>(*workers), "worker", "workers"));
  if (const auto started_at = status.number("started_at")) {
    const auto up = std::chrono::seconds(static_cast<std::int64_t>(std::max(0.0, epoch_seconds(now) - *started_at)));
    parts.push_back("up " + duration_text(up));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace brood
