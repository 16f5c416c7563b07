#include "shared/encryption/last_argument.hpp"

#include <stdexcept>

#include "shared/json/json.hpp"

namespace brood {
namespace {

// An envelope that opens is ours.  One with an unknown key may be ours too, so it is not sealed again.
bool is_sealed_already(std::string_view last, const KeyRing& keys, const EnvelopeOwner& owner) {
  if (!last.starts_with("\"brood1.")) return false;
  const std::string text = json_unescape(last);
  const auto version = envelope_version(text);
  if (!version) return false;
  if (keys.find(*version) == nullptr) return is_envelope(text);
  std::string clear;
  try {
    open_envelope(keys, text, owner, clear);
    wipe(clear);
    return true;
  } catch (const DecryptionError&) {
    return false;
  }
}

}  // namespace

std::string with_last_argument_sealed(std::string_view args, const KeyRing& keys, const EnvelopeOwner& owner) {
  const JsonOutline outline = JsonOutline::of(args);
  if (outline.kind != JsonOutline::Kind::array) throw std::invalid_argument("the arguments are no JSON array");
  if (outline.parts.empty()) throw std::invalid_argument("the last argument is to be encrypted, and the job has none");
  const JsonOutline::Part& last = outline.parts.back();
  const std::string_view clear = args.substr(last.value_begin, last.value_end - last.value_begin);
  if (is_sealed_already(clear, keys, owner)) return std::string(args);
  return std::string(args.substr(0, last.value_begin)) + json_string(seal(keys, clear, owner)) +
         std::string(args.substr(last.value_end));
}

Secret arguments_in_clear(const Payload& job, const KeyRing& keys) {
  const std::string_view args = job.args();
  const JsonOutline outline = JsonOutline::of(args);
  if (outline.parts.empty()) throw DecryptionError("it has no argument that could be encrypted");
  const JsonOutline::Part& last = outline.parts.back();
  const std::string_view raw = args.substr(last.value_begin, last.value_end - last.value_begin);
  if (raw.front() != '"') throw DecryptionError("its last argument is no envelope of brood");
  const std::string envelope = json_unescape(raw);
  std::string clear;
  clear.reserve(args.size() + json_padding);  // an envelope is longer than its content
  clear.append(args.substr(0, last.value_begin));
  struct Wipe {
    std::string& text;
    ~Wipe() { wipe(text); }
  } const wipe_at_end{clear};
  open_envelope(keys, envelope, {job.job_class(), job.jid()}, clear);
  if (!is_json(std::string_view(clear).substr(last.value_begin)))
    throw DecryptionError("what was encrypted is no JSON");
  clear.append(args.substr(last.value_end));
  return Secret(clear);
}

}  // namespace brood
