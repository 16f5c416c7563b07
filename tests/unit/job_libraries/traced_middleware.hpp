#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

#include <brood/job.hpp>

// Middleware of the tests: it notes what it sees, and does what the payload's member "<name>_does" orders.

inline void note(const std::string& line) {
  if (const char* path = std::getenv("MIDDLEWARE_TEST_NOTES")) std::ofstream(path, std::ios::app) << line << "\n";
}

inline void do_as_told(const std::string& what, brood::Run& run, const brood::Next& next) {
  if (what == "\"stop\"") return;
  if (what == "\"throw\"") throw std::domain_error("thrown by middleware");
  if (what == "\"change args\"") run.set_args(R"(["changed"])");
  if (what == "\"change class\"") run.set_job_class("SaysOther");
  if (what == "\"change class to nothing\"") run.set_job_class("Nothing");
  if (what == "\"change payload\"") {
    run.set_member("tenant", "42");
    run.remove_member("secret");
  }
  next();
  if (what == "\"again\"") next();
}

inline brood::ServerMiddleware::Middleware traced(const std::string& name) {
  return [name](brood::Run& run, const brood::Next& next) {
    note(name + " before " + std::string(run.job_class()) + std::string(run.args()));
    try {
      do_as_told(run.member(name + "_does").value_or(""), run, next);
    } catch (const brood::JobFailure& failure) {
      note(name + " catches JobFailure " + failure.error_class() + ": " + failure.what());
      if (run.member(name + "_forgives")) return;
      throw;
    } catch (const std::exception& error) {
      note(name + " catches " + error.what());
      if (run.member(name + "_forgives")) return;
      throw;
    } catch (const brood::Interrupted&) {
      note(name + " is interrupted");
      throw;
    }
    note(name + " after");
  };
}
