#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/batch.hpp>
#include <brood/report.hpp>
#include <brood/testing/fake.hpp>

#include "shared/api/push/push_writer.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/batches/flow.hpp"
#include "shared/store/holdings.hpp"

namespace brood::testing {

// The batches and flows of a test, counted as pieces/batches.lua counts them in Redis.  It has no lock of its own.
class BatchBook {
 public:
  // These return the answers of the scripts that have their names.
  BatchAnswer open(const NewBatch& batch);
  BatchAnswer reopen(std::string_view bid);
  BatchAnswer may_push(std::string_view bid) const;
  BatchAnswer close(std::string_view bid, bool holds);
  void cancel(std::string_view bid);
  bool is_cancelled(std::string_view bid) const;

  // Adds a job to a batch that accepts jobs, and writes its index into its payload.
  void add(const std::string& bid, ClientPush& job);
  // Adds the steps of a flow.  The steps that wait for no other step are due.
  BatchAnswer add_steps(std::string_view bid, const std::vector<NewStep>& steps);

  // Notes that the job with this payload has ended so.  It does nothing unless the job belongs to a batch or is a
  // callback of one.
  void end(std::string_view payload, JobEnding ending);
  // Whether the job's batch was cancelled.  Then it is not performed, and counts as succeeded.
  bool skips(std::string_view payload) const;

  // Returns the callbacks and steps that have become due since the last call, in order.  The caller pushes them.
  std::vector<ClientPush> take_due() { return std::exchange(due_, {}); }

  // Returns the records in the dead set of the steps that died with a step that they wait for.
  std::vector<std::string> failed_steps() const;
  // Removes and returns such a record; nullopt: there is none.  Then the step is not pushed any more, even if the step
  // that it waits for succeeds.
  std::optional<std::string> take_failed_step(std::string_view jid);
  // Of a step that waits for others; or that ended without a run and keeps a report.
  std::optional<JobReport> report_of_step(std::string_view jid) const;

  std::vector<FakeBatch> batches() const;  // in the order in which they were opened

 private:
  enum class State : std::uint8_t { pending, failing, dead, succeeded };
  // The state of one event of a batch.
  struct Event {
    std::vector<std::string> callbacks;  // as callback_value() makes them
    bool fired = false, closed = false;
    std::size_t calls = 0;  // callbacks that have not ended
    std::size_t kids = 0;   // child batches that have closed it
  };
  struct Step {
    std::string name, kept;  // as in NewStep
    bool is_queued = true;   // it is not due yet
    std::size_t before = 0;
    std::vector<std::uint32_t> after;
    std::string if_failed;
    std::vector<std::uint32_t> passed;  // the steps that it does not wait for any more
    std::string failed;                 // its record, after the death of a step that it waits for
    bool keeps_report = false;
    std::optional<JobReport> report = {};  // of its end without a run
  };
  struct Batch {
    std::string bid, description, parent;
    int depth = 1, open = 0;
    bool has_died = false, is_cancelled = false;
    std::vector<State> states;            // of the jobs by their indices
    std::array<std::size_t, 4> counts{};  // of each state
    std::size_t kids = 0;
    std::array<Event, 4> events;
    std::map<std::string, BatchEvent, std::less<>> callbacks;  // that have not ended, by jid
    std::vector<Step> steps;

    Event& event(BatchEvent of) { return events[static_cast<std::size_t>(of)]; }
    const Event& event(BatchEvent of) const { return events[static_cast<std::size_t>(of)]; }
    std::size_t count(State of) const { return counts[static_cast<std::size_t>(of)]; }
    std::size_t pending() const { return states.size() - count(State::succeeded) - count(State::dead); }
    void set(std::size_t index, State state);
  };

  Batch* find(std::string_view bid);
  const Batch* find(std::string_view bid) const;
  static FakeBatch shown(const Batch& batch);

  void settle(Batch* batch);
  // Both return whether the parent batch counts the event.
  bool fire(Batch& batch, BatchEvent event);
  bool close(Batch& batch, BatchEvent event);
  void end_job(Batch& batch, std::uint32_t index, JobEnding ending);
  void end_callback(Batch& batch, const std::string& jid, JobEnding ending);
  void follow(Batch& batch, std::uint32_t ended);
  void pass(Batch& batch, std::uint32_t one, std::uint32_t of);
  void release(Step& step);
  static void keep_report(Step& step, JobState state, std::string error_class, std::string message);
  static std::string dead_record(const Step& step, const std::string& why);

  std::vector<Batch> all_;
  std::vector<ClientPush> due_;
};

}  // namespace brood::testing
