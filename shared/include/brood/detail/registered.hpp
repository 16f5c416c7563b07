#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#include <brood/abi.hpp>
#include <brood/context.hpp>
#include <brood/detail/attempt.hpp>
#include <brood/detail/own_middleware.hpp>
#include <brood/setup.hpp>

// The plain functions by which a worker calls the code that brood_setup has registered.
#pragma GCC visibility push(hidden)
namespace brood::detail {

inline JobInfo job_info(const abi::Call& call, const abi::Failure& failure) {
  return {view_of(call.job_class),      view_of(call.jid),        view_of(call.queue), view_of(call.payload),
          view_of(failure.error_class), view_of(failure.message), failure.crashed != 0};
}

inline std::uint64_t registered() {
  std::uint64_t bits = 0;
  if (!registrations().middleware.empty()) bits |= abi::registered_middleware;
  if (!registrations().error_handlers.empty()) bits |= abi::registered_error_handler;
  if (!registrations().death_handlers.empty()) bits |= abi::registered_death_handler;
  if (!registrations().periodic.empty()) bits |= abi::registered_periodic;
  for (const auto& [event, handler] : registrations().event_handlers)
    bits |= std::uint64_t{abi::registered_event} << static_cast<std::uint32_t>(event);
  return bits;
}

inline void set_up(abi::Result* result) {
  answer_for(
      [] {
        registrations() = {};
        Setup setup(registrations());
        if (&brood_setup != nullptr) brood_setup(setup);
      },
      *result);
}

template <typename Handlers>
void run_failure_handlers(const abi::Call& call, const abi::Failure& failure, const Handlers& handlers,
                          const std::string& which) {
  const JobInfo info = job_info(call, failure);
  for (const auto& handler : handlers) {
    try {
      with_error(failure, [&](const std::exception& error) { handler(info, error); });
    } catch (...) {
      const Thrown thrown = describe_thrown();
      Context(call).log(LogLevel::error, which + " threw " + thrown.error_class + ": " + thrown.message);
    }
  }
}

inline void run_death_handlers(const abi::Call* call, const abi::Failure* failure) {
  run_failure_handlers(*call, *failure, registrations().death_handlers, "a death handler");
}

inline void run_error_handlers(const abi::Call* call, const abi::Failure* failure) {
  run_failure_handlers(*call, *failure, registrations().error_handlers, "an error handler");
}

inline abi::Text periodic_jobs() { return {registrations().periodic.data(), registrations().periodic.size()}; }

inline bool runs_in_reverse(Event event) {
  return event == Event::quiet || event == Event::shutdown || event == Event::exit;
}

inline const char* name_of(Event event) {
  constexpr const char* names[] = {"fork",     "startup", "heartbeat", "beat",   "quiet",
                                   "shutdown", "exit",    "crash",     "preload"};
  return names[static_cast<std::size_t>(event)];
}

inline void run_event_handler(const EventHandler& handler, const Occasion& occasion) {
  try {
    handler(occasion);
  } catch (...) {
    if (occasion.event() == Event::startup || occasion.event() == Event::preload) throw;
    const Thrown thrown = describe_thrown();
    occasion.log(LogLevel::error, std::string("a handler of ") + name_of(occasion.event()) + " threw " +
                                      thrown.error_class + ": " + thrown.message);
  }
}

inline void run_event_handlers(const abi::Occasion* told, abi::Result* result) {
  answer_for(
      [&] {
        const auto event = static_cast<Event>(told->kind);
        const bool crashed = told->call != nullptr && told->failure != nullptr;
        const JobInfo job = crashed ? job_info(*told->call, *told->failure) : JobInfo{};
        const Occasion occasion(event, *told, crashed ? &job : nullptr);
        const auto& handlers = registrations().event_handlers;
        for (std::size_t i = 0; i < handlers.size(); ++i) {
          const auto& [wanted, handler] = handlers[runs_in_reverse(event) ? handlers.size() - 1 - i : i];
          if (wanted == event) run_event_handler(handler, occasion);
        }
      },
      *result);
}

}  // namespace brood::detail
#pragma GCC visibility pop
