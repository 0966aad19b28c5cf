//===- ColorScale.h - Numbers as colors -------------------------------------------===//
//
// viridis (S. van der Walt and N. Smith, matplotlib 2.0, 2015): perceptually uniform, and lighter with every step, so
// that it can be read in gray and by the color-blind. As the polynomials of degree 6 that M. Zucker fitted to it
// (https://www.shadertoy.com/view/WlfXRN, CC0).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Drawing/Picture.h"
#include <span>

namespace rapt::drawing {

/// From dark violet at 0 to light yellow at 1; what is below, or no number, counts as 0, what is above as 1.
Color colorOf(float share);

/// How light a color looks, from 0 to 255 (ITU-R BT.601, as gray prints and screens show it).
double lightness(Color color);

/// The weight that has the lightest color: the largest of them; 1 where none is above 0.
float topOf(std::span<const float> weights);

} // namespace rapt::drawing
