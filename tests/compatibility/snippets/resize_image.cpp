bool work_is_left();

// SNIPPET
