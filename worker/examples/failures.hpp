#pragma once

#include <exception>
#include <optional>
#include <string>

#include <brood/job.hpp>

// Jobs that end badly, each in its own way, and the hooks that a class may have.

struct Fail {
  std::string message;

  void perform();
};

// Fails unless the file at `path` exists, and makes it: the first attempt fails, the retry succeeds.
struct FailOnce {
  std::string path;

  static brood::RetryDecision retry_in(int count, const std::exception& error);
  void perform();
};

// Throws an object that is no std::exception, and whose type's name looks like markup.
struct FailOddly {
  void perform();
};

// Is stored nowhere when it fails.
struct Discarded {
  std::string message;

  static brood::Discard retry_in(int, const std::exception&) { return brood::discard; }
  void perform();
};

// Decides by the exception.  `answer` is "discard", "kill", "usual" or a number of seconds.
struct RetryHook {
  std::string answer;

  brood::RetryDecision retry_in(int count, const std::exception& error);
  void perform();
};

// Writes `exhausted <jid> <class of the error>: <message>` to the file at `path` when no attempt is left.
struct ExhaustedHook {
  std::string path;
  std::optional<bool> discard = {};

  static constexpr brood::JobOptions options{.retry = 0};
  brood::RetryDecision exhausted(const brood::JobInfo& job, const std::exception& error);
  void perform();
};
