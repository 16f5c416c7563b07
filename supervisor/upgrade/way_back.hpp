#pragma once

#include <string>
#include <string_view>
#include <vector>

// While a new program takes over from the program before it in the same process, the file of the program before stays
// open, and so does all that it left.  If the new program ends before it stands, by an exception, an exit or a crash,
// the program before is executed again and finds everything as it was.  There is no way back when the new program ends
// before its main() begins, or by SIGKILL.
namespace brood::way_back {

// What one program tells the next among the arguments of `brood run`.
constexpr std::string_view adopt = "--adopt";    // the descriptor of the handover
constexpr std::string_view former = "--former";  // the descriptor of the file of the program before
constexpr std::string_view failed = "--failed";  // as --failed=..., to the program before: why the new one gave back

// `argv` as this program was started, the name of the file first.  Before anything else, and before the environment is
// changed.
void open(const std::vector<std::string>& argv);

// This program was told to take over, and does not stand yet: it could still give the process back.
bool is_open();

// Executes the program before; returns only when there is none, or it cannot be executed.
void take(const std::string& why);

// For when take() has returned: executes this program from its beginning.  Returns only when that fails.
void begin_again(const std::string& why);
// Gives this process the environment that the program was started with.
void restore_environment();

// This program stands: the way back is closed.
void close();

// `argv` without what one program tells the next, which comes last, and what a wrapper adds to it.
std::vector<std::string> own_arguments(std::vector<std::string> argv);

}  // namespace brood::way_back
