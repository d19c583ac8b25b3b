import type { Activation } from '../../../ops/index.ts';

/**
 * The error function, by the series whose terms all have the same sign, so that none cancel (Abramowitz & Stegun
 * 7.1.6).
 */
function erf(x: number): number {
  if (Number.isNaN(x)) return x;
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

const FUNCTIONS: Readonly<Record<Activation, (x: number) => number>> = {
  silu: (x) => x * sigmoid(x),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  gelu_quick: (x) => x * sigmoid(1.702 * x),
  relu: (x) => Math.max(0, x),
  relu_squared: (x) => Math.max(0, x) ** 2,
  sigmoid,
  tanh: Math.tanh,
  exp: Math.exp,
  softplus: (x) => Math.max(0, x) + Math.log1p(Math.exp(-Math.abs(x))),
};

/** The function of this name. */
export function activation(name: Activation): (x: number) => number {
  return FUNCTIONS[name];
}
