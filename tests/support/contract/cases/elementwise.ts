import { F16, F32, type TensorFormat } from '../../../../src/formats/index.ts';
import {
  ACTIVATIONS,
  add,
  clamp,
  gated,
  GATED_FUNCTIONS,
  lerp,
  LOWEST_F32,
  mul,
  scale,
  type Tensor,
  unary,
} from '../../../../src/ops/index.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch } from '../ragged-batch.ts';

const WIDTHS = [1, 3, 4, 33, 256, 1025];

/** Small and large numbers of both signs, then NaN and infinities in row 1. */
function fillSpecial(elements: Elements): void {
  for (let i = 0; i < elements.length; i++) elements[i] = (i % 2 ? -1 : 1) * 10 ** ((i % 23) - 11);
  const special = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, -0, 3e38];
  elements.set(special, elements.length / 2);
}

function binaryCase(
  op: 'add' | 'mul',
  width: number,
  vector?: { format: TensorFormat; columns: number },
): OpCase {
  const fn = op === 'add' ? add : mul;
  return {
    op,
    name: vector
      ? `${width} wide, ${vector.format.name} vector of ${vector.columns}`
      : `${width} wide, two tensors`,
    batch: mixedBatch(),
    record: (g) => {
      const a = g.input('a', { axis: 'rows', width });
      const b = vector
        ? g.weight('b', vector.format, 1, vector.columns)
        : g.input('b', { axis: 'rows', width });
      return { y: fn(g, a, b) };
    },
  };
}

function specialCase(op: 'add' | 'mul'): OpCase {
  const width = 32;
  return {
    ...binaryCase(op, width),
    name: 'NaN and infinity',
    batch: plainBatch(2),
    fill: { a: fillSpecial },
  };
}

function sameTwice(op: 'add' | 'mul'): OpCase {
  const fn = op === 'add' ? add : mul;
  return {
    op,
    name: 'a tensor with itself',
    batch: plainBatch(3),
    record: (g) => {
      const a = g.input('a', { axis: 'rows', width: 48 });
      return { y: fn(g, a, a) };
    },
  };
}

const binaryCases = (['add', 'mul'] as const).flatMap((op) => [
  ...WIDTHS.flatMap((width) => [
    binaryCase(op, width),
    binaryCase(op, width, { format: F32, columns: width }),
    ...(width > 1 ? [binaryCase(op, width, { format: F32, columns: 1 })] : []),
  ]),
  binaryCase(op, 64, { format: F16, columns: 64 }),
  specialCase(op),
  sameTwice(op),
]);

const scaleCases = [1, 33, 256].flatMap((width) =>
  [0.125, -3.7].map((factor): OpCase => ({
    op: 'scale',
    name: `${width} wide by ${factor}`,
    batch: mixedBatch(),
    record: (g) => ({ y: scale(g, g.input('x', { axis: 'rows', width }), factor) }),
  })),
);

/** A value for each of several parts of a row, by itself and after another operator on its way to others. */
const partCases = (
  [
    [4, 8],
    [3, 5],
    [1, 33],
  ] as const
).map(([parts, size]): OpCase => ({
  op: 'mul',
  name: `${parts} parts of ${size} by a value each`,
  batch: mixedBatch(),
  record: (g) => {
    const x = g.input('x', { axis: 'rows', width: parts * size });
    const factors = g.input('factors', { axis: 'rows', width: parts });
    const vector = g.weight('vector', F32, 1, parts);
    return {
      y: mul(g, x, factors),
      chained: unary(g, 'tanh', mul(g, unary(g, 'relu', x), unary(g, 'sigmoid', factors))),
      same: mul(g, x, vector),
      chainedSame: unary(g, 'tanh', mul(g, unary(g, 'sigmoid', x), vector)),
    };
  },
}));

const clampCases = (
  [
    [-0.5, 0.25],
    [LOWEST_F32, 7],
  ] as const
).flatMap(([low, high]): OpCase[] =>
  [1, 33, 256].map((width) => ({
    op: 'clamp',
    name: `${width} wide from ${low} to ${high}`,
    batch: mixedBatch(),
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width });
      return { y: clamp(g, x, low, high), chained: unary(g, 'exp', clamp(g, scale(g, x, 3), low, high)) };
    },
  })),
);

/** Both tails of an activation function and its middle. */
function fillCurve(elements: Elements): void {
  for (let i = 0; i < elements.length; i++) {
    const t = (2 * i) / (elements.length - 1) - 1;
    elements[i] = 30 * t ** 3;
  }
}

const unaryCases = ACTIVATIONS.flatMap((fn): OpCase[] => [
  {
    op: 'unary',
    name: `${fn}, its whole curve`,
    batch: plainBatch(7),
    record: (g) => ({ y: unary(g, fn, g.input('x', { axis: 'rows', width: 129 })) }),
    fill: { x: fillCurve },
  },
  {
    op: 'unary',
    name: `${fn}, far out`,
    batch: plainBatch(1),
    record: (g) => ({ y: unary(g, fn, g.input('x', { axis: 'rows', width: 5 })) }),
    fill: { x: (elements) => elements.set([-1000, -88, 0, 60, fn === 'exp' ? 89 : 1000]) },
  },
]);

const gatedCases = GATED_FUNCTIONS.map((fn, i): OpCase => ({
  op: 'gated',
  name: `${fn}`,
  batch: mixedBatch(),
  record: (g) => {
    const width = [1, 33, 256, 100][i % 4] ?? 1;
    const gate = g.input('gate', { axis: 'rows', width });
    return { y: gated(g, fn, gate, g.input('up', { axis: 'rows', width })) };
  },
}));

/** Gates and ups on both sides of the clamping limits. */
const clampedCase: OpCase = {
  op: 'gated',
  name: 'swiglu_oai, its whole curve',
  batch: plainBatch(7),
  record: (g) => {
    const gate = g.input('gate', { axis: 'rows', width: 129 });
    return { y: gated(g, 'swiglu_oai', gate, g.input('up', { axis: 'rows', width: 129 })) };
  },
  fill: {
    gate: fillCurve,
    up: (elements) => {
      for (let i = 0; i < elements.length; i++) elements[i] = ((i * 29) % 41) - 20;
    },
  },
};

/** Each operator reads the previous one's result, and one result is read by others too. */
const chainCase: OpCase = {
  op: 'layer',
  name: 'operators that follow each other over elements',
  batch: mixedBatch(),
  record: (g) => {
    const [x, other] = [33, 33].map((width, i) => g.input(`x${i}`, { axis: 'rows', width }));
    const biased = add(g, scale(g, x as Tensor, -0.5), g.weight('bias', F16, 1, 33));
    const shared = mul(g, unary(g, 'sigmoid', biased), g.weight('factor', F32, 1, 1));
    const mixed = lerp(g, x as Tensor, other as Tensor, { t: unary(g, 'tanh', shared), row: 0 });
    return { mixed: unary(g, 'exp', mixed), doubled: add(g, shared, shared) };
  },
};

export const ELEMENTWISE_CASES: readonly OpCase[] = [
  chainCase,
  ...binaryCases,
  ...partCases,
  ...scaleCases,
  ...clampCases,
  ...unaryCases,
  ...gatedCases,
  clampedCase,
];
