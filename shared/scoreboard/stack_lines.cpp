#include "shared/scoreboard/stack_lines.hpp"

#include <algorithm>

namespace brood {
namespace {

// The module in "#0 decode(Image&) at decode.cpp:42 (libjobs.so+0x1a2b, inlined)" or "#0 libjobs.so+0x1a2b [build id
// 1f2e...]"; empty: the frame lies in none.
std::string_view module_of(std::string_view line) {
  const std::size_t bracket = line.ends_with(')') ? line.rfind(" (") : line.npos;
  const std::size_t begin = bracket == line.npos ? line.find(' ') + 1 : bracket + 2;
  const std::size_t end = line.rfind("+0x");
  return end == line.npos || end < begin ? std::string_view() : line.substr(begin, end - begin);
}

}  // namespace

bool is_machinery(std::string_view module) {
  constexpr std::string_view runtime[] = {"libc.so",     "libstdc++.so",  "libgcc_s.so", "libm.so",    "libpthread.so",
                                          "ld-linux",    "linux-vdso.so", "[vdso]",      "libasan.so", "libubsan.so",
                                          "libtsan.so.", "libc++.so",     "libc++abi.so"};
  return module == "brood" || std::any_of(std::begin(runtime), std::end(runtime),
                                          [&](std::string_view name) { return module.starts_with(name); });
}

std::string top_line(const std::vector<std::string>& stack) {
  if (stack.empty()) return "";
  const auto own =
      std::find_if(stack.begin(), stack.end(), [](const std::string& line) { return !is_machinery(module_of(line)); });
  return own == stack.end() ? stack.front() : *own;
}

}  // namespace brood
