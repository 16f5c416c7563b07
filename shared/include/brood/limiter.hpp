#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <brood/abi.hpp>
#include <brood/detail/attempt.hpp>
#include <brood/detail/current_call.hpp>
#include <brood/detail/members.hpp>
#include <brood/error.hpp>

// Limits for all workers of all machines of one Redis: a number of uses at a time, or a number in an interval.
//
//   const brood::Limiter erp = brood::Limiter::concurrent("erp", 4);             // four connections in all
//   const brood::Limiter mails = brood::Limiter::bucket("mails", 100, 1min);
//
//   void SendInvoice::perform() {
//     erp.within_limit([&] { erp_client().send(invoice); });
//   }
//
// If the limit is reached, the job waits up to `wait`.  Then within_limit() throws OverLimit, which reschedules the job
// uncharged.  A job that waits occupies its worker.
#pragma GCC visibility push(hidden)
namespace brood {

// The behaviour of within_limit() over the limit.
enum class OverLimitPolicy {
  raise,   // within_limit() throws OverLimit
  ignore,  // within_limit() returns without calling the function
};

// The options of a limiter.
struct LimiterOptions {
  std::chrono::milliseconds wait{1000};                    // how long a job waits for the limit; 0: it does not wait
  OverLimitPolicy policy = OverLimitPolicy::raise;         // behaviour over the limit
  std::chrono::seconds ttl = std::chrono::hours(90 * 24);  // how long Redis keeps it after its last use; at least 24 h
  int reschedule = OverLimit::usual_reschedules;           // number of reschedules of a job; 0: it fails at once
  // Returns the delay for the n-th reschedule of a job, counted from 1.  Empty: the usual delay, see OverLimit.
  std::function<std::chrono::milliseconds(int overrated)> backoff = {};
};

// The points of one run within a limiter of points.  The job reports the number that it has really used.
class Points {
 public:
  void used(std::int64_t actual) { actual_ = std::max<std::int64_t>(actual, 0); }  // the last call counts
  std::int64_t used() const { return actual_; }  // the reported number, else the estimate

 private:
  friend class Limiter;
  friend class Limiters;
  explicit Points(std::int64_t wanted) : actual_(wanted) {}
  std::int64_t actual_;
};

class Limiters;

// One limit.  Its name identifies it: [A-Za-z0-9_-], at most 100 characters.  If two definitions have one name, the
// definition made later is the effective one everywhere, from its first use on.  Make a limiter anywhere: as a constant
// of the library, or in the job, with a name for each tenant.  An invalid name or number throws std::invalid_argument
// when the limiter is used.
class Limiter {
 public:
  // At most `slots` uses at a time.  A slot becomes free at the end of within_limit(), of the job, or of its worker,
  // however these end, and never before.
  static Limiter concurrent(std::string name, std::int64_t slots, LimiterOptions options = {}) {
    return Limiter(std::move(name), abi::limit_concurrent, slots, std::chrono::milliseconds(0), std::move(options));
  }
  // At most `n` uses in each interval of the clock: with 1min, from second 0 of one minute to second 0 of the next.
  static Limiter bucket(std::string name, std::int64_t n, std::chrono::milliseconds interval,
                        LimiterOptions options = {}) {
    return Limiter(std::move(name), abi::limit_bucket, n, interval, std::move(options));
  }
  // At most `n` uses in any interval of that length.
  static Limiter window(std::string name, std::int64_t n, std::chrono::milliseconds interval,
                        LimiterOptions options = {}) {
    return Limiter(std::move(name), abi::limit_window, n, interval, std::move(options));
  }
  // At most `size` uses in a burst.  The used amount drains at a constant rate, `size` uses in `drain`.
  static Limiter leaky(std::string name, std::int64_t size, std::chrono::milliseconds drain,
                       LimiterOptions options = {}) {
    return Limiter(std::move(name), abi::limit_leaky, size, drain, std::move(options));
  }
  // A store of `size` points, which gets back `refill_per_second` points each second, more than 0.  used() sets the
  // estimate of a run, and its Points report the real use afterwards.  It never waits.
  static Limiter points(std::string name, std::int64_t size, double refill_per_second, LimiterOptions options = {}) {
    std::chrono::milliseconds interval(0);  // invalid
    if (refill_per_second > 0) {
      const double full_in_ms = 1000.0 * static_cast<double>(size) / refill_per_second;
      interval = std::chrono::milliseconds(static_cast<std::int64_t>(std::clamp(full_in_ms, 1.0, 1e12)));
    }
    options.wait = std::chrono::milliseconds(0);
    return Limiter(std::move(name), abi::limit_points, size, interval, std::move(options));
  }
  // A limiter without a limit, for tests and for some tenants.
  static Limiter unlimited(std::string name = "unlimited") {
    Limiter limiter(std::move(name), abi::limit_concurrent, 1, std::chrono::milliseconds(0), {});
    limiter.is_limited_ = false;
    return limiter;
  }

