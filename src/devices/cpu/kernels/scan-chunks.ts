import { exp4, sumLanes } from './math';

@inline
function exp1(x: f32): f32 {
  return f32x4.extract_lane(exp4(f32x4.splat(x)), 0);
}

/** `out[r, s] = a[r] . b[s]`: `rows` rows, an even number, of `lines` lines, a multiple of four, of `bytes` each. */
@inline
function dotLines(
  a: usize,
  nextA: usize,
  rows: u32,
  b: usize,
  nextB: usize,
  lines: u32,
  bytes: usize,
  out: usize,
  nextOut: usize,
): void {
  for (let r: u32 = 0; r < rows; r += 2) {
    const a0 = a + <usize>r * nextA;
    const a1 = a0 + nextA;
    for (let s: u32 = 0; s < lines; s += 4) {
      const b0 = b + <usize>s * nextB;
      const b1 = b0 + nextB;
      const b2 = b1 + nextB;
      const b3 = b2 + nextB;
      let s00 = f32x4.splat(0);
      let s01 = s00;
      let s02 = s00;
      let s03 = s00;
      let s10 = s00;
      let s11 = s00;
      let s12 = s00;
      let s13 = s00;
      for (let j: usize = 0; j < bytes; j += 16) {
        const x0 = v128.load(a0 + j);
        const x1 = v128.load(a1 + j);
        let y = v128.load(b0 + j);
        s00 = f32x4.add(s00, f32x4.mul(x0, y));
        s10 = f32x4.add(s10, f32x4.mul(x1, y));
        y = v128.load(b1 + j);
        s01 = f32x4.add(s01, f32x4.mul(x0, y));
        s11 = f32x4.add(s11, f32x4.mul(x1, y));
        y = v128.load(b2 + j);
        s02 = f32x4.add(s02, f32x4.mul(x0, y));
        s12 = f32x4.add(s12, f32x4.mul(x1, y));
        y = v128.load(b3 + j);
        s03 = f32x4.add(s03, f32x4.mul(x0, y));
        s13 = f32x4.add(s13, f32x4.mul(x1, y));
      }
      const at = out + <usize>r * nextOut + (<usize>s << 2);
      v128.store(at, f32x4(sumLanes(s00), sumLanes(s01), sumLanes(s02), sumLanes(s03)));
      v128.store(at + nextOut, f32x4(sumLanes(s10), sumLanes(s11), sumLanes(s12), sumLanes(s13)));
    }
  }
}

/** What row t of `rows` sees of each row s up to it, of a group's heads: `pairs[t, s] = c[t] . b[s]`, lines of `n` values. */
export function scanPairs(b: usize, c: usize, next: usize, n: u32, rows: u32, pairs: usize): void {
  const line = <usize>rows << 2;
  for (let t: u32 = 0; t < rows; t += 4) {
    dotLines(c + <usize>t * next, next, 4, b, next, t + 4, <usize>n << 2, pairs + <usize>t * line, line);
  }
}

/** Writes the sums of logarithms `rate * dt` up to each row, in f64: of long sums, differences matter. */
@inline
function addUp(dt: usize, nextDt: usize, rate: f32, rows: u32, sums: usize): f64 {
  let sum: f64 = 0;
  for (let t: u32 = 0; t < rows; t++) {
    sum += <f64>rate * <f64>load<f32>(dt + <usize>t * nextDt);
    store<f64>(sums + (<usize>t << 3), sum);
  }
  return sum;
}

