/** Parts of a record of 32 activations; see `../../kernels/quantize.ts`. */
#pragma once
#include "export.h"

constexpr u32 RECORD_BYTES = 48;
/** Rows of activations whose records stand interleaved where there are several, and how far a row's records are apart then. */
constexpr u32 TILE_ROWS = 16;
constexpr u32 TILE_STEP = TILE_ROWS * RECORD_BYTES;
constexpr u32 X_SCALE = 32;
/** With a span of one group. */
constexpr u32 X_SUM = 36;
constexpr u32 X_FIRST_SUM = 40;
constexpr u32 X_LIFT = 44;
/** With a span of eight. */
constexpr u32 X_SUMS = 44;
