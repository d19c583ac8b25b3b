// The functions of one number, chosen by the unit's ACTIVATION.
#pragma once
#include "functions.h"

#define ACTIVATION_SILU 0
#define ACTIVATION_GELU 1
#define ACTIVATION_GELU_TANH 2
#define ACTIVATION_GELU_QUICK 3
#define ACTIVATION_RELU 4
#define ACTIVATION_RELU_SQUARED 5
#define ACTIVATION_SIGMOID 6
#define ACTIVATION_TANH 7
#define ACTIVATION_EXP 8
#define ACTIVATION_SOFTPLUS 9

DEVICE f32 sigmoid(f32 x) { return 1.0f / (1.0f + exponential(-x)); }

DEVICE f32 activation(f32 x) {
#if ACTIVATION == ACTIVATION_SILU
  return x / (1.0f + exponential(-x));
#elif ACTIVATION == ACTIVATION_GELU
  return 0.5f * x * (1.0f + error_function(x * 0.70710678f));
#elif ACTIVATION == ACTIVATION_GELU_TANH
  return 0.5f * x * (1.0f + hyperbolic_tangent(0.79788456f * (x + 0.044715f * x * x * x)));
#elif ACTIVATION == ACTIVATION_GELU_QUICK
  return x * sigmoid(1.702f * x);
#elif ACTIVATION == ACTIVATION_RELU
  return x > 0 || x != x ? x : 0.0f;
#elif ACTIVATION == ACTIVATION_RELU_SQUARED
  return x > 0 || x != x ? x * x : 0.0f;
#elif ACTIVATION == ACTIVATION_SIGMOID
  return sigmoid(x);
#elif ACTIVATION == ACTIVATION_TANH
  return hyperbolic_tangent(x);
#elif ACTIVATION == ACTIVATION_EXP
  return exponential(x);
#elif ACTIVATION == ACTIVATION_SOFTPLUS
  f32 size = x < 0 ? -x : x;
  return max_of(x, 0.0f) + logarithm_of_one_plus(exponential(-size));
#endif
}
