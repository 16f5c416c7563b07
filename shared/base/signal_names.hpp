#pragma once

#include <string>

namespace brood {

// "SIGSEGV", or "signal 65" for one without a name.
std::string signal_name(int signal);

// The name of siginfo's si_code: "SEGV_MAPERR", "SI_USER"; empty if it is unknown.
std::string signal_code_name(int signal, int code);

// Whether siginfo's address means something: one instruction raised the signal.
bool signal_has_address(int signal, int code);

}  // namespace brood
