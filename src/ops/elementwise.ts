import { type Cost, rowwiseCost } from './cost.ts';
import type { Recorder } from './recorder.ts';
import type { Tensor, Weight } from './value.ts';

/**
 * `out = a + b` or `out = a * b`, elementwise; a weight vector as `b` is broadcast to each row, a weight with one value
 * to each element. `mul` also takes a narrower tensor or vector: each of its values multiplies an equal part of the row, as a
 * gate for each head.
 */
export interface BinaryOp {
  readonly kind: 'add' | 'mul';
  readonly a: Tensor;
  readonly b: Tensor | Weight;
  readonly out: Tensor;
}

/** `out = factor * x`. */
export interface ScaleOp {
  readonly kind: 'scale';
  readonly x: Tensor;
  readonly factor: number;
  readonly out: Tensor;
}

/** `out = min(max(x, low), high)`; what becomes of NaN is not defined. */
export interface ClampOp {
  readonly kind: 'clamp';
  readonly x: Tensor;
  readonly low: number;
  readonly high: number;
  readonly out: Tensor;
}

/**
 * Elementwise functions: `silu` x·sigmoid(x); `gelu` 0.5x(1 + erf(x/√2)); `gelu_tanh` its tanh approximation;
 * `gelu_quick` x·sigmoid(1.702x); `relu`; `relu_squared`; `sigmoid`; `tanh`; `exp`; `softplus` ln(1 + eˣ).
 */
export const ACTIVATIONS = [
  'silu',
  'gelu',
  'gelu_tanh',
  'gelu_quick',
  'relu',
  'relu_squared',
  'sigmoid',
  'tanh',
  'exp',
  'softplus',
] as const;

/** One of `ACTIVATIONS`. */
export type Activation = (typeof ACTIVATIONS)[number];

/** `out = fn(x)`. */
export interface UnaryOp {
  readonly kind: 'unary';
  readonly fn: Activation;
  readonly x: Tensor;
  readonly out: Tensor;
}

/**
 * The functions of `gated`: those of one number, and `swiglu_oai`, gpt-oss's clamped SwiGLU, which also depends on up:
 * g·sigmoid(1.702g)·(1 + u) with g = min(gate, 7) and u = up clamped to ±7.
 */
export const GATED_FUNCTIONS = [...ACTIVATIONS, 'swiglu_oai'] as const;

/** One of `GATED_FUNCTIONS`. */
export type GatedFunction = (typeof GATED_FUNCTIONS)[number];

/** The limit to which `swiglu_oai` clamps gate and up. */
export const SWIGLU_OAI_LIMIT = 7;

/** `out = fn(gate) * up` (Shazeer 2020, "GLU variants improve transformer"), except for `swiglu_oai`. */
export interface GatedOp {
  readonly kind: 'gated';
  readonly fn: GatedFunction;
  readonly gate: Tensor;
  readonly up: Tensor;
  readonly out: Tensor;
}

function binary(g: Recorder<BinaryOp>, kind: BinaryOp['kind'], a: Tensor, b: Tensor | Weight): Tensor {
  const fits =
    b.kind === 'weight'
      ? b.rows === 1 &&
        (b.columns === a.width || b.columns === 1 || (kind === 'mul' && a.width % b.columns === 0))
      : b.axis === a.axis && (b.width === a.width || (kind === 'mul' && a.width % b.width === 0));
  g.require(
    fits,
    `${kind} takes two operands of one shape, or a vector of ${a.width} or 1: ${a.name}, ${b.name}`,
  );
  const out = g.temp(kind, { axis: a.axis, width: a.width });
  g.push({ kind, a, b, out });
  return out;
}

/** Adds two tensors, or a vector to each row: [a.axis, a.width]. */
export function add(g: Recorder<BinaryOp>, a: Tensor, b: Tensor | Weight): Tensor {
  return binary(g, 'add', a, b);
}

/** Multiplies two tensors, each row by a vector, or its parts by a value each: [a.axis, a.width]. */
export function mul(g: Recorder<BinaryOp>, a: Tensor, b: Tensor | Weight): Tensor {
  return binary(g, 'mul', a, b);
}

/** Multiplies by a constant: [x.axis, x.width]. */
export function scale(g: Recorder<ScaleOp>, x: Tensor, factor: number): Tensor {
  const out = g.temp('scale', { axis: x.axis, width: x.width });
  g.push({ kind: 'scale', x, factor, out });
  return out;
}

/** The lowest f32: a bound that bounds nothing. */
export const LOWEST_F32 = -3.4028234663852886e38;

/** Bounds each element: [x.axis, x.width]. */
export function clamp(g: Recorder<ClampOp>, x: Tensor, low: number, high: number): Tensor {
  g.require(
    low <= high && Number.isFinite(low) && Number.isFinite(high),
    'bounds are numbers, the lower first',
  );
  const out = g.temp('clamp', { axis: x.axis, width: x.width });
  g.push({ kind: 'clamp', x, low, high, out });
  return out;
}

/** Applies a function to each element: [x.axis, x.width]. */
export function unary(g: Recorder<UnaryOp>, fn: Activation, x: Tensor): Tensor {
  const out = g.temp(fn, { axis: x.axis, width: x.width });
  g.push({ kind: 'unary', fn, x, out });
  return out;
}

/** Multiplies `up` by a function of `gate`: [up.axis, up.width]. */
export function gated(g: Recorder<GatedOp>, fn: GatedFunction, gate: Tensor, up: Tensor): Tensor {
  g.require(gate.width === up.width && gate.axis === up.axis, 'gate and up have one shape');
  const out = g.temp('gated', { axis: up.axis, width: up.width });
  g.push({ kind: 'gated', fn, gate, up, out });
  return out;
}

/** Reads each operand and writes the result once. */
export function elementwiseCost(op: BinaryOp | ScaleOp | ClampOp | UnaryOp | GatedOp, rows: number): Cost {
  const operands = 'x' in op ? 2 : 3;
  const flops = op.kind === 'unary' || op.kind === 'gated' ? 8 : 1;
  return rowwiseCost(rows, operands * op.out.width, flops * op.out.width);
}
