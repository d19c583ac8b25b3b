import {
  F16,
  F32,
  IQ2_XS,
  IQ3_S,
  MXFP4,
  Q4_0,
  Q4_K,
  Q6_K,
  Q8_0,
  type TensorFormat,
} from '../../../../src/formats/index.ts';
import {
  add,
  combineExperts,
  scaleExperts,
  gated,
  type GraphBuilder,
  type HotExperts,
  matmul,
  matmulExperts,
  rmsNorm,
  routeExperts,
  type RoutingRule,
  slice,
  type Weight,
} from '../../../../src/ops/index.ts';
import type { TestSelection } from '../contract-options.ts';
import type { Elements, OpCase } from '../op-case.ts';
import { mixedBatch, plainBatch, type RaggedBatch } from '../ragged-batch.ts';

const RULE: RoutingRule = {
  topK: 2,
  gate: 'softmax',
  normalized: true,
  scale: 1,
  groups: 1,
  topKGroups: 1,
};

function routeCase(
  name: string,
  experts: number,
  of: Partial<RoutingRule> & { biased?: boolean; given?: boolean; counted?: boolean },
): OpCase {
  const { biased = false, given = false, counted = false, ...rule } = of;
  return {
    op: 'routeExperts',
    name: `${name}, ${rule.topK ?? RULE.topK} of ${experts}${counted ? ', counted' : ''}`,
    batch: mixedBatch(),
    record: (g) => {
      const logits = g.input('logits', { axis: 'rows', width: experts });
      const bias = biased ? g.weight('bias', F32, 1, experts) : undefined;
      const { topK } = { ...RULE, ...rule };
      const chosen = given ? g.input('chosen', { axis: 'rows', width: topK }) : undefined;
      const uses = counted ? g.state('uses', 'i32', 1, experts) : undefined;
      return { ...routeExperts(g, logits, { ...RULE, ...rule }, { bias, chosen, uses }) };
    },
    fill: { chosen: choices(experts), uses: choices(100) },
  };
}

/** Whole numbers below `count`; duplicates are possible. */
function choices(count: number) {
  return (elements: Elements, random: () => number) => {
    for (let i = 0; i < elements.length; i++) elements[i] = Math.floor(random() * count);
  };
}

/** Which of `slots` copies each expert has; about half of them have none. */
function copied(slots: number) {
  return (elements: Elements, random: () => number) => {
    for (let i = 0; i < elements.length; i++)
      elements[i] = random() < 0.5 ? -1 : Math.floor(random() * slots);
  };
}

/** Copies of some experts of a weight, with other contents, so that it matters which are read. */
function hotOf(
  g: GraphBuilder,
  { name, format, columns }: Weight,
  of: { outputs: number; count: number },
): HotExperts {
  const { outputs, count } = of;
  const weight = g.weight(`${name}.copies`, format, COPIES * outputs, columns);
  return { weight, slots: g.state('copied', 'i32', 1, count) };
}

const COPIES = 3;

interface ExpertShape {
  readonly format: TensorFormat;
  readonly columns: number;
  readonly outputs: number;
  readonly batch: RaggedBatch;
  readonly topK?: number;
  readonly experts?: number;
  /** Each selected expert reads its own part of the row. */
  readonly parts?: boolean;
  readonly biased?: boolean;
  readonly hot?: boolean;
}

function expertCase(of: ExpertShape): OpCase {
  const { format, columns, outputs, batch, topK = 3, experts: count = 5, parts = false, biased = false } = of;
  const size = `${topK} of ${count} x ${outputs} x ${columns}`;
  const rest = `${parts ? ', a part each' : ''}${biased ? ', biases' : ''}${of.hot ? ', copies' : ''}`;
  return {
    op: 'matmulExperts',
    name: `${format.name} ${size}${rest}, ${batch.rows} rows`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: parts ? topK * columns : columns });
      const expertIds = g.input('expertIds', { axis: 'rows', width: topK, type: 'i32' });
      const weight = g.weight('weight', format, count * outputs, columns);
      const bias = biased ? g.weight('bias', F32, count, outputs) : undefined;
      const hot = of.hot ? hotOf(g, weight, { outputs, count }) : undefined;
      return { y: matmulExperts(g, x, { expertIds, weight, outputs, bias, hot }) };
    },
    fill: { expertIds: choices(count), copied: copied(COPIES) },
  };
}

