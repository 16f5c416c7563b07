#include "supervisor/cli/bench/bench_interrupt.hpp"

#include <signal.h>

namespace brood {
namespace {

volatile sig_atomic_t noted = 0;

}  // namespace

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { noted = signal; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

void throw_if_interrupted() {
  if (noted != 0) throw Interrupt(noted);
}

void end_by(const Interrupt& interrupt) {
  ::signal(interrupt.signal(), SIG_DFL);
  raise(interrupt.signal());
}

}  // namespace brood
