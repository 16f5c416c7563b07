#include "shared/store/in_flight/quarantined_classes.hpp"

#include <sstream>

#include "shared/base/plain_number.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script count_quarantine_crash, begin_probe, keep_probe, leave_probe, pass_probe, release_quarantined;
}

namespace {

// How long a probe that never ends, such as that of a killed worker, keeps other jobs from trying.  Counted from the
// last heartbeat that mentions the probe, or from its beginning if heartbeats do not mention it.
constexpr auto longest_probe = std::chrono::seconds(600), longest_probe_unkept = std::chrono::seconds(86'400);

std::optional<QuarantinedClass> read_class(std::string_view text) {
  std::istringstream words{std::string(text)};
  QuarantinedClass known;
  if (!(words >> known.libraries >> known.fingerprint >> plain(known.since) >> plain(known.crashes) >>
        plain(known.passed)))
    return std::nullopt;
  return known;
}

}  // namespace

const std::string_view quarantined_set = keys::brood_quarantined.name();

Command ask_quarantined() { return {"HGETALL", keys::brood_quarantine}; }

QuarantinedClasses read_quarantined(ReplyView reply) {
  QuarantinedClasses classes;
  for (std::size_t i = 0; reply.is_array() && i + 1 < reply.size(); i += 2) {
    if (auto known = read_class(reply[i + 1].text())) classes.emplace(reply[i].text(), std::move(*known));
  }
  return classes;
}

ScriptCall count_quarantine_crash(const QuarantineCrash& crash, const QuarantineRules& rules) {
  return {
      &scripts::count_quarantine_crash,
      {keys::brood_quarantine, keys::quarantine_crashes(crash.fingerprint), keys::quarantine_probe(crash.job_class)},
      {crash.job_class, crash.fingerprint, crash.libraries, crash.worker, std::to_string(rules.after),
       std::to_string(rules.within.count())}};
}

CountedCrash read_counted_crash(ReplyView reply) { return {reply[0].integer(), reply[1].integer() == 1}; }

ScriptCall begin_probe(std::string_view job_class, std::string_view jid, std::string_view libraries, bool is_kept) {
  const auto length = is_kept ? longest_probe : longest_probe_unkept;
  return {&scripts::begin_probe,
          {keys::brood_quarantine, keys::quarantine_probe(job_class)},
          {std::string(job_class), std::string(jid), std::string(libraries), std::to_string(length.count())}};
}

ScriptCall keep_probe(std::string_view job_class, std::string_view jid) {
  return {&scripts::keep_probe,
          {keys::quarantine_probe(job_class)},
          {std::string(jid), std::to_string(longest_probe.count())}};
}

ScriptCall leave_probe(std::string_view job_class, std::string_view jid) {
  return {&scripts::leave_probe, {keys::quarantine_probe(job_class)}, {std::string(jid)}};
}

ScriptCall pass_probe(std::string_view job_class, std::string_view jid) {
  return {&scripts::pass_probe,
          {keys::brood_quarantine, keys::quarantine_probe(job_class)},
          {std::string(job_class), std::string(jid), std::to_string(probes_needed)}};
}

Command ask_probe(std::string_view job_class) { return {"EXISTS", keys::quarantine_probe(job_class)}; }

Command claim_quarantine_look(std::string_view libraries, std::chrono::milliseconds length) {
  return {"SET", keys::quarantine_look(libraries), "1", "NX", "PX", std::to_string(length.count())};
}
bool read_claimed_look(ReplyView reply) { return !reply.is_nil(); }

ScriptCall release_quarantined(std::string_view payload, std::string_view queue) {
  return {&scripts::release_quarantined,
          {keys::brood_quarantined, keys::queues, keys::queue(queue)},
          {std::string(payload), std::string(queue)}};
}

Command lift_quarantine(std::string_view job_class) { return {"HDEL", keys::brood_quarantine, job_class}; }

Command forget_quarantine_crashes(std::string_view fingerprint) {
  return {"DEL", keys::quarantine_crashes(fingerprint)};
}

}  // namespace brood
