#pragma once

#include <string>
#include <string_view>

namespace brood {

// The texts that Sidekiq's Web UI prints into its pages without escaping: there a text is markup.  brood writes all of
// them through this file.
//
//   member                                     page                                printed raw by  written through
//   lines of `error_backtrace`                 a retry's, a dead job's             6, 7, 8         page_text
//   `error_class`                              a dead job's                        6, 7, 8         page_text
//   `crash`, `unique_by`, as every member      a retry's, a scheduled job's,       6, 7, 8         page_text
//     Sidekiq does not know: "Extras",         a dead job's
//     names and values
//   class (`class`, `wrapped`,                 a job's own, the sets' lists, Busy  6, 7, 8         has_markup
//     `display_class`), `jid`                  (`jid`: queues, too)
//   `queue`                                    a job's own, the sets' lists, Busy  6, 7            is_safe_queue
//   the same of a running job                  Busy                                6, 7, 8         page_name
//   hostname, tag, labels, queues, weights,    Busy                                6, 7, 8         page_word
//     capsules, version, identity
//   class names of the metrics                 Metrics, also within a script       7, 8            page_name
//   labels of deploy marks                     Dashboard, Metrics, within a        7, 8            page_text
//                                              script
//
// Every release escapes `error_message`, `args`, `tags` and cursors, so they stay as they are.  brood's client refuses
// markup in a class and a jid.  brood does not change other members that a program gives its jobs, nor the jobs of
// other clients.

// For text that people read: < and > become ‹ and ›, so that std::vector<int> is still recognisable.
std::string page_text(std::string_view text);

// Undoes page_text() for text that brood itself wrote: an error's class, by which jobs are searched.
std::string from_page_text(std::string_view shown);

// For names, also within quotes: each of < > & " ' becomes _.
std::string page_name(std::string text);

// For names and patterns that an operator chose: any character but A-Z a-z 0-9 _ . : @ / * ! ~ - becomes -.
std::string page_word(std::string text);

// Whether page_name() would change it.
bool has_markup(std::string_view text);

// The arguments of a payload as pages and lists show them: the last one of a job with `encrypt` as "[encrypted data]",
// as Sidekiq does it.  A text that is no job has none.
std::string shown_args(std::string_view payload);

// The arguments with all of them masked: used if it is unknown which one was encrypted.
std::string masked_args(std::string_view args);

}  // namespace brood
