#include "shared/otlp/run_span.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace brood {
namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): each bit of
// the input turns about half of the output.
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

// Writes a word as the 8 bytes of an id.  It must not be zero, which is no id.
void put(std::uint64_t word, std::uint8_t* into) {
  for (int i = 0; i < 8; ++i) into[i] = static_cast<std::uint8_t>(word >> (56 - 8 * i));
}

constexpr double two_to_56 = 72'057'594'037'927'936.0;

// Decides by the 56 bits of the trace's id that the standard calls random, so that all processes decide alike for a
// trace.
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

namespace {

constexpr std::string_view mark =
    "\x7f"
    "brood span 1\n";
constexpr std::size_t size_bytes = 2, record_head = mark.size() + size_bytes;

struct Writer {
  std::string& out;

  template <typename Number>
  void number(Number value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value, std::size_t longest) {
    const auto size = static_cast<std::uint16_t>(std::min(value.size(), longest));
    number(size);
    out.append(value.substr(0, size));
  }
  template <std::size_t size>
  void bytes(const std::array<std::uint8_t, size>& value) {
    out.append(reinterpret_cast<const char*>(value.data()), size);
  }
};

struct Reader {
  std::string_view in;
  bool whole = true;

  std::string_view take(std::size_t size) {
    whole = whole && in.size() >= size;
    if (!whole) return {};
    const std::string_view taken = in.substr(0, size);
    in.remove_prefix(size);
    return taken;
  }
  template <typename Number>
  void number(Number& value) {
    const std::string_view taken = take(sizeof value);
    if (whole) std::memcpy(&value, taken.data(), sizeof value);
  }
  void text(std::string& value, std::size_t longest) {
    std::uint16_t size = 0;
    number(size);
    whole = whole && size <= longest;
    value = take(size);
  }
  template <std::size_t size>
  void bytes(std::array<std::uint8_t, size>& value) {
    const std::string_view taken = take(size);
    if (whole) std::memcpy(value.data(), taken.data(), size);
  }
};

template <typename Io, typename Context>
void put_context(Io& io, Context& context) {
  io.bytes(context.trace);
  io.bytes(context.span);
  io.number(context.flags);
}

// The members after the size.  The longest texts together, and all numbers, are shorter than the longest record.
template <typename Io, typename Span>
void put_members(Io& io, Span& span, std::uint8_t& shape, std::uint8_t& end) {
  io.number(shape);
  io.number(end);
  put_context(io, span.trace.own);
  io.number(span.began_ns);
  io.number(span.took_ns);
  io.number(span.attempt);
  io.number(span.slot);
  io.number(span.pid);
  io.number(span.created_ns);
  io.number(span.enqueued_ns);
  io.text(span.trace.state, 512);
  io.text(span.queue, 256);
  io.text(span.jid, 128);
  io.text(span.job_class, 256);
  io.text(span.wrapped, 256);
  io.text(span.error_class, 256);
  io.text(span.message, 1'000);
  io.text(span.signal, 32);
  io.text(span.top, 512);
  io.text(span.fingerprint, 64);
}

constexpr std::uint8_t has_producer = 1, is_child = 2;

std::optional<RunSpan> read_span(std::string_view record) {
  Reader in{record};
  RunSpan span;
  std::uint8_t shape = 0, end = 0;
  put_members(in, span, shape, end);
  if (shape & has_producer) put_context(in, span.trace.producer.emplace());
  span.trace.is_child = (shape & is_child) != 0;
  const bool is_child_of_nobody = span.trace.is_child && !span.trace.producer;
  if (!in.whole || !in.in.empty() || is_child_of_nobody || end > static_cast<std::uint8_t>(RunSpan::End::crashed))
    return std::nullopt;
  if (!parse_traceparent(traceparent_text(span.trace.own))) return std::nullopt;  // all zero
  if (span.began_ns < 0 || span.took_ns < 0 || span.took_ns > INT64_MAX - span.began_ns) return std::nullopt;
  if (!is_tracestate(span.trace.state)) span.trace.state.clear();
  span.end = static_cast<RunSpan::End>(end);
  return span;
}

}  // namespace

void append_record(std::string& records, const RunSpan& span) {
  const std::size_t begin = records.size();
  Writer out{records};
  records += mark;
  out.number(std::uint16_t{0});
  auto shape =
      static_cast<std::uint8_t>((span.trace.producer ? has_producer : 0) | (span.trace.is_child ? is_child : 0));
  auto end = static_cast<std::uint8_t>(span.end);
  put_members(out, span, shape, end);
  if (span.trace.producer) put_context(out, *span.trace.producer);
  const auto size = static_cast<std::uint16_t>(records.size() - begin - record_head);
  std::memcpy(records.data() + begin + mark.size(), &size, sizeof size);
}

std::optional<RunSpan> SpanRecords::next() {
  const auto wait_from = [this](std::size_t at) {
    passed_over_ += at - at_;
    bytes_.erase(0, at);
    at_ = 0;
    return std::nullopt;
  };
  for (;;) {
    const std::size_t found = bytes_.find(mark, at_);
    // The last bytes so far may be the first bytes of a mark.
    if (found == bytes_.npos) return wait_from(std::max(at_, bytes_.size() - std::min(bytes_.size(), mark.size() - 1)));
    if (bytes_.size() - found < record_head) return wait_from(found);
    std::uint16_t size = 0;
    std::memcpy(&size, bytes_.data() + found + mark.size(), sizeof size);
    const bool is_possible = size <= longest_record - record_head;
    if (is_possible && bytes_.size() - found < record_head + size) return wait_from(found);
    passed_over_ += found - at_;
    std::optional<RunSpan> span;
    if (is_possible) span = read_span(std::string_view(bytes_).substr(found + record_head, size));
    at_ = found + record_head + size;
    if (span) return span;
    at_ = found + 1;  // what looked like a record is none: the next may lie within it
    ++passed_over_;
  }
}

}  // namespace brood
