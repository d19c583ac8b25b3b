/** Operators that work value by value. `out` may be an operand. A tail of fewer than four is computed as four. */
import { erf4, exp4, sigmoid4, softplus4, tanh4 } from './math';

/** The numbers of the functions, in the order of `GATED_FUNCTIONS`. */
const SILU: i32 = 0;
const GELU: i32 = 1;
const GELU_TANH: i32 = 2;
const GELU_QUICK: i32 = 3;
const RELU: i32 = 4;
const RELU_SQUARED: i32 = 5;
const SIGMOID: i32 = 6;
const TANH: i32 = 7;
const EXP: i32 = 8;
const SOFTPLUS: i32 = 9;
const SWIGLU_OAI: i32 = 10;
const SWIGLU_OAI_LIMIT: f32 = 7;

/** The last `count` (1-3) values at `x`, the others zero. */
@inline
function loadTail(x: usize, count: u32): v128 {
  let v = v128.load32_zero(x);
  if (count > 1) v = v128.load32_lane(x + 4, v, 1);
  if (count > 2) v = v128.load32_lane(x + 8, v, 2);
  return v;
}

@inline
function storeTail(out: usize, v: v128, count: u32): void {
  v128.store32_lane(out, v, 0);
  if (count > 1) v128.store32_lane(out + 4, v, 1);
  if (count > 2) v128.store32_lane(out + 8, v, 2);
}

@inline
function apply(fn: i32, x: v128): v128 {
  const one = f32x4.splat(1);
  const half = f32x4.mul(x, f32x4.splat(0.5));
  if (fn == SILU) return f32x4.mul(x, sigmoid4(x));
  if (fn == GELU) return f32x4.mul(half, f32x4.add(one, erf4(f32x4.mul(x, f32x4.splat(0.7071067811865476)))));
  if (fn == GELU_TANH) {
    const cubic = f32x4.add(one, f32x4.mul(f32x4.splat(0.044715), f32x4.mul(x, x)));
    const inner = f32x4.mul(f32x4.mul(f32x4.splat(0.7978845608028654), x), cubic);
    return f32x4.mul(half, f32x4.add(one, tanh4(inner)));
  }
  if (fn == GELU_QUICK) return f32x4.mul(x, sigmoid4(f32x4.mul(x, f32x4.splat(1.702))));
  if (fn == SIGMOID) return sigmoid4(x);
  if (fn == TANH) return tanh4(x);
  if (fn == EXP) return exp4(x);
  if (fn == SOFTPLUS) return softplus4(x);
  if (fn == SWIGLU_OAI) {
    const clamped = f32x4.min(x, f32x4.splat(SWIGLU_OAI_LIMIT));
    return f32x4.mul(clamped, sigmoid4(f32x4.mul(clamped, f32x4.splat(1.702))));
  }
  const kept = f32x4.max(x, f32x4.splat(0));
  return fn == RELU_SQUARED ? f32x4.mul(kept, kept) : kept;
}

/** What a gate is multiplied by. */
@inline
function factorOf(fn: i32, up: v128): v128 {
  if (fn != SWIGLU_OAI) return up;
  const clamped = f32x4.max(f32x4.min(up, f32x4.splat(SWIGLU_OAI_LIMIT)), f32x4.splat(-SWIGLU_OAI_LIMIT));
  return f32x4.add(clamped, f32x4.splat(1));
}

@inline
function unaryOf(fn: i32, x: usize, out: usize, n: u32): void {
  for (; n >= 4; n -= 4) {
    v128.store(out, apply(fn, v128.load(x)));
    x += 16;
    out += 16;
  }
  if (n > 0) storeTail(out, apply(fn, loadTail(x, n)), n);
}

@inline
function gatedOf(fn: i32, gate: usize, up: usize, out: usize, n: u32, rows: u32, width: u32): void {
  for (; rows > 0; rows--) {
    let i: u32 = 0;
    for (; i + 4 <= n; i += 4) {
      const at: usize = i << 2;
      v128.store(out + at, f32x4.mul(apply(fn, v128.load(gate + at)), factorOf(fn, v128.load(up + at))));
    }
    if (i < n) {
      const at: usize = i << 2;
      const rest = n - i;
      const value = f32x4.mul(apply(fn, loadTail(gate + at, rest)), factorOf(fn, loadTail(up + at, rest)));
      storeTail(out + at, value, rest);
    }
    gate += width << 2;
    up += width << 2;
    out += width << 2;
  }
}

