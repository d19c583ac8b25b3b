/** Elementary functions of a vector of f32: those of `../../kernels/math.ts`, which says how exact they are, with the same results. */
#pragma once
#include "prelude.h"

/** Vectors with the compiler's own operators, anywhere in memory: Clang ignores the alignment in an alias declaration. */
typedef float Four __attribute__((vector_size(16), aligned(4)));
typedef float Wide __attribute__((vector_size(16 * LANES), aligned(4)));
typedef signed char WideBytes __attribute__((vector_size(4 * LANES), aligned(1)));
typedef i32 WideInts __attribute__((vector_size(16 * LANES), aligned(4)));

static_assert(alignof(Four) == 4 && alignof(Wide) == 4 && alignof(WideBytes) == 1 && alignof(WideInts) == 4, "vectors may lie anywhere");

/** Values of a vector. */
constexpr u32 WIDTH = 4 * LANES;

template <class Vector>
INLINE Vector splat(float x) { return x - Vector{}; }

/** e^x as `math.ts` computes it. */
INLINE Wide exponential(Wide x) {
  const Wide above = x > -104.0f ? x : splat<Wide>(-104.0f);
  const Wide bounded = above < 89.0f ? above : splat<Wide>(89.0f);
  // The sum has no bits behind the point: nearest, ties to even.
  constexpr float SHIFTER = 12582912.0f;
  const Wide n = (bounded * 1.4426950408889634f + SHIFTER) - SHIFTER;
  Wide r = bounded - n * 0.693145751953125f;
  r = r - n * 0.00000142860682030941723212f;
  Wide p = splat<Wide>(0.0013950488f);
  p = p * r + 0.008368889591f;
  p = p * r + 0.04166620585f;
  p = p * r + 0.1666651884f;
  p = p * r + 0.5000000095f;
  const Wide value = (p * r * r + r) + 1.0f;
  const WideInts whole = __builtin_convertvector(n, WideInts);
  const WideInts half = whole >> 1;
  const Wide scaled = value * (Wide)((half + 127) << 23);
  const Wide result = scaled * (Wide)((whole - half + 127) << 23);
  return x == x ? result : x;
}

/** e^x of one number. */
INLINE float exponentialOf(float x) { return exponential(splat<Wide>(x))[0]; }

/** tanh x as `math.ts` computes it. */
INLINE Wide hyperbolicTangent(Wide x) {
  const Wide s = x * x;
  Wide p = splat<Wide>(-0.005717495555f);
  p = p * s + 0.02065104289f;
  p = p * s + -0.05374366032f;
  p = p * s + 0.1333149365f;
  p = p * s + -0.3333328404f;
  const Wide small = x + p * s * x;
  const Wide magnitude = (Wide)((WideInts)x & 0x7fffffff);
  const Wide large = 1.0f - 2.0f / (exponential(magnitude + magnitude) + 1.0f);
  const Wide withSign = (Wide)(((WideInts)large & 0x7fffffff) | ((WideInts)x & (i32)0x80000000));
  return magnitude < 0.625f ? small : withSign;
}

INLINE Wide magnitudeOf(Wide x) { return (Wide)((WideInts)x & 0x7fffffff); }

INLINE Wide withSignOf(Wide magnitude, Wide x) {
  return (Wide)(((WideInts)magnitude & 0x7fffffff) | ((WideInts)x & (i32)0x80000000));
}

/** 1 / (1 + e^-x). */
INLINE Wide sigmoid(Wide x) { return 1.0f / (1.0f + exponential(-x)); }

INLINE Wide errorFunction(Wide x) {
  const Wide s = x * x;
  Wide p = splat<Wide>(0.00008345224928f);
  p = p * s + -0.000813743757f;
  p = p * s + 0.005200634306f;
  p = p * s + -0.02685927078f;
  p = p * s + 0.1128369394f;
  p = p * s + -0.376126337f;
  p = p * s + 1.128379167f;
  const Wide magnitude = magnitudeOf(x);
  const Wide t = magnitude > 4.1f ? splat<Wide>(4.1f) : magnitude;
  Wide q = splat<Wide>(0.0000001916601291f);
  q = q * t + 0.00001862339935f;
  q = q * t + -0.0004208177876f;
  q = q * t + 0.00412892441f;
  q = q * t + -0.0250397503f;
  q = q * t + 0.1081855587f;
  q = q * t + 0.6334156892f;
  q = q * t + 1.129486841f;
  q = q * t + -0.0001697508736f;
  const Wide large = 1.0f - exponential(-q);
  return magnitude < 0.93f ? p * x : withSignOf(large, x);
}

/** The larger of x and 0; NaN if x is. */
INLINE Wide positivePart(Wide x) {
  const Wide kept = x > 0.0f ? x : Wide{};
  return x == x ? kept : x;
}

/** ln(1 + e^x). */
INLINE Wide softplus(Wide x) {
  const Wide u = exponential(-magnitudeOf(x));
  Wide p = splat<Wide>(0.002089989003f);
  p = p * u + -0.01370633663f;
  p = p * u + 0.04211335363f;
  p = p * u + -0.08318917585f;
  p = p * u + 0.1247159062f;
  p = p * u + -0.161290883f;
  p = p * u + 0.1989701743f;
  p = p * u + -0.2498823593f;
  p = p * u + 0.3333263507f;
  p = p * u + -0.4999998372f;
  p = p * u + 0.9999999994f;
  return positivePart(x) + p * u;
}
