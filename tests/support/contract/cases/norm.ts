import { F32 } from '../../../../src/formats/index.ts';
import { gaussianTopK, layerNorm, rmsNorm } from '../../../../src/ops/index.ts';
import type { OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch } from '../ragged-batch.ts';

function rmsCase(width: number, group: number, epsilon = 1e-5): OpCase {
  return {
    op: 'rmsNorm',
    name: `${width} wide by ${group}, epsilon ${epsilon}`,
    batch: mixedBatch(),
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width });
      return { y: rmsNorm(g, x, g.weight('weight', F32, 1, group), epsilon) };
    },
  };
}

/** Groups, with a row of weights each or without weights. */
function groupsCase(width: number, group: number, weights: 'by group' | 'none'): OpCase {
  return {
    op: 'rmsNorm',
    name: `${width} wide by ${group}, weights ${weights}`,
    batch: mixedBatch(),
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width });
      const own = () => g.weight('weight', F32, width / group, group);
      return { y: rmsNorm(g, x, weights === 'none' ? { size: group } : own(), 1e-5) };
    },
  };
}

function layerCase(width: number, bias: boolean): OpCase {
  return {
    op: 'layerNorm',
    name: `${width} wide${bias ? ' with bias' : ''}`,
    batch: mixedBatch(),
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width });
      const weight = g.weight('weight', F32, 1, width);
      const of = { weight, epsilon: 1e-5 };
      return { y: layerNorm(g, x, bias ? { ...of, bias: g.weight('bias', F32, 1, width) } : of) };
    },
  };
}

function sparseCase(width: number, deviations: number): OpCase {
  return {
    op: 'gaussianTopK',
    name: `${width} wide, ${deviations} deviations above the mean`,
    batch: mixedBatch(),
    record: (g) => ({ y: gaussianTopK(g, g.input('x', { axis: 'rows', width }), deviations) }),
  };
}

const zeros: OpCase = {
  op: 'rmsNorm',
  name: 'a row of zeros, a tiny and a huge one',
  batch: plainBatch(3),
  record: (g) => {
    const x = g.input('x', { axis: 'rows', width: 64 });
    return { y: rmsNorm(g, x, g.weight('weight', F32, 1, 64), 1e-6) };
  },
  fill: {
    x: (elements) => {
      elements.fill(0, 0, 64);
      for (let i = 64; i < 128; i++) elements[i] = 1e-8 * (i - 90);
      for (let i = 128; i < 192; i++) elements[i] = 1e6 * (i - 150);
    },
  },
};

const offCentre: OpCase = {
  op: 'layerNorm',
  name: 'a mean far from zero',
  batch: plainBatch(3),
  record: (g) => {
    const x = g.input('x', { axis: 'rows', width: 256 });
    return { y: layerNorm(g, x, { weight: g.weight('weight', F32, 1, 256), epsilon: 1e-5 }) };
  },
  fill: {
    x: (elements, random) => {
      for (let i = 0; i < elements.length; i++) elements[i] = 100 + random();
    },
  },
  limit: { nmse: 1e-9, reason: 'subtracting the mean leaves two decimal digits less of the inputs' },
};

export const NORM_CASES: readonly OpCase[] = [
  ...[1, 5, 64, 256, 1000, 4096].map((width) => rmsCase(width, width)),
  rmsCase(256, 64),
  rmsCase(120, 20),
  rmsCase(256, 256, 1e-6),
  groupsCase(256, 64, 'by group'),
  groupsCase(120, 20, 'by group'),
  groupsCase(256, 64, 'none'),
  groupsCase(37, 37, 'none'),
  zeros,
  ...[5, 64, 256, 1000].flatMap((width) => [layerCase(width, false), layerCase(width, true)]),
  offCentre,
  ...[2, 300, 1000].flatMap((width) => [sparseCase(width, 1.6448536), sparseCase(width, -0.5)]),
];
