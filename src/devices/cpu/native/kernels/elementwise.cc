/** Gated activations: `gated` of the WebAssembly kernels' `elementwise.ts`, with the same results. */
#include "elementary.h"

/** In the order of `GATED_FUNCTIONS`, which begins with `ACTIVATIONS`. */
enum Functions {
  SILU,
  GELU,
  GELU_TANH,
  GELU_QUICK,
  RELU,
  RELU_SQUARED,
  SIGMOID,
  TANH,
  EXP,
  SOFTPLUS,
  SWIGLU_OAI,
};

constexpr float SWIGLU_OAI_LIMIT = 7;

template <Functions FN>
INLINE Wide apply(Wide x) {
  if (FN == SILU) return x * sigmoid(x);
  if (FN == GELU) return (x * 0.5f) * (1.0f + errorFunction(x * 0.7071067811865476f));
  if (FN == GELU_TANH) {
    const Wide cubic = 1.0f + 0.044715f * (x * x);
    return (x * 0.5f) * (1.0f + hyperbolicTangent((0.7978845608028654f * x) * cubic));
  }
  if (FN == GELU_QUICK) return x * sigmoid(x * 1.702f);
  if (FN == RELU) return positivePart(x);
  if (FN == RELU_SQUARED) return positivePart(x) * positivePart(x);
  if (FN == SIGMOID) return sigmoid(x);
  if (FN == TANH) return hyperbolicTangent(x);
  if (FN == EXP) return exponential(x);
  if (FN == SOFTPLUS) return softplus(x);
  const Wide clamped = x > SWIGLU_OAI_LIMIT ? splat<Wide>(SWIGLU_OAI_LIMIT) : x;
  return clamped * sigmoid(clamped * 1.702f);
}

/** What a gate is multiplied by. */
template <Functions FN>
INLINE Wide factorOf(Wide up) {
  if (FN != SWIGLU_OAI) return up;
  const Wide below = up > SWIGLU_OAI_LIMIT ? splat<Wide>(SWIGLU_OAI_LIMIT) : up;
  return (below < -SWIGLU_OAI_LIMIT ? splat<Wide>(-SWIGLU_OAI_LIMIT) : below) + 1.0f;
}

template <Functions FN>
INLINE void gatedRow(const u8* gate, const u8* up, u8* out, u32 n) {
  u32 i = 0;
  for (; i + WIDTH <= n; i += WIDTH) {
    *(Wide*)(out + 4 * i) = apply<FN>(*(const Wide*)(gate + 4 * i)) * factorOf<FN>(*(const Wide*)(up + 4 * i));
  }
  if (i == n) return;
  const Wide g = (Wide)loadSomeFloats(gate + 4 * i, n - i);
  const Wide u = (Wide)loadSomeFloats(up + 4 * i, n - i);
  storeSomeFloats(out + 4 * i, (Floats)(apply<FN>(g) * factorOf<FN>(u)), n - i);
}

template <Functions FN>
INLINE void gatedOf(const u8* gate, const u8* up, u8* out, u32 n, u32 rows, u64 rowBytes) {
  for (; rows > 0; rows--, gate += rowBytes, up += rowBytes, out += rowBytes) gatedRow<FN>(gate, up, out, n);
}

/** `gated` of `../../kernel-exports.ts`, behind the address of WebAssembly's 0. */
KERNEL void gated(u8* base, u32 fn, u32 gate, u32 up, u32 out, u32 n, u32 rows, u32 width) {
  const u8* g = base + gate;
  const u8* u = base + up;
  u8* y = base + out;
  const u64 rowBytes = 4 * (u64)width;
  switch (fn) {
    case SILU: return gatedOf<SILU>(g, u, y, n, rows, rowBytes);
    case GELU: return gatedOf<GELU>(g, u, y, n, rows, rowBytes);
    case GELU_TANH: return gatedOf<GELU_TANH>(g, u, y, n, rows, rowBytes);
    case GELU_QUICK: return gatedOf<GELU_QUICK>(g, u, y, n, rows, rowBytes);
    case RELU: return gatedOf<RELU>(g, u, y, n, rows, rowBytes);
    case RELU_SQUARED: return gatedOf<RELU_SQUARED>(g, u, y, n, rows, rowBytes);
    case SIGMOID: return gatedOf<SIGMOID>(g, u, y, n, rows, rowBytes);
    case TANH: return gatedOf<TANH>(g, u, y, n, rows, rowBytes);
    case EXP: return gatedOf<EXP>(g, u, y, n, rows, rowBytes);
    case SWIGLU_OAI: return gatedOf<SWIGLU_OAI>(g, u, y, n, rows, rowBytes);
    default: return gatedOf<SOFTPLUS>(g, u, y, n, rows, rowBytes);
  }
}
