#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/batch.hpp>
#include <brood/client.hpp>
#include <brood/detail/current_call.hpp>
#include <brood/detail/pushed_job.hpp>
#include <brood/enqueue_options.hpp>
#include <brood/push.hpp>

namespace brood {

// The fate of a step after a step that it waits for has died.
enum class IfFailed {
  fail,  // it goes to `dead` (DependencyFailed), and so do the steps after it.  When the dead step is retried and
         // succeeds, they are removed from `dead` and go on
  run,   // it runs as if the dead step had succeeded
  skip,  // it never runs and counts as succeeded
};

// The name of a step.
struct StepName {
  std::string name;                                  // as Flow::add() takes it
  StepName(std::string of) : name(std::move(of)) {}  // any text can be a StepName
  StepName(std::string_view of) : name(of) {}        // the same
  StepName(const char* of) : name(of) {}             // the same
};

// The conditions of a step.
struct StepOptions {
  std::vector<StepName> after = {};     // the steps that must have ended before it begins; they may be added later
  IfFailed if_failed = IfFailed::fail;  // its fate if one of these dies
};

// The options of a flow.
struct FlowOptions {
  std::string description = {};  // as BatchOptions::description
  std::string parent = {};       // as BatchOptions::parent
};

// Jobs that wait for each other.  A flow is a batch: it has a bid and the same callbacks, and is shown and cancelled as
// a batch.
//
//   brood::Flow flow(client, {.description = "video 7"});
//   const auto split = flow.add("split", Split{.video = 7});
//   const auto small = flow.add("720p", Encode{7, 720}, {.after = {split}});
//   const auto large = flow.add("1080p", Encode{7, 1080}, {.after = {split}});
//   flow.add("merge", Merge{7}, {.after = {small, large}});
//   flow.on(brood::BatchEvent::success, Publish{7});
//   flow.push();
//
// A step is pushed by the script that settles the last step that it waits for.  A step sets a result by job.result(),
// and the steps after it read the result by job.result_of("split").
//
// Two threads may not use one Flow at the same time.
class BROOD_API Flow {
 public:
  // Makes a flow; it does not connect yet.  The client must outlive the flow.
  explicit Flow(Client& client, const FlowOptions& options = {}) : Flow(client, options, detail::current_payload()) {}
  ~Flow();
  Flow(Flow&&) noexcept;
  Flow& operator=(Flow&&) noexcept;

  const std::string& bid() const;  // the id of the batch, as Batch::bid()

  // Adds a step; a flow has at most 1,000.  `name` has 1 to 100 of A-Z a-z 0-9 _ . : - and differs from the names of
  // other steps.  Throws std::invalid_argument for another name, for a job that is unique or has a time or a spread,
  // and as a push does; std::logic_error after push().
  template <typename Job>
  requires(!std::same_as<Job, Push>) StepName
      add(std::string_view name, const Job& job, const StepOptions& options = {}, const EnqueueOptions& push = {}) {
    return add(name,
               detail::unspread_job(job, push, "a step runs when the steps before it have ended, and cannot be spread"),
               options);
  }
  // The same for a job given by its parts.
  StepName add(std::string_view name, const Push& job, const StepOptions& options = {});

  // Adds a callback, as Batch::on() does.
  template <typename Job>
  requires(!std::same_as<Job, Push>) void on(BatchEvent event, const Job& job, const EnqueueOptions& options = {}) {
    on(event, detail::unspread_job(job, options, "a callback is pushed when its event happens, and cannot be spread"));
  }
  // The same for a callback given by its parts.
  void on(BatchEvent event, const Push& job);

  // Pushes the flow, and returns when all steps are in Redis.  Call it once.  Throws std::invalid_argument, before it
  // sends, for a step that waits in a circle for itself, or for a name that no step has; RedisError and BatchClosed as
  // Batch::push() does.
  void push();

  void cancel();  // as Batch::cancel(); steps that wait are skipped

 private:
  Flow(Client& client, const FlowOptions& options, std::string_view payload_of_job);
  struct __attribute__((visibility("hidden"))) State;
  std::unique_ptr<State> state_;
};

}  // namespace brood
