#include "shared/base/process_stat.hpp"

#include <fstream>
#include <iterator>
#include <sstream>

#include "shared/base/plain_number.hpp"

namespace brood {

std::optional<ProcessStat> ProcessStat::read(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line, '\0');
  return parse(line);
}

std::optional<ProcessStat> ProcessStat::parse(const std::string& line) {
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == line.npos) return std::nullopt;
  std::istringstream rest(line.substr(end_of_name + 1));
  ProcessStat stat;
  stat.fields_.assign(std::istream_iterator<std::string>(rest), {});
  if (stat.fields_.size() < 2) return std::nullopt;
  return stat;
}

std::uint64_t ProcessStat::number(std::size_t field) const {
  constexpr std::size_t first = 3;
  const std::size_t i = field - first;
  return i < fields_.size() ? leading_number<std::uint64_t>(fields_[i]) : 0;
}

}  // namespace brood
