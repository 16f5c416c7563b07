#include "shared/job/batch_membership.hpp"

#include <string.h>

#include <algorithm>
#include <limits>

namespace brood {
namespace {

constexpr std::size_t longest_bid = 64;
constexpr std::int64_t ten_years_s = 315'360'000;

bool has_mark(std::string_view payload, std::string_view mark) {
  return memmem(payload.data(), payload.size(), mark.data(), mark.size()) != nullptr;
}

bool may_name_one(std::string_view payload) {
  return has_mark(payload, mark_of_batch_job) || has_mark(payload, mark_of_batch_callback);
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
  if (!may_name_one(payload)) return std::nullopt;
  try {
    return membership_in(JsonObject::parse(payload));
  } catch (const BadJson&) {  // counts nowhere
    return std::nullopt;
  }
}

std::optional<BatchMembership> batch_named_by(const Payload& job) {
  return may_name_one(job.text()) ? membership_in(job) : std::nullopt;
}

bool is_bid(std::string_view text) {
  return !text.empty() && text.size() <= longest_bid && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
}

std::int64_t kept_for(std::int64_t timeout_s) { return std::clamp<std::int64_t>(timeout_s, 0, ten_years_s); }

}  // namespace brood
