#pragma once

#include <optional>
#include <string>

#include "shared/config/config.hpp"
#include "shared/errors/error_report.hpp"
#include "worker/guard/output_tail.hpp"
#include "worker/job/program.hpp"
#include "worker/reporting/report_attempt.hpp"

namespace brood {

// Runs the program of [on_error] with a report on its standard input.  Kills it when its time is over.
class ProgramAttempt : public ReportAttempt {
 public:
  // Throws std::system_error if it cannot be executed.
  ProgramAttempt(const CommandSettings& settings, const ErrorReport& report, SteadyTime now);

  void watch(std::vector<pollfd>& fds) const override;
  SteadyTime next_look(SteadyTime now) const override;
  std::optional<ErrorVerdict> go_on(SteadyTime now) override;

 private:
  bool read_some();

  const std::string input_;
  const std::chrono::milliseconds timeout_;
  const SteadyTime deadline_;
  Program program_;
  OutputTail printed_;
  bool closed_ = false, killed_ = false;
};

}  // namespace brood
