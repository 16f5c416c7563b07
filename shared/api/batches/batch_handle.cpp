#include "shared/api/batches/batch_handle.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "shared/base/base64.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/planted_bug.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/job/random_bytes.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_description = 1'000;
constexpr std::size_t bytes_of_bid = 10, bytes_of_token = 9;

const char* name_of(BatchEvent event) {
  switch (event) {
    case BatchEvent::complete:
      return "complete";
    case BatchEvent::success:
      return "success";
    case BatchEvent::death:
      return "death";
    case BatchEvent::finished:
      break;
  }
  return "finished";
}

std::string random_text(std::size_t bytes) {
  std::array<unsigned char, 16> random;
  RandomBytes source;
  std::generate_n(random.begin(), bytes, [&] { return static_cast<unsigned char>(source.fraction() * 256); });
  return base64url_of({reinterpret_cast<const char*>(random.data()), bytes});
}

// A command would take a bid with a leading hyphen for an option.
std::string new_bid() {
  std::string bid;
  do {
    bid = random_text(bytes_of_bid);
  } while (bid.front() == '-');
  return bid;
}

// In the form of BatchPush::pusher.
std::string this_process() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string name(host.data());
  std::replace(name.begin(), name.end(), ' ', '_');
  const auto since = std::chrono::duration_cast<std::chrono::seconds>(wall_now().time_since_epoch());
  return (name.empty() ? "?" : name) + " " + std::to_string(getpid()) + " " + std::to_string(since.count());
}

}  // namespace

BatchHandle::BatchHandle(Client& client, const std::string& description, const std::string& parent,
                         std::string_view payload_of_job)
    : bid_(new_bid()), sender_(client) {
  if (description.size() > longest_description)
    throw std::invalid_argument("a batch's description has at most 1,000 bytes");
  if (!parent.empty() && !is_bid(parent))
    throw std::invalid_argument("the batch's parent is not a bid: 1 to 64 of A-Z a-z 0-9 _ -");
  made_.description = description;
  made_.parent = parent;
  if (const auto job = payload_of_job.empty() ? std::nullopt : batch_named_by(payload_of_job)) {
    const bool is_callback = !job->callback.empty();
    made_.made_in = is_callback ? job->callback : job->bid;
    made_.made_by = is_callback ? job->jid : std::to_string(job->index);
  }
}

BatchHandle::BatchHandle(Client& client, std::string bid)
    : bid_(std::move(bid)), sender_(client), exists_(true), is_own_job_(true) {}

void BatchHandle::on(BatchEvent event, Push job) {
  if (exists_) throw std::logic_error("a batch gets its callbacks before its first push");
  if (job.at) throw std::invalid_argument("a callback is pushed when its event happens, and has no time");
  job.members.emplace_back("cbid", '"' + bid_ + '"');
  job.members.emplace_back("batch_callback", std::string("\"") + name_of(event) + '"');
  const std::size_t number = ++callbacks_[event];
  made_.callbacks.emplace_back(callback_field(name_of(event), number), sender_.kept(std::move(job)));
}

BatchPush BatchHandle::begin_push() {
  BatchPush push{bid_, random_text(bytes_of_token), this_process()};
  if (is_own_job_) {
    sender_.find(bid_);
  } else if (exists_) {
    sender_.reopen(push);
  } else {
    made_.push = push;
    sender_.open(made_);
    exists_ = true;
    if (planted(PlantedBug::callbacks_wait_for_no_push)) sender_.close(push, true);
  }
  return push;
}

void BatchHandle::abandon_push(const BatchPush& push) noexcept {
  try {
    if (is_own_job_)
      sender_.close(push, false);
    else
      sender_.cancel(bid_);
  } catch (...) {  // the failure of the push is more important
  }
}

void BatchHandle::cancel() {
  if (exists_) sender_.cancel(bid_);
}

}  // namespace brood
