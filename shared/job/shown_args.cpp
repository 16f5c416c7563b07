#include "shared/job/shown_args.hpp"

#include "shared/job/payload.hpp"

namespace brood {

namespace {
constexpr std::string_view mask = "\"[encrypted data]\"";
}

std::string shown_args(std::string_view payload) {
  try {
    const Payload job = Payload::parse(payload);
    std::string args(job.args());
    if (!job.truthy("encrypt")) return args;
    const JsonOutline outline = JsonOutline::of(args);
    if (outline.parts.empty()) return args;
    const JsonOutline::Part& last = outline.parts.back();
    return args.replace(last.value_begin, last.value_end - last.value_begin, mask);
  } catch (const BadPayload&) {
    return "[]";
  }
}

std::string masked_args(std::string_view args) {
  std::string masked = "[";
  const std::size_t count = JsonOutline::of(args).parts.size();
  for (std::size_t i = 0; i < count; ++i) masked.append(i == 0 ? "" : ",").append(mask);
  return masked + "]";
}

}  // namespace brood
