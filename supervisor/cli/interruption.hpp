#pragma once

namespace brood {

// From now on the first INT, TERM or HUP is noted, for interrupted() to tell; a second one of the same signal ends the
// program.
void note_interruption();
bool interrupted();

}  // namespace brood
