int no_jobs_here() { return 1; }
