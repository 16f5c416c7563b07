#pragma once

#include <string>
#include <string_view>
#include <vector>

// While a new program takes over from another in the same process, the other's file stays open, and so does all that it
// left.  If the new one ends before it stands, by an exception, an exit or a crash, the other is executed once more and
// finds everything as it was.  There is no way back when the new one ends before its main() begins, or by SIGKILL.
namespace brood::way_back {

// What one program tells the next among the arguments of `brood run`.
constexpr std::string_view adopt = "--adopt";    // the descriptor of the handover
constexpr std::string_view former = "--former";  // that of the other program's file
constexpr std::string_view failed = "--failed";  // to the other, as --failed=...: why the new one gave back

// `argv` as this program was started, the name of the file first.  Before anything else, and before the environment is
// changed.
void open(const std::vector<std::string>& argv);

// There is something to give back: this program was told to take over, and does not stand yet.
bool is_open();

// Executes the other program; returns only when there is none, or it cannot be executed.
void take(const std::string& why);

// Where take() returned: executes this program from its beginning.  Returns only when that fails.
void begin_again(const std::string& why);
// Gives this process the environment that the program was started with.
void restore_environment();

// This program stands.
void close();

// `argv` without what one program tells the next, which comes last, and what a wrapper adds to it.
std::vector<std::string> own_arguments(std::vector<std::string> argv);

}  // namespace brood::way_back
