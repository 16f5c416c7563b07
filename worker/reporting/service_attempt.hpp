#pragma once

#include "shared/http/http_call.hpp"
#include "worker/reporting/report_attempt.hpp"

namespace brood {

// Sends a report to an error service.
class ServiceAttempt : public ReportAttempt {
 public:
  // `certificates` as for HttpCall.
  ServiceAttempt(const HttpPost& post, const TlsCertificates* certificates, SteadyTime now)
      : call_(post, certificates, "[on_error.tls]", now) {}

  void watch(std::vector<pollfd>& fds) const override {
    if (call_.fd() >= 0) fds.push_back({call_.fd(), call_.events(), 0});
  }
  SteadyTime next_look(SteadyTime now) const override { return call_.fd() < 0 ? now : call_.deadline(); }
  std::optional<ErrorVerdict> go_on(SteadyTime now) override {
    const std::optional<HttpEnd> end = call_.go_on(now);
    if (!end) return std::nullopt;
    return judge_error_answer(*end);
  }

 private:
  HttpCall call_;
};

}  // namespace brood
