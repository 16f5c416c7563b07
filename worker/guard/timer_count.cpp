#include "worker/guard/timer_count.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

namespace brood {
namespace {

constexpr int most_looked_at = 10'000'000;  // a job takes longer to make so many timers than their deletion takes
constexpr int most_guessed_at = 10'000;

// These functions use the kernel's own calls: glibc hides the number behind its timer_t.
int number_of_a_new_one() {
  sigevent nobody{};
  nobody.sigev_notify = SIGEV_NONE;
  int number = -1;
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &nobody, &number) != 0) return -1;
  syscall(SYS_timer_delete, number);
  return number;
}

bool stop(int number) {
  constexpr itimerspec never{};
  return syscall(SYS_timer_settime, number, 0, &never, nullptr) == 0;
}

}  // namespace

void TimerCount::note_present() { last_ = number_of_a_new_one(); }

int TimerCount::stop_left_behind() {
  const int first = last_ + 1;
  last_ = number_of_a_new_one();
  if (last_ == first || first == 0) return 0;
  // The kernel refuses another timer if too many signals are pending or too many timers exist.  Then stop the timers of
  // a limited range of numbers.
  const int end = last_ > first && last_ - first < most_looked_at ? last_ : first + most_guessed_at;
  int left = 0;
  for (int number = first; number < end; ++number) left += stop(number) ? 1 : 0;
  return left;
}

}  // namespace brood
