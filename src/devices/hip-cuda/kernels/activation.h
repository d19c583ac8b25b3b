// The functions of one number, chosen by the unit's ACTIVATION.
//
//   QUICK_SIGMOID  if it is defined, sigmoids are as accurate as f16 wants them: many results wait for them at once
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
#define ACTIVATION_SWIGLU_OAI 10

#ifdef QUICK_SIGMOID
DEVICE f32 sigmoid(f32 x) { return hardware_reciprocal(1.0f + hardware_exp2(-1.44269504f * x)); }
DEVICE f32 silu_of(f32 x) { return x * sigmoid(x); }
#else
DEVICE f32 sigmoid(f32 x) { return 1.0f / (1.0f + exponential(-x)); }
DEVICE f32 silu_of(f32 x) { return x / (1.0f + exponential(-x)); }
#endif

// Each by its name, as texts of several functions call them.
DEVICE f32 gelu_of(f32 x) { return 0.5f * x * (1.0f + error_function(x * 0.70710678f)); }
DEVICE f32 gelu_tanh_of(f32 x) {
  return 0.5f * x * (1.0f + hyperbolic_tangent(0.79788456f * (x + 0.044715f * x * x * x)));
}
DEVICE f32 gelu_quick_of(f32 x) { return x * sigmoid(1.702f * x); }
DEVICE f32 relu_of(f32 x) { return x > 0 || x != x ? x : 0.0f; }
DEVICE f32 relu_squared_of(f32 x) { return x > 0 || x != x ? x * x : 0.0f; }
DEVICE f32 sigmoid_of(f32 x) { return sigmoid(x); }
DEVICE f32 tanh_of(f32 x) { return hyperbolic_tangent(x); }
DEVICE f32 exp_of(f32 x) { return exponential(x); }
DEVICE f32 softplus_of(f32 x) {
  f32 size = x < 0 ? -x : x;
  return max_of(x, 0.0f) + logarithm_of_one_plus(exponential(-size));
}

constexpr f32 SWIGLU_OAI_LIMIT = 7;

/// Of `swiglu_oai` alone, gate and up are not multiplied as they are.
DEVICE f32 swiglu_oai_of(f32 gate, f32 up) {
  return gelu_quick_of(min_of(gate, SWIGLU_OAI_LIMIT)) * (1.0f + max_of(min_of(up, SWIGLU_OAI_LIMIT), -SWIGLU_OAI_LIMIT));
}

#ifdef ACTIVATION
DEVICE f32 activation(f32 x) {
#if ACTIVATION == ACTIVATION_SILU
  return silu_of(x);
#elif ACTIVATION == ACTIVATION_GELU
  return gelu_of(x);
#elif ACTIVATION == ACTIVATION_GELU_TANH
  return gelu_tanh_of(x);
#elif ACTIVATION == ACTIVATION_GELU_QUICK
  return gelu_quick_of(x);
#elif ACTIVATION == ACTIVATION_RELU
  return relu_of(x);
#elif ACTIVATION == ACTIVATION_RELU_SQUARED
  return relu_squared_of(x);
#elif ACTIVATION == ACTIVATION_SIGMOID
  return sigmoid_of(x);
#elif ACTIVATION == ACTIVATION_TANH
  return tanh_of(x);
#elif ACTIVATION == ACTIVATION_EXP
  return exp_of(x);
#elif ACTIVATION == ACTIVATION_SOFTPLUS
  return softplus_of(x);
#elif ACTIVATION == ACTIVATION_SWIGLU_OAI
  return gelu_quick_of(min_of(x, SWIGLU_OAI_LIMIT));
#endif
}

DEVICE f32 gated(f32 gate, f32 up) {
#if ACTIVATION == ACTIVATION_SWIGLU_OAI
  return swiglu_oai_of(gate, up);
#else
  return activation(gate) * up;
#endif
}
#endif
