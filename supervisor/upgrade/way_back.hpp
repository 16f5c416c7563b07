#pragma once

#include <string>
#include <string_view>
#include <vector>

// The way back from a new program to the previous one in the same process.
//
// While the new program takes over, the previous program's file and everything it left stay open.  If the new program
// ends before the takeover is complete, by an exception, an exit or a crash, the previous program is executed again and
// finds everything as it was.  There is no way back if the new program ends before its main() begins, or by SIGKILL.
namespace brood::way_back {

// Arguments of `brood run` by which one program passes information to the next.
constexpr std::string_view adopt = "--adopt";    // the descriptor of the handover
constexpr std::string_view former = "--former";  // the descriptor of the previous program's file
constexpr std::string_view failed = "--failed";  // as --failed=..., to the previous program: why the new one gave up

// `argv` is this program's, the name of the file first.  Call it before anything else, in particular before the
// environment changes.
void open(const std::vector<std::string>& argv);

// Whether this program is taking over and could still give the process back.
bool is_open();

// Executes the previous program.  Returns only if there is none, or it cannot be executed.
void take(const std::string& why);

// After take() has returned: executes this program from its beginning.  Returns only if that fails.
void begin_again(const std::string& why);
// Restores the environment with which the program was started.
void restore_environment();

// Closes the way back: the takeover is complete.
void close();

// `argv` without the previous program's arguments, which come last, and without any that a wrapper added behind them.
std::vector<std::string> own_arguments(std::vector<std::string> argv);

}  // namespace brood::way_back
