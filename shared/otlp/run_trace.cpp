#include "shared/otlp/run_trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace brood {
namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): each bit of
// what goes in turns about half of what comes out.
std::uint64_t scrambled(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

struct Digest {
  std::uint64_t state;

  void add(std::uint64_t word) { state = scrambled(state ^ word); }
  void add(std::string_view text) {
    add(text.size());
    for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(text.size(), 8))) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data(), std::min<std::size_t>(text.size(), 8));
      add(word);
    }
  }
  std::uint64_t next() { return state = scrambled(state); }
};

// Never all zero, which is no id.
void put(std::uint64_t word, std::uint8_t* into) {
  for (int i = 0; i < 8; ++i) into[i] = static_cast<std::uint8_t>(word >> (56 - 8 * i));
}

constexpr double two_to_56 = 72'057'594'037'927'936.0;

// By the 56 bits of the trace's id that the standard calls random: all that see a trace decide alike.
bool is_in_sample(const SpanContext& context, double sample) {
  std::uint64_t random = 0;
  for (std::size_t i = 9; i < 16; ++i) random = random << 8 | context.trace[i];
  return static_cast<double>(random) < sample * two_to_56;
}

}  // namespace

RunTrace trace_of_run(const OtlpSettings& settings, const RunKey& run, std::string_view traceparent,
                      std::string_view tracestate) {
  RunTrace trace;
  if (settings.propagation != TracePropagation::none && !traceparent.empty())
    trace.producer = parse_traceparent(traceparent);
  trace.is_child = trace.producer && settings.propagation == TracePropagation::child;
  if (trace.producer && is_tracestate(tracestate)) trace.state = tracestate;

  Digest digest{.state = static_cast<std::uint64_t>(run.began_ns)};
  digest.add(static_cast<std::uint64_t>(run.slot));
  digest.add(run.identity);
  digest.add(run.jid);
  put(digest.next() | 1, trace.own.span.data());
  if (trace.is_child) {
    trace.own.trace = trace.producer->trace;
    trace.own.flags = trace.producer->flags & SpanContext::sampled;
    return trace;
  }
  put(digest.next() | 1, trace.own.trace.data());
  put(digest.next(), trace.own.trace.data() + 8);
  trace.own.flags = is_in_sample(trace.own, settings.sample) ? SpanContext::sampled : 0;
  return trace;
}

}  // namespace brood