  // Joins several limiters: a run takes all of them or none.
  template <typename... More>
  static Limiters all_of(Limiter first, More... more);

  // Returns the same limiter with runs that take `n` of its amount each.  A run takes at most one slot.
  Limiter used(std::int64_t n) const {
    Limiter limiter = *this;
    limiter.wanted_ = n;
    return limiter;
  }

  // Calls `f()`, or `f(points)` with a Points&, as soon as the limit allows it, and returns its result.  If f returns
  // void, it returns whether f was called.  With OverLimitPolicy::ignore, f is not called over the limit, and the
  // result is false or an empty value.  A nested call for the same limiter takes no second slot.
  //
  // Throws OverLimit; Interrupted if the worker must end while the job waits; std::logic_error outside of a job's
  // thread; std::invalid_argument for an invalid name or number; JobFailure in a worker without limits.
  template <typename F>
  auto within_limit(F&& f) const;

  const std::string& name() const { return name_; }  // the name that it was made with

 private:
  friend class Limiters;
  Limiter(std::string name, std::uint32_t kind, std::int64_t amount, std::chrono::milliseconds interval,
          LimiterOptions options)
      : name_(std::move(name)), kind_(kind), amount_(amount), interval_(interval), options_(std::move(options)) {}

  std::string name_;
  std::uint32_t kind_;
  std::int64_t amount_;
  std::chrono::milliseconds interval_;
  std::int64_t wanted_ = 1;
  bool is_limited_ = true;
  LimiterOptions options_;
  std::chrono::steady_clock::time_point defined_ = std::chrono::steady_clock::now();
};

// Several limiters, as Limiter::all_of() makes them.  The shortest `wait` applies, and the other options of the limiter
// that is reached.  If there are several Redis servers, the limiters of one server are taken together, server after
// server.
class Limiters {
 public:
  // As Limiter::within_limit().  The Points are those of the first limiter of points.
  template <typename F>
  auto within_limit(F&& f) const {
    const Taken taken(*this);
    Points points(taken.wanted_points());
    const auto call = [&]() -> decltype(auto) {
      if constexpr (std::is_invocable_v<F&, Points&>) {
        const UsedPoints used{taken, points};
        return f(points);
      } else {
        return f();
      }
    };
    using Result = decltype(call());
    if constexpr (std::is_void_v<Result>) {
      if (taken.is_over()) return false;
      call();
      return true;
    } else if constexpr (std::is_default_constructible_v<std::decay_t<Result>>) {
      if (taken.is_over()) return std::decay_t<Result>{};
      return static_cast<std::decay_t<Result>>(call());
    } else {
      if (taken.is_over()) taken.raise();
      return call();
    }
  }

 private:
  friend class Limiter;
  explicit Limiters(std::vector<Limiter> limiters) : limiters_(std::move(limiters)) {}

  // Takes the limits, and gives them back at its end.
  class Taken {
   public:
    explicit Taken(const Limiters& limiters) {
      for (const Limiter& limiter : limiters.limiters_) {
        if (limiter.is_limited_) wanted_.push_back(&limiter);
      }
      if (!wanted_.empty()) take();
    }
    ~Taken() {
      if (call_ != nullptr) call_->limits->give_back(call_->host, pointers_.data(), pointers_.size());
    }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

