// A packed matrix as f16 for the BLAS library: the order of halves.h, WEIGHT_SCALE times larger. A thread makes an octet;
// rows are whole chunks.
#include "decode.h"

KERNEL(decode_f16, 256, const u8* weight, i64 groups, u32x4* out) {
  grid_launch_dependents();
  i64 at = i64(block_x()) * 256 + thread();
  if (at >= groups * GROUP_OCTETS) {
    grid_dependency_wait();
    return;
  }
  PlaneCursor cursor = {const_cast<u8*>(weight)};
  P::Q::Planes quants = P::Q::planes(cursor, groups);
  P::S::Planes scales = P::S::planes(cursor, groups);
  i64 group = at / CHUNK_OCTETS * CHUNK_GROUPS + (at & 3);
  i32 t = i32(at % CHUNK_OCTETS) >> 2;
  PairedScales paired = paired_scales(P::S::load(scales, group));
  P::Q::LoadedOctet loaded = P::Q::load_octet(quants, group, t);
  Octet octet = P::Q::octet(loaded, t);
  u32x2 low = decode_quad(P::levels(octet.low), paired.scale[0], paired.min[0]);
  u32x2 high = decode_quad(P::levels(octet.high), paired.scale[1], paired.min[1]);
  grid_dependency_wait();
  out[at] = {low.x, low.y, high.x, high.y};
}