/** `seen[t, s] = e^(G[t] - G[s]) dt[s] pairs[t, s]` for s up to t, of the other rows 0. */
@inline
function weighPairs(sums: usize, dt: usize, nextDt: usize, rows: u32, pairs: usize, seen: usize): void {
  const line = <usize>rows << 2;
  for (let t: u32 = 0; t < rows; t++) {
    const own = load<f64>(sums + (<usize>t << 3));
    for (let s: u32 = 0; s <= t; s += 4) {
      const at = seen + (<usize>s << 2);
      for (let i: u32 = 0; i < 4; i++) {
        const left = own - load<f64>(sums + (<usize>(s + i) << 3));
        store<f32>(at + (<usize>i << 2), <f32>min<f64>(left, 0));
      }
      const step = dt + <usize>s * nextDt;
      const steps = f32x4(
        load<f32>(step),
        load<f32>(step + nextDt),
        load<f32>(step + 2 * nextDt),
        load<f32>(step + 3 * nextDt),
      );
      const isUpTo = i32x4.le_s(i32x4.add(i32x4.splat(s), i32x4(0, 1, 2, 3)), i32x4.splat(t));
      const weighed = f32x4.mul(f32x4.mul(exp4(v128.load(at)), steps), v128.load(pairs + (<usize>s << 2)));
      v128.store(at, v128.and(weighed, isUpTo));
    }
    seen += line;
    pairs += line;
  }
}

/** `out[t] = e^G[t] out[t] + skip x[t] + sum over s <= t of seen[t, s] x[s]`, 16 values of each row at once. */
@inline
function addSeen(sums: usize, seen: usize, x: usize, skip: f32, out: usize, next: usize, bytes: usize, rows: u32): void {
  const skips = f32x4.splat(skip);
  for (let t: u32 = 0; t < rows; t++) {
    const grown = f32x4.splat(exp1(<f32>load<f64>(sums + (<usize>t << 3))));
    for (let i: usize = 0; i < bytes; i += 64) {
      const at = out + i;
      const own = x + <usize>t * next + i;
      let sum0 = f32x4.add(f32x4.mul(v128.load(at), grown), f32x4.mul(skips, v128.load(own)));
      let sum1 = f32x4.add(f32x4.mul(v128.load(at, 16), grown), f32x4.mul(skips, v128.load(own, 16)));
      let sum2 = f32x4.add(f32x4.mul(v128.load(at, 32), grown), f32x4.mul(skips, v128.load(own, 32)));
      let sum3 = f32x4.add(f32x4.mul(v128.load(at, 48), grown), f32x4.mul(skips, v128.load(own, 48)));
      let from = x + i;
      for (let s: u32 = 0; s <= t; s++) {
        const factor = v128.load32_splat(seen + (<usize>s << 2));
        sum0 = f32x4.add(sum0, f32x4.mul(factor, v128.load(from)));
        sum1 = f32x4.add(sum1, f32x4.mul(factor, v128.load(from, 16)));
        sum2 = f32x4.add(sum2, f32x4.mul(factor, v128.load(from, 32)));
        sum3 = f32x4.add(sum3, f32x4.mul(factor, v128.load(from, 48)));
        from += next;
      }
      v128.store(at, sum0);
      v128.store(at, sum1, 16);
      v128.store(at, sum2, 32);
      v128.store(at, sum3, 48);
    }
    out += next;
    seen += <usize>rows << 2;
  }
}

