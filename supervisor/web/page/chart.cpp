#include "supervisor/web/page/chart.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "supervisor/web/page/parts.hpp"

namespace brood {
namespace {

std::string number(double value) { return fmt::format("{:.1f}", value); }

// The first of 1, 2, 5, 10, 20 ... that is large enough.
double round_top(double most) {
  double top = 1;
  while (top < most) {
    for (const double next : {top * 2, top * 5, top * 10}) {
      if (next >= most) return next;
    }
    top *= 10;
  }
  return top;
}

}  // namespace

Html chart(const Bars& bars) {
  const double width = bars.is_small ? 240 : 960, height = bars.is_small ? 40 : 120;
  const std::size_t count = bars.good.size();
  double most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, bars.good[i] + bars.bad[i]);
  const double top = bars.is_small ? std::max(most, 1.0) : round_top(std::max(most, 1.0));
  const double step = width / static_cast<double>(std::max<std::size_t>(count, 1)), gap = bars.is_small ? 1 : 3;
  Html shapes;
  const auto bar = [&](std::string_view kind, double x, double from, double to) {
    if (to <= from) return;
    shapes.add("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", kind, number(x),
               number(height - to / top * height), number(std::max(1.0, step - gap)),
               number(std::max(1.0, (to - from) / top * height)));
  };
  if (!bars.is_small) {
    for (const double share : {0.0, 0.5, 1.0})
      shapes.add("<line class=\"grid\" x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", number(width),
                 number(height - share * height), number(height - share * height));
  } else {
    shapes.add("<line class=\"grid\" x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", number(width), number(height),
               number(height));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double x = step * static_cast<double>(i), all = bars.good[i] + bars.bad[i];
    if (i < bars.names.size()) shapes.add("<g><title>{}</title>", bars.names[i]);
    bar("ok", x, bars.bad[i], all);
    bar("failed", x, 0, bars.bad[i]);
    if (i < bars.names.size()) shapes.add("</g>");
  }
  const Html svg(
      "<svg class=\"chart {}\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{}\">{}</svg>",
      bars.is_small ? "small" : "wide", number(width), number(height), bars.title + ": " + bars.description, shapes);
  if (bars.is_small) return svg;
  return Html(
      "<figure><figcaption>{}<span class=\"dim\">{}</span></figcaption><div class=\"plot\"><div class=\"scale\" "
      "aria-hidden=\"true\"><span>{}</span>"
      "<span>{}</span><span>0</span></div>{}</div></figure>",
      bars.title, bars.description, rate_text(top), rate_text(top / 2), svg);
}

}  // namespace brood
