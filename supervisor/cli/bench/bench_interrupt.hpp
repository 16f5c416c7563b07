#pragma once

#include <stdexcept>

namespace brood {

// The benchmark was interrupted: first clean up its processes and files.
class Interrupt : public std::runtime_error {
 public:
  explicit Interrupt(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

// From now on throw_if_interrupted() throws Interrupt after an INT, TERM or HUP.
void note_interrupts();
void throw_if_interrupted();
// Ends this process by the signal, as if note_interrupts() had not been called.
void end_by(const Interrupt& interrupt);

}  // namespace brood
