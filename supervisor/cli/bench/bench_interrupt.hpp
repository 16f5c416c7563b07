#pragma once

#include <stdexcept>

namespace brood {

// The benchmark was interrupted: its processes and files are cleaned up first.
class Interrupt : public std::runtime_error {
 public:
  explicit Interrupt(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

// From now on INT, TERM and HUP are noted, and throw_if_interrupted() throws Interrupt after one of them.
void note_interrupts();
void throw_if_interrupted();
// Ends this process by the signal, as it would have ended without note_interrupts().
void end_by(const Interrupt& interrupt);

}  // namespace brood
