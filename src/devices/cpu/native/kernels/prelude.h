/**
 * What a kernel's text is written in, with an implementation a processor: `prelude-avx512.h`, to which
 * `prelude-amx.h` adds tiles, `prelude-avx2.h`, `prelude-neon.h`.
 *
 * A vector is `LANES` lanes of 16 bytes. In products, a lane holds four rows of weights, four columns of each: a *quad's* vector in
 * the weights' layout (see `../../kernels/layout.ts`), so a vector covers either one quad's neighbouring vectors or `LANES` quads.
 *
 * Results are those of the WebAssembly kernels, bit for bit: sums of products of bytes are exact whatever their order, and f32
 * operations come in the same order, without fused multiply-add.
 */
#pragma once
#include "export.h"

#define INLINE static inline __attribute__((always_inline))
/** A kernel. Addresses are the process's; counts are elements. */
#define KERNEL EXPORT

#if defined(__AMX_INT8__)
#include "prelude-amx.h"
#elif defined(__AVX512VNNI__)
#include "prelude-avx512.h"
#elif defined(__AVX2__)
#include "prelude-avx2.h"
#elif defined(__ARM_FEATURE_DOTPROD)
#include "prelude-neon.h"
#else
#error "no prelude for this processor"
#endif
