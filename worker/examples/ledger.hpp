#pragma once

#include <string>

#include <brood/job.hpp>

// Writes into a file when it begins and when it ends: `S id pid starttime mono`, then `D id pid mono`.  Each line is
// one write(2) to a descriptor in append mode, so it stays if the writer is killed afterwards.  Spaces fill it up to
// 64 bytes, so that no line lies across two pages: between pages Linux ends the write of a killed process.  Tests
// count real runs with it.
struct Ledger {
  std::string path;
  std::string id;
  int milliseconds = 0;

  static constexpr brood::JobOptions options{.required = 2};
  void perform();
};
