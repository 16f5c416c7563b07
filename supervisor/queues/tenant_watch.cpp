#include "supervisor/queues/tenant_watch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/config/tenants.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/tenants/tenant_look.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t names_in_a_slice = 250;  // so that none takes Redis long
constexpr auto shortest_between_slices = 5ms;
constexpr auto publish_again = 10min;
constexpr std::size_t forgotten_at_once = 100;

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(redis_now().time_since_epoch()).count();
}

}  // namespace

TenantWatch::TenantWatch(EventLoop& loop, AsyncConnection& redis, std::string identity, Pace pace)
    : redis_(redis),
      identity_(std::move(identity)),
      pace_(pace),
      next_(loop, [this] { tick(); }),
      position_(scan_begins) {}

void TenantWatch::set_capsules(const std::vector<CapsuleSettings>& capsules) {
  serves_tenants_ = has_patterns_ = false;
  for (const CapsuleSettings& capsule : capsules) {
    for (const std::string& entry : capsule.queues.names()) {
      if (!is_pattern(entry)) continue;
      has_patterns_ = true;
      serves_tenants_ |= tenant_in(entry.substr(0, entry.find('!'))).has_value();
    }
  }
  if (watching_) look();
}

void TenantWatch::know(const KnownQueues& known) {
  knows_tenants_ =
      std::any_of(known.names.begin(), known.names.end(), [](const auto& name) { return is_tenants(name); });
  paused_ = known.paused;
  if (watching_) look();
}

void TenantWatch::look() {
  watching_ = true;
  if (!asking_ && !next_.running()) tick();
}

// Gives up the part at once, so that another supervisor need not wait until it expires.
void TenantWatch::stop() {
  watching_ = false;
  next_.stop();
  if (std::exchange(has_part_, false) && redis_.connected())
    redis_.send(leave_tenants_watch(), longest_answer_time, [](const AsyncConnection::Result&) {});
}

bool TenantWatch::is_needed() const { return serves_tenants_ || (has_patterns_ && knows_tenants_); }

void TenantWatch::go_on(std::chrono::nanoseconds pause) {
  asking_ = false;
  if (watching_) next_.start_in(pause);
}

// A lost answer ends what was asked; it begins anew.
void TenantWatch::tick() {
  if (!watching_ || asking_ || !is_needed()) return;
  if (!redis_.connected()) {
    has_part_ = false;
    return go_on(take_again);
  }
  asking_ = true;
  if (!has_part_ || steady_now() - kept_at_ >= lifetime) return take_part();
  read_slice();
}

// Several supervisors that take the part at the same time do no harm: they do the same work.
void TenantWatch::take_part() {
  has_part_ = false;
  position_ = scan_begins;
  redis_.send_all(take_tenants_watch(identity_, lifetime), longest_answer_time, [this](const Results& results) {
    has_part_ =
        results.size() == 2 && results.back().ok() && read_has_tenants_watch(results.back().reply.view(), identity_);
    kept_at_ = steady_now();
    go_on(has_part_ ? 0s : take_again);
  });
}

void TenantWatch::read_slice() {
  if (position_ == scan_begins) {
    slices_ = 0;
    names_ = 0;
    others_.clear();
    is_census_ = steady_now() - census_at_ >= pace_.census;
    if (is_census_) census_at_ = steady_now();
  }
  std::vector<Command> commands{NamePages::of_queues().ask(position_, names_in_a_slice)};
  const bool keeps = steady_now() - kept_at_ >= keep_again;
  if (keeps) commands.push_back(keep_tenants_watch(identity_, lifetime));
  redis_.send_all(commands, longest_answer_time, [this, keeps](const Results& results) {
    if (keeps && (!results.back().ok() || results.back().reply.view().integer() != 1)) has_part_ = false;
    if (keeps && has_part_) kept_at_ = steady_now();
    const AsyncConnection::Result& read = results.front();
    if (!read.ok() || read.reply.view().size() != 2) {  // away, or no set
      position_ = scan_begins;
      return go_on(take_again);
    }
    const ScanPage page = read_scan(read.reply.view());
    position_ = page.next;
    std::vector<std::string> tenants;
    for (std::size_t i = 0; i < page.found.size(); ++i) {
      std::string name(page.found[i].text());
      if (!is_safe_queue(name)) continue;
      ++names_;
      if (const auto tenant = tenant_in(name)) {
        others_.insert(all_tenants_of(tenant->base));
        if (!paused_.contains(name)) tenants.push_back(std::move(name));
      } else {
        others_.insert(std::move(name));
      }
    }
    ++slices_;
    note_slice(std::move(tenants));
  });
}

void TenantWatch::note_slice(std::vector<std::string> tenants) {
  if (tenants.empty()) return end_slice();
  std::vector<Command> commands{count_filled(tenants)};
  redis_.send_all(commands, longest_answer_time, [this, tenants = std::move(tenants)](const Results& results) {
    const AsyncConnection::Result& counted = results.front();
    if (!counted.ok()) return end_slice();
    const bool some_are_filled = counted.reply.view().integer() > 0;
    if (some_are_filled) enter(tenants);
    // Notes all of them: one that has jobs is noticed when its time has come.
    if (is_census_ && watching_)
      redis_.send_all({note_idle_tenants(tenants, now_s())}, longest_answer_time, [](const Results&) {});
    end_slice();
  });
}

void TenantWatch::enter(const std::vector<std::string>& tenants) {
  std::vector<ScriptCall> calls;
  for (std::size_t i = 0; i < tenants.size(); i += max_tenants_entered) {
    const auto first = tenants.begin() + static_cast<std::ptrdiff_t>(i);
    calls.push_back(enter_filled_tenants(
        {first, first + static_cast<std::ptrdiff_t>(std::min(max_tenants_entered, tenants.size() - i))}));
  }
  redis_.run_all(std::move(calls), longest_answer_time, [](const Results&) {});
}

void TenantWatch::end_slice() {
  if (position_ == scan_begins) end_pass();
  go_on(between_slices());
}

std::chrono::nanoseconds TenantWatch::between_slices() const {
  return std::clamp<std::chrono::nanoseconds>(pace_.pass / std::max(slices_before_, slices_), shortest_between_slices,
                                              pace_.between_slices);
}

void TenantWatch::end_pass() {
  slices_before_ = std::max(slices_, 1);
  if (!watching_ || !has_part_) return;
  forget_idle();
  if (names_ < many_queue_names) return;
  const SteadyTime now = steady_now();
  if (others_ == published_ && now - published_at_ < publish_again) return;
  published_ = others_;
  published_at_ = now;
  redis_.send_all(publish_queue_names({others_.begin(), others_.end()}), longest_answer_time,
                  [this](const Results& results) {
                    if (!results.back().ok()) published_.clear();
                  });
}

void TenantWatch::forget_idle() {
  redis_.send_all(ask_idle_tenants(now_s(), pace_.idle_for.count(), forgotten_at_once), longest_answer_time,
                  [this](const Results& results) {
                    std::vector<ScriptCall> calls;
                    for (const AsyncConnection::Result& result : results) {
                      if (!result.ok()) return;
                      const auto names = read_name_list_if_told(result.reply.view());
                      if (names && !names->empty()) calls.push_back(forget_idle_tenants(*names, now_s()));
                    }
                    if (watching_) redis_.run_all(std::move(calls), longest_answer_time, [](const Results&) {});
                  });
}

}  // namespace brood
