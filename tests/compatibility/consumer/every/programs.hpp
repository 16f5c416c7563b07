#pragma once

#include <string>

// The uses of an installed brood, in this order; each throws std::logic_error if a check fails.
void use_client(const std::string& redis_url);                                // while nothing runs
void use_sets(const std::string& redis_url);                                  // likewise
void use_jobs(const std::string& redis_url, const std::string& ledger);       // while `brood run` runs
void use_batches(const std::string& redis_url, const std::string& ledger);    // likewise
void use_processes(const std::string& redis_url, const std::string& ledger);  // likewise
