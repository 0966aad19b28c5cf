#include "lib/Drawing/ColorScale.h"
#include <algorithm>
#include <cmath>

namespace rapt::drawing {

Color colorOf(float share) {
  static constexpr double coefficients[7][3] = {{0.2777273272234177, 0.005407344544966578, 0.3340998053353061},
                                                {0.1050930431085774, 1.404613529898575, 1.384590162594685},
                                                {-0.3308618287255563, 0.214847559468213, 0.09509516302823659},
                                                {-4.634230498983486, -5.799100973351585, -19.33244095627987},
                                                {6.228269936347081, 14.17993336680509, 56.69055260068105},
                                                {4.776384997670288, -13.74514537774601, -65.35303263337234},
                                                {-5.435455855934631, 4.645852612178535, 26.3124352495832}};
  const double t = share > 0 ? std::min(double(share), 1.0) : 0;
  uint8_t parts[3];
  for (int part = 0; part < 3; ++part) {
    double value = 0;
    for (int power = 6; power >= 0; --power)
      value = value * t + coefficients[power][part];
    parts[part] = uint8_t(std::lround(std::clamp(value, 0.0, 1.0) * 255));
  }
  return {parts[0], parts[1], parts[2]};
}

double lightness(Color color) { return 0.299 * color.red + 0.587 * color.green + 0.114 * color.blue; }

float topOf(std::span<const float> weights) {
  float top = 0;
  for (float weight : weights)
    if (std::isfinite(weight))
      top = std::max(top, weight);
  return top > 0 ? top : 1;
}

} // namespace rapt::drawing