function scaleCase(width: number, count: number, topK: number, batch: RaggedBatch): OpCase {
  return {
    op: 'scaleExperts',
    name: `${topK} of ${count}, ${width} wide, ${batch.rows} rows`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: topK * width });
      const expertIds = g.input('expertIds', { axis: 'rows', width: topK, type: 'i32' });
      return { y: scaleExperts(g, x, { expertIds, scales: g.weight('scales', F32, 1, count) }) };
    },
    fill: { expertIds: choices(count) },
  };
}

function combineCase(width: number, topK: number, batch: RaggedBatch): OpCase {
  return {
    op: 'combineExperts',
    name: `${topK} times ${width}, ${batch.rows} rows`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width: topK * width });
      return { y: combineExperts(g, x, g.input('routingWeights', { axis: 'rows', width: topK })) };
    },
  };
}

/**
 * A complete mixture of experts with norm and residual, which devices tend to fuse; optionally with gpt-oss's biases, or with gate
 * and up as one product, or with copies of experts.
 */
function mixtureCase(
  format: TensorFormat,
  batch: RaggedBatch,
  form?: 'biased' | 'joined' | 'hot' | 'hot joined',
): OpCase {
  const [width, hidden, count, topK] = [256, 96, 6, 2];
  const inner = format.blockElements > 32 ? 256 : hidden;
  const isHot = form === 'hot' || form === 'hot joined';
  return {
    op: 'layer',
    name: `mixture of ${form ? `${form} ` : ''}experts ${format.name}, ${batch.rows} rows${isHot ? ', copies' : ''}`,
    batch,
    record: (g) => {
      const x = g.input('x', { axis: 'rows', width });
      const normed = rmsNorm(g, x, g.weight('norm', F32, 1, width), 1e-5);
      const logits = matmul(g, normed, g.weight('router', F32, count, width));
      const { expertIds, routingWeights } = routeExperts(g, logits, { ...RULE, topK });
      const product = (of: typeof x, name: string, outputs: number) => {
        const weight = g.weight(name, format, count * outputs, of === normed ? width : inner);
        const bias = form === 'biased' ? g.weight(`${name}.bias`, F32, count, outputs) : undefined;
        const hot = isHot ? hotOf(g, weight, { outputs, count }) : undefined;
        return matmulExperts(g, of, { expertIds, weight, outputs, bias, hot });
      };
      const halves = () => {
        const both = product(normed, 'gate_up', 2 * inner);
        const of = { segmentWidth: inner, stride: 2 * inner, width: topK * inner };
        return [0, inner].map((offset) => slice(g, both, { ...of, offset })) as [typeof x, typeof x];
      };
      const apart = () => [product(normed, 'gate', inner), product(normed, 'up', inner)] as const;
      const [gate, up] = form === 'joined' || form === 'hot joined' ? halves() : apart();
      const hiddenLayer = gated(g, form === 'biased' ? 'swiglu_oai' : 'silu', gate, up);
      return { y: add(g, x, combineExperts(g, product(hiddenLayer, 'down', width), routingWeights)) };
    },
    fill: { copied: copied(COPIES) },
    limit:
      format === F32
        ? { nmse: 1e-9, reason: 'three products one after the other' }
        : { nmse: 1e-3, reason: 'activations are quantized before each of two products' },
  };
}

const FORMATS = [F32, F16, Q8_0, Q4_0, Q4_K, Q6_K];

