#include "supervisor/cli/terminal/interruption.hpp"

#include <signal.h>

#include <initializer_list>

namespace brood {
namespace {

volatile sig_atomic_t noted = 0;

}  // namespace

void note_interruption() {
  struct sigaction action {};
  action.sa_handler = [](int) { noted = 1; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool interrupted() { return noted != 0; }

}  // namespace brood
