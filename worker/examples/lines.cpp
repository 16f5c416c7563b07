#include "lines.hpp"

#include <fstream>
#include <stdexcept>

brood::Items<std::string> CopyLines::items(std::optional<std::int64_t> cursor) const {
  return brood::each_line(from, cursor);
}

void CopyLines::each(const std::string& line, brood::Iteration&) {
  std::ofstream file(to, std::ios::app);
  if (!(file << line << "\n" << std::flush)) throw std::runtime_error("cannot write " + to);
}

void CopyLines::on_complete(brood::Iteration& job) {
  job.log("all lines are copied, in " + std::to_string(job.executions()) + " runs");
}
