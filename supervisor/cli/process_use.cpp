#include "supervisor/cli/process_use.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

std::string first_kilobyte(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return "";
  std::array<char, 1024> text{};
  const ssize_t size = read(file.get(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(size > 0 ? size : 0)};
}

}  // namespace

std::optional<ProcessUse> use_of_process(std::int64_t pid) {
  const std::string stat = first_kilobyte("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end_of_name = stat.rfind(')');  // the name before it may hold anything
  if (end_of_name == stat.npos) return std::nullopt;
  std::istringstream rest(stat.substr(end_of_name + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  constexpr std::size_t first = 3;  // as proc(5) numbers them
  const auto field = [&](std::size_t number) -> std::uint64_t {
    const std::size_t i = number - first;
    return i < fields.size() ? std::strtoull(fields[i].c_str(), nullptr, 10) : 0;
  };
  static const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const std::uint64_t page_kb = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
  return ProcessUse{.start_time = field(22),
                    .cpu_s = static_cast<double>(field(14) + field(15)) / ticks,
                    .rss_kb = field(24) * page_kb};
}

}  // namespace brood
