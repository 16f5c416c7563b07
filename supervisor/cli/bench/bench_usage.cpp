#include "supervisor/cli/bench/bench_usage.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The number after `name` at the start of a line.
double number_after(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return leading_number<double>(text.substr(at + name.size()));
  }
  return 0;
}

std::string text_after(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = text.substr(at + name.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

}  // namespace

double cpu_seconds(const std::vector<pid_t>& processes) {
  double nanoseconds = 0;
  for (const pid_t pid : processes) {
    std::error_code gone;
    // The first number in schedstat is nanoseconds; /proc/<pid>/stat counts only clock ticks.
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
      nanoseconds += leading_number<double>(content(thread.path() / "schedstat"));
    }
  }
  return nanoseconds / 1e9;
}

std::uint64_t private_memory_kb(pid_t process) {
  const std::string directory = "/proc/" + std::to_string(process);
  const std::string rollup = content(directory + "/smaps_rollup");
  if (!rollup.empty()) {
    return static_cast<std::uint64_t>(number_after(rollup, "Private_Clean:") + number_after(rollup, "Private_Dirty:"));
  }
  std::istringstream statm(content(directory + "/statm"));
  std::uint64_t size = 0, resident = 0, shared = 0;
  statm >> plain(size) >> plain(resident) >> plain(shared);
  return (resident - shared) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

RedisUsage redis_usage(Connection& redis) {
  const Reply reply = redis.call({"INFO"});
  const std::string_view info = reply.view().text();
  RedisUsage usage;
  usage.version = text_after(info, "redis_version:");
  usage.cpu_seconds = number_after(info, "used_cpu_sys:") + number_after(info, "used_cpu_user:");
  usage.memory_kb = static_cast<std::uint64_t>(number_after(info, "used_memory:")) / 1024;
  usage.commands = static_cast<std::int64_t>(number_after(info, "total_commands_processed:"));
  usage.requests = static_cast<std::int64_t>(number_after(info, "total_reads_processed:"));
  usage.bytes_read = static_cast<std::int64_t>(number_after(info, "total_net_input_bytes:"));
  usage.bytes_written = static_cast<std::int64_t>(number_after(info, "total_net_output_bytes:"));
  return usage;
}

}  // namespace brood