    bool is_over() const { return over_ != nullptr; }
    std::int64_t wanted_points() const {
      const std::size_t at = place_of_points();
      return at < wanted_.size() ? wanted_[at]->wanted_ : 0;
    }
    void have_used(std::int64_t points) const {
      const std::size_t at = place_of_points();
      if (at < limits_.size()) limits_[at].difference = points - wanted_[at]->wanted_;
    }
    [[noreturn]] void raise() const {
      const LimiterOptions& options = over_->options_;
      std::optional<std::chrono::milliseconds> in;
      if (options.backoff) in = options.backoff(deferrals_before() + 1);
      throw OverLimit(over_->name_, in, options.reschedule);
    }

   private:
    void take() {
      const abi::Call* const call = detail::current_call();
      if (call == nullptr) throw std::logic_error("brood: a limiter works in a job, on the thread of its perform()");
      if (!abi::has(*call, &abi::Call::limits) || call->limits == nullptr)
        throw JobFailure("LibraryError", "this worker keeps no limits: " + wanted_.front()->name_ + " needs them");
      const auto now = std::chrono::steady_clock::now();
      std::chrono::milliseconds wait = wanted_.front()->options_.wait;
      for (const Limiter* const limiter : wanted_) {
        using std::chrono::duration_cast;
        wait = std::min(wait, limiter->options_.wait);
        limits_.push_back({sizeof(abi::Limit), detail::text_of(limiter->name_), limiter->kind_, 0, limiter->amount_,
                           limiter->interval_.count(), limiter->wanted_, limiter->options_.ttl.count(),
                           duration_cast<std::chrono::milliseconds>(now - limiter->defined_).count(), 0});
      }
      for (const abi::Limit& limit : limits_) pointers_.push_back(&limit);
      abi::LimitRefusal refusal{};
      refusal.size = sizeof refusal;
      switch (call->limits->take(call->host, pointers_.data(), pointers_.size(), wait.count(), &refusal)) {
        case abi::limit_taken:
          call_ = call;
          return;
        case abi::limit_over:
          over_ = wanted_.at(refusal.which < wanted_.size() ? refusal.which : 0);
          if (over_->options_.policy == OverLimitPolicy::raise) raise();
          return;
        case abi::limit_away:
          throw Interrupted{};
        default:
          throw std::invalid_argument("brood: " + std::string(detail::view_of(refusal.why)));
      }
    }

    std::size_t place_of_points() const {
      std::size_t at = 0;
      while (at < wanted_.size() && wanted_[at]->kind_ != abi::limit_points) ++at;
      return at;
    }

    // The number of times that this job was over a limit before, by its payload.
    static int deferrals_before() {
      const abi::Call* const call = detail::current_call();
      if (call == nullptr) return 0;
      try {
        const detail::Members members(detail::view_of(call->payload));
        const std::string* const count = members.find("overrated");
        return count == nullptr ? 0 : std::clamp(std::stoi(*count), 0, 1'000'000);
      } catch (const std::exception&) {
        return 0;
      }
    }

    std::vector<const Limiter*> wanted_;
    mutable std::vector<abi::Limit> limits_;
    std::vector<const abi::Limit*> pointers_;
    const abi::Call* call_ = nullptr;  // the attempt that holds the limits; null: none were taken
    const Limiter* over_ = nullptr;
  };

  // Reports the number of used points, however the function ends.
  struct UsedPoints {
    const Taken& taken;
    const Points& points;
    ~UsedPoints() { taken.have_used(points.used()); }
  };

  std::vector<Limiter> limiters_;
};

template <typename... More>
Limiters Limiter::all_of(Limiter first, More... more) {
  static_assert((std::is_same_v<More, Limiter> && ...), "brood: all_of takes limiters");
  std::vector<Limiter> limiters;
  limiters.reserve(1 + sizeof...(More));
  limiters.push_back(std::move(first));
  (limiters.push_back(std::move(more)), ...);
  return Limiters(std::move(limiters));
}

template <typename F>
auto Limiter::within_limit(F&& f) const {
  return all_of(*this).within_limit(std::forward<F>(f));
}

}  // namespace brood
#pragma GCC visibility pop
