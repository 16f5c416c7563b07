#pragma once

#include <string>

namespace brood {

// The directory in which this program was started, by the name that the shell had for it: $PWD, if that led there.  A
// deploy may let that name lead elsewhere later, to another release.
namespace working_directory {

// At the beginning of a program.
void remember();

// Empty: remember() was not called, or there was none.
const std::string& name();

// `path` as seen from there, whatever it leads to now.  A relative path stays one where nobody knows the directory.
std::string absolute(const std::string& path);

// Goes where the name leads now.  The process stays where it is if that is nowhere.
void enter();

}  // namespace working_directory

}  // namespace brood
