#pragma once

#include <string>

#include <brood/job.hpp>

// Says in a file when it begins and when it ends: `S id pid starttime mono`, then `D id pid mono`.  Each line is one
// write(2) to a descriptor in append mode, and stays whatever kills the writer afterwards.  Spaces fill it up to 64
// bytes, so that none lies across two pages: between them Linux ends the write of a process that is killed.  Tests
// count with it what really ran.
struct Ledger {
  std::string path;
  std::string id;
  int milliseconds = 0;

  static constexpr brood::JobOptions options{.required = 2};
  void perform();
};
