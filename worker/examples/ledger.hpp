#pragma once

#include <string>

#include <brood/job.hpp>

// Writes a line into a file when it begins, `S id pid starttime mono`, and when it ends, `D id pid mono`.  Each line is
// one write(2) to a descriptor in append mode, so it stays if the writer is killed afterwards.  Spaces fill it up to 64
// bytes, so that no line crosses a page: between pages Linux ends the write of a killed process.  Tests count real runs
// with it.
struct Ledger {
  std::string path;
  std::string id;
  int milliseconds = 0;

  static constexpr brood::JobOptions options{.required = 2};
  void perform();
};
