// Products by small unquantized weights of more rows than matrix-vector kernels take, several of them in one launch, on the matrix cores: a
// block takes TILE_LINES lines of one product and 16 rows. Its waves take chunks of k in turn, and their sums meet in shared memory.
//
//   WEIGHT  0 f32: numbers are sums of three bf16, of whose products six are as exact as f32   1 f16   2 bf16: rows are rounded to the
//           weights' type, saturating
//   PARAMETERS, SELECT_PRODUCT, EPILOGUE  as in float-matvec.hip
#define ROUNDED 1
#define BFLOATS (WEIGHT == 2)
#include "activation.h"
#include "matrix.h"
#include "results.h"

#define THREADS (WAVES * MATRIX_LANES)
constexpr i32 TILE_ROWS = 16, LINE_TILES = TILE_LINES / 16;
/// Octets of a line's chunk: 32 values of k.
constexpr i32 LINE_OCTETS = 4;
/// Sums of a row stand this far apart, to avoid bank conflicts.
constexpr i32 SUM_STRIDE = TILE_LINES + 4;

/// Eight numbers of a row, or of a line of f32.
struct Numbers {
  f32x4 at[2];
};
#if WEIGHT == 0
typedef Numbers LineOctet;
constexpr i32 PARTS = 3;
#else
typedef u32x4 LineOctet;
constexpr i32 PARTS = 1;
#endif

#if WEIGHT == 0
/// Eight numbers as three bf16 each, the first the largest: what is cut off is exact.
DEVICE void split(const Numbers& of, u32x4* parts) {
  f32 rest[8] = {of.at[0].x, of.at[0].y, of.at[0].z, of.at[0].w, of.at[1].x, of.at[1].y, of.at[1].z, of.at[1].w};
  UNROLL for (i32 p = 0; p < PARTS; p++) {
    u32 pairs[4];
    UNROLL for (i32 i = 0; i < 4; i++) {
      u32 low = bit_cast<u32>(rest[2 * i]), high = bit_cast<u32>(rest[2 * i + 1]);
      pairs[i] = byte_permute(low, high, 0x7632u);
      rest[2 * i] -= bit_cast<f32>(low & 0xffff0000u);
      rest[2 * i + 1] -= bit_cast<f32>(high & 0xffff0000u);
    }
    parts[p] = {pairs[0], pairs[1], pairs[2], pairs[3]};
  }
}
DEVICE void split_line(const LineOctet& of, u32x4* parts) { split(of, parts); }
DEVICE void multiply_parts(MatrixSum& sum, const Fragment* lines, const Fragment* rows) {
  UNROLL for (i32 smallness = PARTS - 1; smallness >= 0; smallness--) {
    UNROLL for (i32 p = 0; p <= smallness; p++) multiply_bfloats(sum, lines[p], rows[smallness - p]);
  }
}
#else
DEVICE u32 rounded_pair(f32 low, f32 high) { return rounded(low) | u32(rounded(high)) << 16; }
DEVICE void split(const Numbers& of, u32x4* parts) {
  f32x4 a = of.at[0], b = of.at[1];
  parts[0] = {rounded_pair(a.x, a.y), rounded_pair(a.z, a.w), rounded_pair(b.x, b.y), rounded_pair(b.z, b.w)};
}
DEVICE void split_line(const LineOctet& of, u32x4* parts) { parts[0] = of; }
DEVICE void multiply_parts(MatrixSum& sum, const Fragment* lines, const Fragment* rows) {
#if WEIGHT == 2
  multiply_bfloats(sum, lines[0], rows[0]);
#else
  multiply(sum, lines[0], rows[0]);
#endif
}
#endif

DEVICE u32x4 load_octet(const u32x4* from) { return load_streaming(from); }
DEVICE Numbers load_octet(const Numbers* from) {
  const u32x4* words = reinterpret_cast<const u32x4*>(from);
  return {bit_cast<f32x4>(load_streaming(words)), bit_cast<f32x4>(load_streaming(words + 1))};
}

/// What a lane needs of a chunk.
struct Loaded {
  LineOctet lines[LINE_TILES][MATRIX_LINES][FRAGMENT_OCTETS];
  Numbers rows[MATRIX_LINES][FRAGMENT_OCTETS];
};