export const EXPERT_CASES: readonly OpCase[] = [
  routeCase('softmax', 8, {}),
  routeCase('softmax, as they are', 60, { topK: 4, normalized: false, scale: 2.5 }),
  routeCase('softmax', 128, { topK: 8 }),
  routeCase('sigmoid with biases', 16, { gate: 'sigmoid', topK: 4, scale: 1.5, biased: true }),
  routeCase('roots of softpluses with biases', 16, { gate: 'sqrt_softplus', topK: 4, biased: true }),
  routeCase('given ones', 40, { gate: 'sqrt_softplus', topK: 6, scale: 1.5, given: true }),
  routeCase('two of four groups', 32, {
    gate: 'sigmoid',
    topK: 6,
    groups: 4,
    topKGroups: 2,
    biased: true,
  }),
  routeCase('groups of one', 4, { topK: 2, groups: 4, topKGroups: 3 }),
  routeCase('all', 3, { topK: 3 }),
  routeCase('sigmoid with biases', 16, { gate: 'sigmoid', topK: 4, scale: 1.5, biased: true, counted: true }),
  ...FORMATS.flatMap((format) =>
    [1, 2, 33].map((rows) => expertCase({ format, columns: 256, outputs: 20, batch: plainBatch(rows) })),
  ),
  ...[MXFP4, IQ2_XS, IQ3_S].flatMap((format) =>
    [1, 9].map((rows) => expertCase({ format, columns: 256, outputs: 20, batch: plainBatch(rows) })),
  ),
  ...[F32, Q4_0].flatMap((format) =>
    [1, 33].map((rows) =>
      expertCase({ format, columns: 256, outputs: 20, batch: plainBatch(rows), parts: true }),
    ),
  ),
  expertCase({ format: F32, columns: 37, outputs: 4, batch: mixedBatch() }),
  expertCase({ format: F32, columns: 37, outputs: 4, batch: mixedBatch(), parts: true }),
  expertCase({ format: Q4_0, columns: 96, outputs: 68, batch: mixedBatch(), experts: 40 }),
  expertCase({ format: Q8_0, columns: 32, outputs: 4, batch: plainBatch(5), topK: 1, experts: 2 }),
  expertCase({ format: Q8_0, columns: 64, outputs: 36, batch: plainBatch(150), topK: 1, experts: 2 }),
  expertCase({ format: Q4_0, columns: 160, outputs: 132, batch: plainBatch(20) }),
  ...[F32, F16, MXFP4].flatMap((format) =>
    [1, 33].map((rows) =>
      expertCase({ format, columns: 96, outputs: 36, batch: plainBatch(rows), biased: true }),
    ),
  ),
  expertCase({ format: Q4_0, columns: 64, outputs: 68, batch: mixedBatch(), parts: true, biased: true }),
  scaleCase(96, 6, 2, mixedBatch()),
  scaleCase(33, 40, 8, plainBatch(1)),
  scaleCase(7, 1, 1, plainBatch(5)),
  combineCase(64, 2, mixedBatch()),
  combineCase(33, 8, plainBatch(1)),
  combineCase(7, 1, plainBatch(5)),
  ...[F32, Q4_0, Q4_K].flatMap((format) => [1, 3, 9].map((rows) => mixtureCase(format, plainBatch(rows)))),
  ...[F32, MXFP4].flatMap((format) => [1, 9].map((rows) => mixtureCase(format, plainBatch(rows), 'biased'))),
  ...[1, 9].map((rows) => mixtureCase(Q4_0, plainBatch(rows), 'joined')),
  ...[1, 33].map((rows) =>
    expertCase({ format: F16, columns: 256, outputs: 20, batch: plainBatch(rows), biased: true, hot: true }),
  ),
  expertCase({ format: Q4_K, columns: 256, outputs: 68, batch: mixedBatch(), experts: 40, hot: true }),
  ...(['hot', 'hot joined'] as const).flatMap((form) =>
    [1, 9].map((rows) => mixtureCase(Q4_K, plainBatch(rows), form)),
  ),
];

/** Of devices whose kernels reach one memory: they refuse copies of experts, and counts of their uses. */
export const REFUSE_COPIES: TestSelection = {
  reason: 'experts are in one memory',
  tests: [/, (?:copies|counted)/],
};
