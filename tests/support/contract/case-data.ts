import { asBytes } from '../../../src/base/bytes.ts';
import { matrixOver } from '../../../src/devices/reference/matrix.ts';
import {
  GraphBuilder,
  type OpGraph,
  type State,
  stateBytes,
  type Tensor,
  tensorBytes,
  type Weight,
  weightRowBytes,
} from '../../../src/ops/index.ts';
import { seededRandom } from '../random.ts';
import { poison } from './guarded-buffer.ts';
import type { Elements, OpCase } from './op-case.ts';
import type { RaggedBatch } from './ragged-batch.ts';

/** A case's graph and the bytes of everything bound to it. */
export interface CaseData {
  readonly graph: OpGraph;
  readonly inputs: ReadonlyMap<Tensor, Uint8Array>;
  readonly states: ReadonlyMap<State, Uint8Array>;
  readonly weights: ReadonlyMap<Weight, Uint8Array>;
}

/** The rows of a tensor that a batch uses. */
export function rowsInUse(tensor: Tensor, batch: RaggedBatch): number {
  if (tensor.axis === 'rows') return batch.rows;
  if (tensor.axis === 'outputs') return batch.outputs;
  return tensor.axis === 'slots' ? batch.shape.slots : 1;
}

/** A normally distributed number (Box & Muller 1958). */
export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function fillNormal(elements: Elements, random: () => number): void {
  for (let i = 0; i < elements.length; i++) elements[i] = normal(random);
}

const INPUT_MARK = 0x3c;

/** Records the case and generates its contents, the same each time. What the batch does not use is poisoned. */
export function caseData(of: OpCase): CaseData {
  const { dequantized } = of;
  const graph = new GraphBuilder(`${of.op} ${of.name}`, of.batch.shape, dequantized && { dequantized });
  for (const [name, tensor] of Object.entries(of.record(graph))) graph.output(name, tensor, of.unusedRows);
  const finished = graph.finish();
  const random = seededRandom(0x5eed + of.name.length);
  const indices = indexElements(finished, of.batch);
  return {
    graph: finished,
    inputs: new Map(finished.inputs.map((t) => [t, inputBytes(t, of, indices.get(t) ?? random)])),
    states: new Map(finished.states.map((state) => [state, stateContents(state, of, random)])),
    weights: new Map(finished.weights.map((weight) => [weight, weightContents(weight, of, random)])),
  };
}

function indexElements({ batch }: OpGraph, of: RaggedBatch): Map<Tensor, readonly number[]> {
  return new Map<Tensor, readonly number[]>([
    [batch.counts, [of.rows, of.outputs]],
    [batch.ids, of.ids],
    [batch.positions, of.positions],
    [batch.slots, of.slots],
    [batch.slotRows, slotRowsOf(of)],
    [batch.outputRows, of.outputRows],
    [batch.blocks, of.blocks.flat()],
  ]);
}

/** The first row of each slot, and the one behind its last. */
function slotRowsOf({ shape, slots }: RaggedBatch): readonly number[] {
  return Array.from({ length: shape.slots }, (_, slot) =>
    slots.includes(slot) ? [slots.indexOf(slot), slots.lastIndexOf(slot) + 1] : [0, 0],
  ).flat();
}

function inputBytes(tensor: Tensor, of: OpCase, source: readonly number[] | (() => number)): Uint8Array {
  const bytes = poison(new Uint8Array(tensorBytes(tensor, of.batch.shape)), INPUT_MARK);
  const used = new Float32Array(rowsInUse(tensor, of.batch) * tensor.width);
  const elements = tensor.type === 'i32' ? new Int32Array(used.buffer) : used;
  const custom = of.fill?.[tensor.name];
  if (typeof source !== 'function') elements.set(source);
  else if (custom) custom(elements, source);
  else fillNormal(elements, source);
  bytes.set(asBytes(elements));
  return bytes;
}

function stateContents(state: State, of: OpCase, random: () => number): Uint8Array {
  const count = state.rows * state.width;
  const elements = state.type === 'i32' ? new Int32Array(count) : new Float32Array(count);
  (of.fill?.[state.name] ?? fillNormal)(elements, random);
  const bytes = new Uint8Array(stateBytes(state));
  const stored = matrixOver(bytes, state);
  for (let row = 0; row < state.rows; row++) {
    stored.write(row, elements.subarray(row * state.width, (row + 1) * state.width));
  }
  return bytes;
}

function weightContents(weight: Weight, of: OpCase, random: () => number): Uint8Array {
  const { format, rows, columns } = weight;
  const bytes = new Uint8Array(rows * weightRowBytes(weight));
  const custom = of.fill?.[weight.name];
  if (custom && format.encode) {
    const elements = new Float32Array(rows * columns);
    custom(elements, random);
    format.encode(elements, 0, bytes, 0, elements.length / format.blockElements);
  } else format.fillRandom(bytes, random, of.deviation?.(weight) ?? 1);
  return bytes;
}
