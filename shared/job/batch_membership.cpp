#include "shared/job/batch_membership.hpp"

#include <algorithm>
#include <limits>

#include "shared/base/contains_text.hpp"
#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_bid = 64;
constexpr std::int64_t ten_years_s = 315'360'000;

// Takes `end` off the end of the text; false if it does not end so.
bool take_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

// For a payload as it was pushed, which ends with `,"bid":"<bid>","batch_index":<index>}`.  These are members of the
// object itself, and the last ones of their names: the last brace is the object's, and a quotation mark in a string has
// a backslash before it.
std::optional<BatchMembership> membership_at_end(std::string_view payload) {
  if (!take_end(payload, "}")) return std::nullopt;
  const std::size_t before = payload.find_last_not_of("0123456789");
  if (before == payload.npos) return std::nullopt;
  const auto index = plain_number<std::int32_t>(payload.substr(before + 1));
  payload = payload.substr(0, before + 1);
  if (!index || !take_end(payload, "\",\"batch_index\":")) return std::nullopt;
  const std::size_t quote = payload.rfind('"');
  if (quote == payload.npos) return std::nullopt;
  const std::string_view bid = payload.substr(quote + 1);
  payload = payload.substr(0, quote + 1);
  if (!is_bid(bid) || !take_end(payload, ",\"bid\":\"")) return std::nullopt;
  return BatchMembership{
      .bid = std::string(bid), .index = static_cast<std::uint32_t>(*index), .callback = "", .jid = ""};
}

template <typename Job>
std::optional<BatchMembership> membership_in(const Job& job) {
  BatchMembership membership;
  const auto index = job.integer("batch_index");
  if (index && *index >= 0 && *index <= std::numeric_limits<std::int32_t>::max()) {
    membership.bid = job.string("bid").value_or("");
    membership.index = static_cast<std::uint32_t>(*index);
  }
  membership.callback = job.string("cbid").value_or("");
  membership.jid = job.string("jid").value_or("");
  if (!is_bid(membership.bid)) membership.bid.clear();
  if (!is_bid(membership.callback) || membership.jid.empty()) membership.callback.clear();
  if (membership.bid.empty() && membership.callback.empty()) return std::nullopt;
  return membership;
}

}  // namespace

std::optional<BatchMembership> batch_named_by(std::string_view payload) {
  const bool may_be_callback = contains_text(payload, mark_of_batch_callback);
  if (!may_be_callback) {
    if (auto membership = membership_at_end(payload)) return membership;
    if (!contains_text(payload, mark_of_batch_job)) return std::nullopt;
  }
  try {
    return membership_in(JsonObject::parse(payload));
  } catch (const BadJson&) {  // no batch counts it
    return std::nullopt;
  }
}

std::optional<BatchMembership> batch_named_by(const Payload& job) {
  if (!job.raw("batch_index") && !job.raw("cbid")) return std::nullopt;
  return membership_in(job);
}

std::string step_named_by(const JsonObject& job) {
  constexpr std::size_t longest_step = 100;
  std::string step = job.raw("batch_index") ? job.string("step").value_or("") : "";
  return step.size() <= longest_step ? step : "";
}

bool is_bid(std::string_view text) {
  return !text.empty() && text.size() <= longest_bid && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
}

std::int64_t kept_for(std::int64_t timeout_s) { return std::clamp<std::int64_t>(timeout_s, 0, ten_years_s); }

}  // namespace brood
