#include "shared/scoreboard/job_end_mark.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdint>

#include "shared/base/check.hpp"
#include "shared/base/log_line.hpp"

namespace brood {
namespace {

// Neither can occur in a printable text: record separator, unit separator.
constexpr char mark_begins = '\x1e', next_field = '\x1f';

// The scoreboard's own limits, so that a mark with everything escaped stays below PIPE_BUF.
constexpr std::size_t longest_jid = 128, longest_class = 256;

std::string mark_start(std::string_view token) {
  std::string start(1, mark_begins);
  start += token;
  return start += next_field;
}

}  // namespace

std::string job_end_mark(std::string_view token, std::string_view jid, std::string_view job_class) {
  std::string mark = mark_start(token);
  mark += log::printable(jid.substr(0, longest_jid));
  mark += next_field;
  mark += log::printable(job_class.substr(0, longest_class));
  return mark += '\n';
}

std::optional<FoundMark> find_job_end_mark(std::string_view line, std::string_view token) {
  if (line.find(mark_begins) == line.npos) return std::nullopt;
  const std::string start = mark_start(token);
  const std::size_t at = line.rfind(start);
  if (at == line.npos) return std::nullopt;
  const std::string_view fields = line.substr(at + start.size());
  const std::size_t middle = fields.find(next_field);
  if (middle == fields.npos) return std::nullopt;
  return FoundMark{at, {fields.substr(0, middle), fields.substr(middle + 1)}};
}

std::string random_token() {
  std::uint64_t number = 0;
  check("getrandom", getrandom(&number, sizeof number, 0));
  return fmt::format("{:016x}", number);
}

}  // namespace brood
