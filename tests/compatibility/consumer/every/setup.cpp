#include <brood/client.hpp>
#include <brood/periodic.hpp>
#include <brood/setup.hpp>

#include "jobs.hpp"
#include "ledger.hpp"

namespace {

// Runs the next middleware, and records the order.
brood::ServerMiddleware::Middleware tells(const std::string& name) {
  return [name](brood::Run& run, const brood::Next& next) {
    if (run.args() == R"(["told"])") note("around: " + name);
    next();
  };
}

// Turns it into another job.
void replace(brood::Run& run, const brood::Next& next) {
  if (!run.member("replace_by")) return next();
  note("replaces " + std::string(run.job_class()) + " of " + std::string(run.queue()) + " in " +
       std::string(run.capsule()) + ", attempt " + std::to_string(run.context().attempt()) + ", jid " +
       std::to_string(run.jid().size()));
  run.set_args("[" + *run.member("replace_by") + "]");
  run.set_job_class("Replaced");
  run.set_member("tags", R"(["replaced"])");
  run.remove_member("replace_by");
  const bool is_told = run.changed() && run.payload().find("replaced") != std::string::npos;
  if (is_told) next();
}

void register_middleware(brood::ServerMiddleware& chain) {
  chain.add("gone", tells("gone"));
  chain.clear();
  chain.add("third", tells("third"));
  chain.prepend("first", tells("first"));
  chain.insert_before("third", "second", tells("second"));
  chain.insert_after("third", "fourth", tells("fourth"));
  chain.add("only images", tells("only images"), {.capsules = {"images"}});
  chain.add("removed", tells("removed"));
  if (!chain.remove("removed") || chain.exists("removed") || chain.empty() || chain.names().size() != 5)
    throw std::logic_error("a chain is other than it was made");
  chain.add("replace", &replace);
}

}  // namespace

void brood_setup(brood::Setup& setup) {
  register_middleware(setup.server_middleware());
  setup.on_error([](const brood::JobInfo& job, const std::exception& error) {
    const auto* failure = dynamic_cast<const brood::JobFailure*>(&error);
    note("error of " + std::string(job.job_class) + ": " + std::string(job.error_class) +
         (dynamic_cast<const brood::JobCrashed*>(&error) != nullptr ? ", crashed" : "") +
         (failure != nullptr && failure->error_class() != job.error_class ? ", of another class" : ""));
  });
  setup.on_death([](const brood::JobInfo& job, const std::exception&) {
    note("death of " + std::string(job.job_class) + ": " + std::string(job.message) + ", " +
         std::to_string(job.jid.size()) + (job.payload.empty() ? ", without payload" : ""));
  });
  using enum brood::Event;
  for (const brood::Event event : {startup, heartbeat, beat, quiet, shutdown, brood::Event::exit}) {
    setup.on(event, [](const brood::Occasion& occasion) {
      note("event " + std::to_string(static_cast<int>(occasion.event())) + " of " + std::string(occasion.capsule()) +
           (occasion.slot() >= 0 && occasion.job() == nullptr ? "" : ", which is wrong"));
      occasion.log("an ordinary event");
      occasion.log(brood::LogLevel::debug, "a small event");
    });
  }
  setup.on(brood::Event::fork, [] { note("event 0"); });
  setup.on(preload, [] {});
  const brood::PeriodicOptions yearly{.tz = "Europe/Berlin",
                                      .catch_up = brood::CatchUp::none,
                                      .within = std::chrono::hours(1),
                                      .overlap = brood::Overlap::allow,
                                      .jitter = std::chrono::seconds(1),
                                      .job = {.queue = "yearly"}};
  setup.periodic("yearly", "0 0 1 1 *", Everything{}, yearly);
  for (const brood::CatchUp catch_up : {brood::CatchUp::last, brood::CatchUp::all}) {
    for (const brood::Overlap overlap : {brood::Overlap::skip, brood::Overlap::queue})
      setup.periodic("yearly." + std::to_string(static_cast<int>(catch_up)) + std::to_string(static_cast<int>(overlap)),
                     "@yearly", Everything{}, {.catch_up = catch_up, .overlap = overlap});
  }
  setup.on(crash, [](const brood::Occasion& occasion) {
    note("crash of " + std::string(occasion.job()->job_class) + ": " +
         std::string(occasion.report().substr(0, occasion.report().find(' '))));
  });
}
