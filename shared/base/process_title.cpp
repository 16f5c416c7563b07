#include "shared/base/process_title.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/process_stat.hpp"

namespace brood {
namespace {

struct Room {
  char* begin = nullptr;
  std::size_t size = 0;
};
Room room;
std::size_t title_length = 0, tail_length = 0;

// Where the arguments and the environment lie on the stack.
Room find_room() {
  const auto stat = ProcessStat::read(getpid());
  if (!stat) return {};
  const std::uint64_t arg_begin = stat->number(48), arg_end = stat->number(49);
  const std::uint64_t env_begin = stat->number(50), env_end = stat->number(51);
  if (arg_begin == 0 || arg_end <= arg_begin) return {};
  const auto end = env_begin == arg_end ? env_end : arg_end;
  return {reinterpret_cast<char*>(static_cast<std::uintptr_t>(arg_begin)), static_cast<std::size_t>(end - arg_begin)};
}

// Copies the environment into one block, which lives as long as the process.
void move_environment_away() {
  static std::string& texts = *new std::string;
  static auto& pointers = *new std::vector<char*>;
  std::vector<std::size_t> beginnings;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    beginnings.push_back(texts.size());
    texts.append(*variable).push_back('\0');
  }
  for (const std::size_t beginning : beginnings) pointers.push_back(texts.data() + beginning);
  pointers.push_back(nullptr);
  environ = pointers.data();
}

}  // namespace

void set_process_title(const std::string& wanted) {
  const std::string title = log::printable(wanted);
  static const bool found = [] {
    room = find_room();
    if (room.begin != nullptr) move_environment_away();
    return true;
  }();
  static_cast<void>(found);
  prctl(PR_SET_NAME, title.c_str());
  if (room.size < 2) return;
  const std::size_t length = std::min(title.size(), room.size - 1);
  std::memcpy(room.begin, title.data(), length);
  std::memset(room.begin + length, 0, room.size - length);
  title_length = length;
  tail_length = 0;
}

void set_title_tail(std::string_view tail) {
  if (title_length == 0) return;
  char* const begin = room.begin + title_length;
  const std::size_t length = std::min(tail.size(), room.size - 1 - title_length);
  std::memcpy(begin, tail.data(), length);
  if (length < tail_length) std::memset(begin + length, 0, tail_length - length);
  tail_length = length;
}

}  // namespace brood