/** `out = fn(x)`, `fn` by its number in `ACTIVATIONS`. */
export function unary(fn: i32, x: usize, out: usize, n: u32): void {
  if (fn == SILU) unaryOf(SILU, x, out, n);
  else if (fn == GELU) unaryOf(GELU, x, out, n);
  else if (fn == GELU_TANH) unaryOf(GELU_TANH, x, out, n);
  else if (fn == GELU_QUICK) unaryOf(GELU_QUICK, x, out, n);
  else if (fn == RELU) unaryOf(RELU, x, out, n);
  else if (fn == RELU_SQUARED) unaryOf(RELU_SQUARED, x, out, n);
  else if (fn == SIGMOID) unaryOf(SIGMOID, x, out, n);
  else if (fn == TANH) unaryOf(TANH, x, out, n);
  else if (fn == EXP) unaryOf(EXP, x, out, n);
  else unaryOf(SOFTPLUS, x, out, n);
}

/**
 * `out = fn(gate) * up`, `fn` by its number in `GATED_FUNCTIONS`, for `n` values of each of `rows` rows, which are `width` values
 * apart.
 */
export function gated(fn: i32, gate: usize, up: usize, out: usize, n: u32, rows: u32, width: u32): void {
  if (fn == SILU) gatedOf(SILU, gate, up, out, n, rows, width);
  else if (fn == GELU) gatedOf(GELU, gate, up, out, n, rows, width);
  else if (fn == GELU_TANH) gatedOf(GELU_TANH, gate, up, out, n, rows, width);
  else if (fn == GELU_QUICK) gatedOf(GELU_QUICK, gate, up, out, n, rows, width);
  else if (fn == RELU) gatedOf(RELU, gate, up, out, n, rows, width);
  else if (fn == RELU_SQUARED) gatedOf(RELU_SQUARED, gate, up, out, n, rows, width);
  else if (fn == SIGMOID) gatedOf(SIGMOID, gate, up, out, n, rows, width);
  else if (fn == TANH) gatedOf(TANH, gate, up, out, n, rows, width);
  else if (fn == EXP) gatedOf(EXP, gate, up, out, n, rows, width);
  else if (fn == SWIGLU_OAI) gatedOf(SWIGLU_OAI, gate, up, out, n, rows, width);
  else gatedOf(SOFTPLUS, gate, up, out, n, rows, width);
}

/** `out = a + b`. */
export function add(a: usize, b: usize, out: usize, n: u32): void {
  for (; n >= 4; n -= 4) {
    v128.store(out, f32x4.add(v128.load(a), v128.load(b)));
    a += 16;
    b += 16;
    out += 16;
  }
  if (n > 0) storeTail(out, f32x4.add(loadTail(a, n), loadTail(b, n)), n);
}

/** `out = a * b`. */
export function mul(a: usize, b: usize, out: usize, n: u32): void {
  for (; n >= 4; n -= 4) {
    v128.store(out, f32x4.mul(v128.load(a), v128.load(b)));
    a += 16;
    b += 16;
    out += 16;
  }
  if (n > 0) storeTail(out, f32x4.mul(loadTail(a, n), loadTail(b, n)), n);
}

/** `out = x + term`, one number for all. */
export function shift(x: usize, term: f32, out: usize, n: u32): void {
  const all = f32x4.splat(term);
  for (; n >= 4; n -= 4) {
    v128.store(out, f32x4.add(v128.load(x), all));
    x += 16;
    out += 16;
  }
  if (n > 0) storeTail(out, f32x4.add(loadTail(x, n), all), n);
}

/** `out = factor * x`, one number for all. */
export function scale(x: usize, factor: f32, out: usize, n: u32): void {
  const all = f32x4.splat(factor);
  for (; n >= 4; n -= 4) {
    v128.store(out, f32x4.mul(v128.load(x), all));
    x += 16;
    out += 16;
  }
  if (n > 0) storeTail(out, f32x4.mul(loadTail(x, n), all), n);
}

/** `out = min(max(x, low), high)`. */
export function clamp(x: usize, low: f32, high: f32, out: usize, n: u32): void {
  const lowest = f32x4.splat(low);
  const highest = f32x4.splat(high);
  for (; n >= 4; n -= 4) {
    v128.store(out, f32x4.min(f32x4.max(v128.load(x), lowest), highest));
    x += 16;
    out += 16;
  }
  if (n > 0) storeTail(out, f32x4.min(f32x4.max(loadTail(x, n), lowest), highest), n);
}
