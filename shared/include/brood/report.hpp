#pragma once

#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <brood/detail/read_arguments.hpp>
#include <brood/json.hpp>
#include <brood/progress.hpp>

namespace brood {

// The state of a job.
enum class JobState {
  queued,     // it waits in a queue, for its class (paused or in quarantine), its sequence, or other steps of its flow
  scheduled,  // it waits for its time
  running,    // a worker has it
  retrying,   // it has failed, and waits for its retry
  dead,       // it has failed for good, or was deleted
  done,       // it has succeeded, or ended without a run
  unknown,    // it is not in Redis: it has ended without a report, was deleted, or was never pushed
};

// Returns the name of the enumerator.
constexpr std::string_view to_string(JobState state) {
  constexpr std::string_view names[] = {"queued", "scheduled", "running", "retrying", "dead", "done", "unknown"};
  const auto index = static_cast<std::size_t>(state);
  return names[index < std::size(names) ? index : std::size(names) - 1];
}

// The state of a job; after its end also its result or error, which is kept for its `keep_result`.
struct JobReport {
  std::string jid = {};                  // as it was pushed
  JobState state = JobState::unknown;    // dead and done have ended
  Json result = {};                      // set by job.result() in its last run; the text "null": it has set none
  std::string error_class = {};          // why it failed, or ended without a run; empty: neither
  std::string error_message = {};        // the message of that error; empty: no error
  std::chrono::microseconds elapsed{0};  // the time of its last run; 0: not known
  std::optional<std::chrono::system_clock::time_point> ended_at = {};  // when it was settled; nullopt: it has not ended

  // Returns the result as a type that a field of a job may have.  Throws std::invalid_argument if it does not fit.
  template <typename Type>
  Type result_as() const {
    Type value{};
    try {
      detail::JsonReader reader(result.text);
      detail::read_value(reader, value);
      reader.expect_end();
    } catch (const detail::Misfit& misfit) {
      throw std::invalid_argument("the result of job " + jid + (misfit.path.empty() ? "" : ", ") + misfit.path + ": " +
                                  misfit.problem);
    } catch (const detail::BadJson& bad) {
      throw std::invalid_argument("the result of job " + jid + ": " + bad.what());
    }
    return value;
  }
};

}  // namespace brood
