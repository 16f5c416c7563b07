#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace brood {

// The ways in which a run does not survive, as crashes are counted: what its retry has as error_class.  A signal that
// is not among them is counted with the last one.
inline constexpr std::array<std::string_view, 16> crash_ways{
    "SIGSEGV", "SIGABRT", "SIGBUS",  "SIGFPE",         "SIGILL",      "SIGSYS",     "SIGTRAP",   "SIGKILL",
    "SIGTERM", "SIGXCPU", "SIGXFSZ", "UnexpectedExit", "OutOfMemory", "JobTimeout", "JobKilled", "other"};

constexpr std::size_t crash_way(std::string_view error_class) {
  std::size_t way = 0;
  while (way + 1 < crash_ways.size() && crash_ways[way] != error_class) ++way;
  return way;
}

}  // namespace brood
