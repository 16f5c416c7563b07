#include "supervisor/cli/run/run_log.hpp"

#include <system_error>

#include "supervisor/upgrade/handover_file.hpp"

namespace brood {
namespace {

log::Options log_options(const Config& config) {
  log::Options log = config.log;
  log.journald = log.file.empty() && log::standard_error_is_the_journal();
  log.colour = log.file.empty() && log::standard_error_takes_colour();
  return log;
}

}  // namespace

RunLog::RunLog(const Config& config) : options_(log_options(config)) {}

void RunLog::open() const { log::open(options_); }

void RunLog::open_or_inherit(int left) const try { open(); } catch (const std::system_error& error) {
  log::inherit(options_, own_descriptor(left).release());
  log::warn("log_not_opened", {{"reason", error.what()}, {"hint", "the old file is still used"}});
}

void RunLog::follow(const Config& config) {
  const log::Options wanted = log_options(config);
  if (wanted == options_) return;
  log::open(wanted);
  options_ = wanted;
}

}  // namespace brood
