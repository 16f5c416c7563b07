#include "shared/job/shown_args.hpp"

#include "shared/job/payload.hpp"

namespace brood {

std::string shown_args(std::string_view payload) {
  try {
    const Payload job = Payload::parse(payload);
    std::string args(job.args());
    if (!job.truthy("encrypt")) return args;
    const JsonOutline outline = JsonOutline::of(args);
    if (outline.parts.empty()) return args;
    const JsonOutline::Part& last = outline.parts.back();
    return args.replace(last.value_begin, last.value_end - last.value_begin, "\"[encrypted data]\"");
  } catch (const BadPayload&) {
    return "[]";
  }
}

}  // namespace brood
