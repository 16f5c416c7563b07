#include <brood/job.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

// Imports the rows of a file, one line each, into what stands for a database: a directory with a file for each row.
struct ImportRows {
  std::string file;
  std::string database;

  static constexpr brood::JobOptions options{.queue = "imports"};
  static constexpr auto flush_interval = std::chrono::milliseconds(100);  // how often the cursor is saved; else 5 s

  brood::Items<std::string> items(std::optional<std::int64_t> cursor) const { return brood::each_line(file, cursor); }

  // A row may come twice, after a kill: it is written under its own name, so that the second time changes nothing.
  void each(const std::string& row, brood::Iteration& job) const {
    const std::string id = row.substr(0, row.find(','));
    std::ofstream out(database + "/" + id);
    if (!(out << row << '\n').flush()) throw std::runtime_error("cannot write " + database + "/" + id);
    std::ofstream(database + ".log", std::ios::app) << id << ' ' << job.executions() << '\n';
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the database is slow
  }

  void on_resume(brood::Iteration& job) const {
    job.log("run " + std::to_string(job.executions()) + " goes on where another stopped");
  }
  void on_complete(brood::Iteration& job) const {
    job.log("complete after " + std::to_string(job.executions()) + " runs");
  }
};

BROOD_JOBS(ImportRows)