/** `S = e^G[last] S + sum over s of added[s] b[s]^T`, two lines by 16 values at once. */
@inline
function updateState(state: usize, added: usize, lines: u32, b: usize, nextB: usize, bytes: usize, rows: u32, decay: f32): void {
  const decays = f32x4.splat(decay);
  const nextAdded = <usize>lines << 2;
  for (let i: u32 = 0; i < lines; i += 2) {
    for (let j: usize = 0; j < bytes; j += 64) {
      const first = state + j;
      const second = first + bytes;
      let v0 = f32x4.mul(decays, v128.load(first));
      let v1 = f32x4.mul(decays, v128.load(first, 16));
      let v2 = f32x4.mul(decays, v128.load(first, 32));
      let v3 = f32x4.mul(decays, v128.load(first, 48));
      let w0 = f32x4.mul(decays, v128.load(second));
      let w1 = f32x4.mul(decays, v128.load(second, 16));
      let w2 = f32x4.mul(decays, v128.load(second, 32));
      let w3 = f32x4.mul(decays, v128.load(second, 48));
      let values = added + (<usize>i << 2);
      let from = b + j;
      for (let s: u32 = 0; s < rows; s++) {
        const own = v128.load32_splat(values);
        const other = v128.load32_splat(values, 4);
        let y = v128.load(from);
        v0 = f32x4.add(v0, f32x4.mul(own, y));
        w0 = f32x4.add(w0, f32x4.mul(other, y));
        y = v128.load(from, 16);
        v1 = f32x4.add(v1, f32x4.mul(own, y));
        w1 = f32x4.add(w1, f32x4.mul(other, y));
        y = v128.load(from, 32);
        v2 = f32x4.add(v2, f32x4.mul(own, y));
        w2 = f32x4.add(w2, f32x4.mul(other, y));
        y = v128.load(from, 48);
        v3 = f32x4.add(v3, f32x4.mul(own, y));
        w3 = f32x4.add(w3, f32x4.mul(other, y));
        values += nextAdded;
        from += nextB;
      }
      v128.store(first, v0);
      v128.store(first, v1, 16);
      v128.store(first, v2, 32);
      v128.store(first, v3, 48);
      v128.store(second, w0);
      v128.store(second, w1, 16);
      v128.store(second, w2, 32);
      v128.store(second, w3, 48);
    }
    state += bytes << 1;
  }
}

/**
 * `rows` token rows of a sequence at once, a multiple of four, of a head of Mamba-2 (Dao & Gu 2024, "Transformers are SSMs", section 6):
 * `lines` lines, a multiple of 16, of `n` values, a multiple of 16, at `state` are read and written, `lines` values of each row at `out`
 * written. `pairs` are those of `scanPairs`. Rows of `x` and `out` are `next` bytes apart, of `dt` `nextDt`, of `b` and `c` `nextB`.
 * With `G[t]` the sum of `dt a` up to row t, and `S` the state before:
 *
 *   seen[t, s] = e^(G[t] - G[s]) dt[s] (b[s] . c[t]) for s <= t
 *   out[t] = e^G[t] S c[t] + sum over s <= t of seen[t, s] x[s] + d x[t]
 *   S      = e^G[last] S + sum over s of e^(G[last] - G[s]) dt[s] x[s] b[s]^T
 *
 * `scratch` takes `rows * (rows + lines + 2)` values.
 */
export function scanChunk(
  state: usize,
  x: usize,
  out: usize,
  next: usize,
  dt: usize,
  nextDt: usize,
  b: usize,
  c: usize,
  nextB: usize,
  rate: f32,
  skip: f32,
  lines: u32,
  n: u32,
  rows: u32,
  pairs: usize,
  scratch: usize,
): void {
  const bytes = <usize>n << 2;
  const line = <usize>lines << 2;
  const seen = scratch + (<usize>rows << 3);
  const added = seen + ((<usize>rows * rows) << 2);
  const last = addUp(dt, nextDt, rate, rows, scratch);
  weighPairs(scratch, dt, nextDt, rows, pairs, seen);
  dotLines(c, nextB, rows, state, bytes, lines, bytes, out, next);
  addSeen(scratch, seen, x, skip, out, next, line, rows);
  for (let s: u32 = 0; s < rows; s++) {
    const left = exp1(<f32>(last - load<f64>(scratch + (<usize>s << 3))));
    const factor = f32x4.splat(left * load<f32>(dt + <usize>s * nextDt));
    const from = x + <usize>s * next;
    const to = added + <usize>s * line;
    for (let i: usize = 0; i < line; i += 16) v128.store(to + i, f32x4.mul(factor, v128.load(from + i)));
  }
  updateState(state, added, lines, b, nextB, bytes, rows, exp1(<f32>last));
}
