#include "supervisor/watch/help.hpp"

namespace brood::watch {

const std::vector<std::string>& help_lines() {
  static const std::vector<std::string> lines = {
      "1 2 3 4 5          show a pane; Tab, Shift-Tab, Left, Right: the next",
      "Up Down k j        move; PgUp PgDn b Space: a page; Home End g G: the ends",
      "Enter l            details of the chosen row: of a crash the whole stack",
      "Esc q              close it again; q on a table ends the program",
      "/                  show only rows that hold a text; Esc shows all again",
      "s > <              sort by the next column, or the one before",
      "r                  reverse the order",
      "p                  pause the display, or go on",
      "d                  show the native stack of the chosen worker; it goes on",
      "K                  end the job of the chosen worker, after a question",
      "Ctrl-L             redraw everything",
      "",
      "Workers, classes and, with workers here, rates are of this machine and user",
      "and of this moment, even without Redis. Everything else comes from Redis,",
      "whose totals the processes update every ten seconds. While Redis does",
      "not answer, its last data stay, and the first line shows their age.",
      "",
      "AGE 8s/10s         runs for 8 s, of 10 s at most; 11s!10s when it is over",
      "JOBS FAILED        of this worker, since it began",
      "RSS CPU%           as in top(1): shared memory counts too",
      "CHANGE             how fast a queue grows or shrinks, over some seconds",
      "AVERAGE CPU EACH   a run's time, and its processor time",
      "PEAK               the largest memory of one run",
      "BEAT               since the last heartbeat; ! after half a minute without",
  };
  return lines;
}

}  // namespace brood::watch
