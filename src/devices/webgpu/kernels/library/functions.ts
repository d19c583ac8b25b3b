import { type Activation, type GatedFunction, SWIGLU_OAI_LIMIT } from '../../../../ops/index.ts';

/** Elementary functions, accurate to a few ULP: WGSL's own may be off by many. */
export const FUNCTIONS = /* wgsl */ `
// Not constants, of which WGSL allows no infinite ones.
var<private> infinity_bits: u32 = 0x7f800000u;
fn infinity() -> f32 { return bitcast<f32>(infinity_bits); }
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

// 2^n as a factor, in two steps so that it neither overflows nor underflows too early.
fn scale_by_power(x: f32, n: i32) -> f32 {
  let half = n >> 1u;
  return x * bitcast<f32>(u32(half + 127) << 23u) * bitcast<f32>(u32(n - half + 127) << 23u);
}

// e^x. The exponent's whole part is split off first, so that 2^x only sees a fraction.
fn exponential(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x < -104.0) { return 0.0; }
  if (x > 89.0) { return infinity(); }
  let n = round(x * 1.44269504);
  var rest = fma(n, -0.693359375, x);
  rest = fma(n, 2.12194440e-4, rest);
  return scale_by_power(exp2(rest * 1.44269504), i32(n));
}

// e^x - 1 without cancellation near zero.
fn exponential_less_one(x: f32) -> f32 {
  if (x > 0.35 || x < -0.35) { return exponential(x) - 1.0; }
  var sum = 1.0 / 5040.0;
  sum = fma(sum, x, 1.0 / 720.0);
  sum = fma(sum, x, 1.0 / 120.0);
  sum = fma(sum, x, 1.0 / 24.0);
  sum = fma(sum, x, 1.0 / 6.0);
  sum = fma(sum, x, 0.5);
  return fma(sum * x, x, x);
}

// ln x for finite x > 0, by the series of 2 artanh((m - 1) / (m + 1)) with m near 1.
fn logarithm(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  var exponent = i32(bits >> 23u) - 127;
  var m = bitcast<f32>((bits & 0x007fffffu) | 0x3f800000u);
  if (m > 1.41421356) { m *= 0.5; exponent++; }
  let t = (m - 1.0) / (m + 1.0);
  let square = t * t;
  var sum = 1.0 / 11.0;
  sum = fma(sum, square, 1.0 / 9.0);
  sum = fma(sum, square, 1.0 / 7.0);
  sum = fma(sum, square, 1.0 / 5.0);
  sum = fma(sum, square, 1.0 / 3.0);
  return fma(f32(exponent), 0.693147181, 2.0 * fma(t * square, sum, t));
}

// ln(1 + x) for x in [0, 1].
fn logarithm_of_one_plus(x: f32) -> f32 {
  let t = x / (2.0 + x);
  let square = t * t;
  var sum = 1.0 / 13.0;
  sum = fma(sum, square, 1.0 / 11.0);
  sum = fma(sum, square, 1.0 / 9.0);
  sum = fma(sum, square, 1.0 / 7.0);
  sum = fma(sum, square, 1.0 / 5.0);
  sum = fma(sum, square, 1.0 / 3.0);
  return 2.0 * fma(t * square, sum, t);
}

fn hyperbolic_tangent(x: f32) -> f32 {
  let size = abs(x);
  if (size > 10.0) { return sign(x); }
  let grown = exponential_less_one(2.0 * size);
  return sign(x) * grown / (grown + 2.0);
}

fn sigmoid(x: f32) -> f32 { return 1.0 / (1.0 + exponential(-x)); }

// The error function, accurate to 5e-8: by its series near zero, beyond by a polynomial for -ln(1 - erf x) that was fitted on
// [0.92, 4], behind which there is 1.
fn error_function(x: f32) -> f32 {
  let t = min(abs(x), 4.0);
  if (t > 0.92) {
    var r = -1.94945402e-4;
    r = fma(r, t, 3.03368038e-3);
    r = fma(r, t, -2.21897326e-2);
    r = fma(r, t, 1.03856288e-1);
    r = fma(r, t, 6.37265861e-1);
    r = fma(r, t, 1.12762737);
    r = fma(r, t, 2.07019286e-4);
    return sign(x) * (1.0 - exponential(-r));
  }
  let s = x * x;
  var r = 1.64621144e-6;
  r = fma(r, s, -1.49256504e-5);
  r = fma(r, s, 1.20553332e-4);
  r = fma(r, s, -8.54832702e-4);
  r = fma(r, s, 5.22397763e-3);
  r = fma(r, s, -2.68661706e-2);
  r = fma(r, s, 1.12837917e-1);
  r = fma(r, s, -3.76126389e-1);
  r = fma(r, s, 1.12837917);
  return r * x;
}
`;

const ACTIVATIONS: Readonly<Record<Activation, string>> = {
  silu: 'x * sigmoid(x)',
  gelu: '0.5 * x * (1.0 + error_function(x * 0.70710678))',
  gelu_tanh: '0.5 * x * (1.0 + hyperbolic_tangent(0.79788456 * (x + 0.044715 * x * x * x)))',
  gelu_quick: 'x * sigmoid(1.702 * x)',
  relu: 'max(0.0, x)',
  relu_squared: 'max(0.0, x) * max(0.0, x)',
  sigmoid: 'sigmoid(x)',
  tanh: 'hyperbolic_tangent(x)',
  exp: 'exponential(x)',
  softplus: 'max(0.0, x) + logarithm_of_one_plus(exponential(-abs(x)))',
};

/** `activation(x)`, or what it is to be called, for a function; requires `FUNCTIONS`. */
export function activationText(fn: Activation, name = 'activation'): string {
  return `fn ${name}(x: f32) -> f32 { return ${ACTIVATIONS[fn]}; }`;
}

const LIMIT = SWIGLU_OAI_LIMIT.toFixed(1);

const SWIGLU_OAI = /* wgsl */ `
fn gated(gate: f32, up: f32) -> f32 {
  let g = min(gate, ${LIMIT});
  return g * sigmoid(1.702 * g) * (1.0 + clamp(up, -${LIMIT}, ${LIMIT}));
}
`;

/** `gated(gate, up)` of a function; requires `FUNCTIONS`. */
export function gatedText(fn: GatedFunction): string {
  if (fn === 'swiglu_oai') return SWIGLU_OAI;
  return `${activationText(fn)}\nfn gated(gate: f32, up: f32) -> f32 { return activation(gate) * up; }`;
}