struct Sources {
  const LineOctet* lines[LINE_TILES][MATRIX_LINES];
  const Numbers* rows[MATRIX_LINES];
  i32 octets;

  DEVICE_MEMBER i32 octet_of(i32 chunk, i32 t) const { return chunk * LINE_OCTETS + t * MATRIX_PARTS + matrix_part(); }
  /// Loads a chunk of the lines; behind their end there are zeros.
  DEVICE_MEMBER void load_lines_of(i32 chunk, Loaded& to) const {
    UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
      i32 octet = octet_of(chunk, t);
      UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
        UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) to.lines[o][l][t] = octet < octets ? load_octet(lines[o][l] + octet) : LineOctet{};
      }
    }
  }
  /// Loads it of the rows; behind their end there is the last octet again, which meets zeros.
  DEVICE_MEMBER void load_rows_of(i32 chunk, Loaded& to) const {
    UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
      UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) to.rows[l][t] = rows[l][min_of(octet_of(chunk, t), octets - 1)];
    }
  }
};

KERNEL(element_tiles, THREADS, const i32* count PARAMETERS) {
  SHARED f32 shared_sums[WAVES][TILE_ROWS * SUM_STRIDE];
  i32 block = block_x(), product = 0, outputs = 0, columns = 0, first_block = 0;
  const f32* x = nullptr;
  const u8* weight = nullptr;
  SELECT_PRODUCT
  i32 wave = thread() / MATRIX_LANES, first = (block - first_block) * TILE_LINES;
  Sources sources;
  sources.octets = columns / 8;
  i32 chunks = (sources.octets + LINE_OCTETS - 1) / LINE_OCTETS;
  UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      i64 line = min_of(first + 16 * o + matrix_line(l), outputs - 1);
      sources.lines[o][l] = reinterpret_cast<const LineOctet*>(weight) + line * sources.octets;
    }
  }
  Loaded next;
  sources.load_lines_of(wave, next);
  i32 used = *count;
  grid_launch_dependents();
  grid_dependency_wait();
  i32 first_row = i32(block_y()) * TILE_ROWS, rows = used - first_row;
  if (rows <= 0) return;
  UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
    // Rows that do not exist repeat the last: their sums are unused.
    i64 row = first_row + min_of(matrix_line(l), rows - 1);
    sources.rows[l] = reinterpret_cast<const Numbers*>(x) + row * sources.octets;
  }
  sources.load_rows_of(wave, next);
  MatrixSum sums[LINE_TILES] = {};
  for (i32 chunk = wave; chunk < chunks; chunk += WAVES) {
    Loaded own = next;
    if (chunk + WAVES < chunks) {
      sources.load_lines_of(chunk + WAVES, next);
      sources.load_rows_of(chunk + WAVES, next);
    }
    Fragment halves[PARTS];
    UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
      UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
        u32x4 parts[PARTS];
        split(own.rows[l][t], parts);
        UNROLL for (i32 p = 0; p < PARTS; p++) halves[p].at[l][t] = parts[p];
      }
    }
    UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
      Fragment lines[PARTS];
      UNROLL for (i32 l = 0; l < MATRIX_LINES; l++) {
        UNROLL for (i32 t = 0; t < FRAGMENT_OCTETS; t++) {
          u32x4 parts[PARTS];
          split_line(own.lines[o][l][t], parts);
          UNROLL for (i32 p = 0; p < PARTS; p++) lines[p].at[l][t] = parts[p];
        }
      }
      multiply_parts(sums[o], lines, halves);
    }
  }
  UNROLL for (i32 o = 0; o < LINE_TILES; o++) {
    UNROLL for (i32 i = 0; i < MATRIX_SUMS; i++) {
      shared_sums[wave][matrix_column(i) * SUM_STRIDE + 16 * o + matrix_row(i)] = sums[o].at[i];
    }
  }
  barrier();
  for (i32 i = thread(); i < TILE_ROWS * TILE_LINES; i += THREADS) {
    i32 row = i / TILE_LINES, line = i % TILE_LINES, n = first + line;
    if (row >= rows || n >= outputs) continue;
    f32 value = 0;
    UNROLL for (i32 w = 0; w < WAVES; w++) value += shared_sums[w][row * SUM_STRIDE + line];
    i64 at = i64(first_row + row) * outputs + n;
    EPILOGUE
  }
}
