// Two shared objects, one of which needs the other.  PART is the version, and PIECE builds the other.
#ifdef PIECE
int roll_piece();
int roll_piece() { return PART; }
#else
int roll_piece();
int roll_part();
int roll_part() { return 10 * PART + roll_piece(); }
#endif
