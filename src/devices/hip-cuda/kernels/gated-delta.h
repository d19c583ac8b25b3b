// What a head of the gated delta rule reads of a row: queries, keys and values are parts of rows that may hold others beside them.
//
//   KEY_SIZE, VALUE_SIZE   of a head
//   DECAYS                 of a head: 1, or one a key channel
//   KEY_HEADS_TILED        head i has key head i % keys; otherwise neighbouring heads share one
//   RATES                  1 where a head's decay is made of `decay` as softplus(decay + bias) * factor, and beta as its sigmoid
#pragma once
#include "activation.h"

#define DELTA_PARAMETERS                                                                                                  \
  const f32 *q, const f32 *k, const f32 *v, const f32 *decay, const f32 *beta, const f32 *bias, const f32 *factor, i32 q_width, \
      i32 q_start, i32 k_width, i32 k_start, i32 v_width, i32 v_start, i32 heads, i32 keys, f32 length_epsilon, f32 scale
#define DELTA_SOURCES(head) \
  {q, k, v, decay, beta, bias, factor, q_width, q_start, k_width, k_start, v_width, v_start, heads, head, keys, length_epsilon, scale}

struct Sources {
  const f32 *q, *k, *v, *decay, *beta, *bias, *factor;
  i32 q_width, q_start, k_width, k_start, v_width, v_start, heads, head, keys;
  f32 length_epsilon, scale;

  DEVICE_MEMBER i32 key_column() const { return (KEY_HEADS_TILED ? head % keys : head / (heads / keys)) * KEY_SIZE; }
  DEVICE_MEMBER const f32* query_of(i64 row) const { return q + row * q_width + q_start + key_column(); }
  DEVICE_MEMBER const f32* key_of(i64 row) const { return k + row * k_width + k_start + key_column(); }
  DEVICE_MEMBER const f32* value_of(i64 row) const { return v + row * v_width + v_start + head * VALUE_SIZE; }
  /// The logarithm of the decay of key channel `j`.
  DEVICE_MEMBER f32 decay_of(i64 row, i32 j) const {
    f32 own = decay[(row * heads + head) * DECAYS + j];
    return RATES ? softplus_of(own + bias[head]) * factor[head] : own;
  }
  DEVICE_MEMBER f32 beta_of(i64 row) const {
    f32 own = beta[row * heads + head];
    return RATES ? sigmoid(own) : own;
  }
};
