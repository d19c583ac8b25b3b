import assert from 'node:assert/strict';
import type { GgufFile, TensorInfo } from '../../src/gguf/index.ts';
import type { LanguageModel, TappedValue, TapHandler, Taps } from '../../src/index.ts';
import { architectureOf } from '../../src/model/architecture.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { ConfigReader } from '../../src/model/config-reader.ts';
import { type ModelPart, recordModel } from '../../src/model/model-graphs.ts';
import { type ChoosePositionsOp, chooseRow, type OpGraph, RowRouter } from '../../src/ops/index.ts';
import { valueNames } from '../../src/plan/taps/value-names.ts';

/** How close to each other two scores are that roundings may order either way. */
export const NEAR_TIE = 1e-4;

/** A choice that a router or an indexer made at a position between two that were almost equal, and the other one. */
export interface NearTie {
  /** The value that holds the scores: `blk.2.ffn_gate_inp`, `blk.0.indexScores`. */
  readonly name: string;
  readonly position: number;
  /** The places of what was chosen and of what would be with another rounding, among the row's scores. */
  readonly chosen: number;
  readonly other: number;
}

/** How many near ties are tried for a position: where many scores are equal, such as the zeros of a ReLU, there are too many. */
const TRIES = 40;

/** The scores of a choice, and what is chosen by a row of them. */
interface Choice {
  readonly name: string;
  /** Whether the scores are compared as they are, without gates and biases: then only close ones can be near ties. */
  readonly isPlain: boolean;
  choose(scores: Float32Array, position: number): readonly number[];
}

type Tensors = ReadonlyMap<string, TensorInfo>;

/** The difference of a row of logits from what is expected at its position. */
type Difference = (logits: Float32Array, position: number) => number;

/**
 * Decides near ties of a model's routers and indexers as a reference did. Where two scores are within `NEAR_TIE`, roundings
 * decide which expert or position is chosen, and all that follows depends on it; the reference's choice is the one with which the
 * logits of the position become the reference's.
 */
export class NearTies {
  readonly #choices: readonly Choice[];
  /** Those decided otherwise than the device did. */
  readonly forced: NearTie[] = [];
  #seen: NearTie[] = [];
  #tries = 0;

  private constructor(choices: readonly Choice[]) {
    this.#choices = choices;
  }

  /** For the model of a file with weights in f32. */
  static async of(file: GgufFile): Promise<NearTies> {
    const architecture = architectureOf(file.metadata, ALL_ARCHITECTURES);
    const config = architecture.configure(
      new ConfigReader(file.metadata, file.metadata.requireString('general.architecture')),
    );
    const tensors = new Map(file.tensors.map((tensor) => [tensor.name, tensor]));
    const shape = { rows: 1, outputs: 1, slots: 1, blocksPerSlot: 1 };
    const { layers } = recordModel(config, tensors, {
      ...{ shape, groups: config.state.map((group) => ({ ...group, blocks: 1 })) },
      ...{ cacheType: 'f32', context: 32, tokens: 1, alternatives: 0 },
    });
    const choices = await Promise.all(layers.map((layer) => choicesOf(layer, tensors)));
    return new NearTies(choices.flat());
  }

  /** What a model is opened with, whose texts start at position 0 and are evaluated in one step. */
  get taps(): Taps {
    const handlerOf =
      (choice: Choice): TapHandler =>
      (value) =>
        this.#decide(choice, value);
    return new Map(this.#choices.map((choice) => [choice.name, handlerOf(choice)]));
  }

  /**
   * Evaluates `ids` until no row differs by `limit` or more, forcing one near tie after the other, and returns the largest
   * difference that is left.
   */
  async settle(
    model: LanguageModel,
    ids: readonly number[],
    of: { readonly limit: number; readonly difference: Difference },
  ): Promise<number> {
    this.forced.length = 0;
    for (;;) {
      const differences = await this.#differences(model, ids, of.difference);
      const position = differences.findIndex((difference) => !(difference < of.limit));
      if (position === -1) return Math.max(...differences);
      this.#tries = TRIES;
      const isSettled = async () =>
        ((await this.#differences(model, ids, of.difference))[position] as number) < of.limit;
      if (!(await this.#force(position, isSettled, 2))) return Math.max(...differences);
    }
  }

  /** Forces up to `most` near ties of a position until it is settled; otherwise none. */
  async #force(position: number, isSettled: () => Promise<boolean>, most: number): Promise<boolean> {
    // A tie is decided once.
    const isOpen = ({ name, chosen, other }: NearTie) =>
      !this.forced.some((tie) => {
        const isPair =
          (tie.chosen === chosen && tie.other === other) || (tie.chosen === other && tie.other === chosen);
        return isPair && tie.name === name && tie.position === position;
      });
    const candidates = this.#seen.filter((tie) => tie.position === position && isOpen(tie));
    for (const tie of candidates) {
      if (this.#tries-- <= 0) return false;
      this.forced.push(tie);
      if (await isSettled()) return true;
      if (most > 1 && (await this.#force(position, isSettled, most - 1))) return true;
      this.forced.pop();
    }
    return false;
  }

  async #differences(model: LanguageModel, ids: readonly number[], of: Difference): Promise<number[]> {
    this.#seen = [];
    const found: number[] = [];
    for await (const { logits, position } of model.evaluate(ids)) found.push(of(logits, position));
    return found;
  }

  /** Forces a value's decided ties, and notes those that are left. */
  #decide(choice: Choice, { rows, width, values }: TappedValue): Float32Array {
    const decided = values.slice();
    for (let position = 0; position < rows; position++) {
      const row = decided.subarray(position * width, (position + 1) * width);
      for (const tie of this.forced) {
        if (tie.name === choice.name && tie.position === position) row.set(swayed(row, tie));
      }
      this.#seen.push(...tiesOf(choice, row, position));
    }
    return decided;
  }
}

/** The pairs of a row whose order a change within `NEAR_TIE` turns, so that the other one is chosen. */
function tiesOf(choice: Choice, row: Float32Array, position: number): NearTie[] {
  const chosen = new Set(choice.choose(row, position));
  const ties: NearTie[] = [];
  for (const one of chosen) {
    const score = row[one] as number;
    for (let other = 0; other < row.length; other++) {
      if (
        chosen.has(other) ||
        (choice.isPlain && Math.abs(score - (row[other] as number)) > 2 * leeway(score))
      )
        continue;
      const tie = { name: choice.name, position, chosen: one, other };
      const turned = choice.choose(swayed(row, tie), position);
      if (turned.includes(other) && !turned.includes(one)) ties.push(tie);
    }
  }
  return ties;
}

/** What roundings may change of a score. */
function leeway(score: number): number {
  return NEAR_TIE * Math.max(1, Math.abs(score));
}

/** The row with the scores of a tie moved apart, in favour of the other one. */
function swayed(row: Float32Array, { chosen, other }: NearTie): Float32Array {
  const moved = row.slice();
  const by = leeway(row[chosen] as number);
  moved[chosen] = (row[chosen] as number) - by;
  moved[other] = (row[other] as number) + by;
  return moved;
}

/** The routers and indexers of a layer. */
async function choicesOf({ graph, prefix }: ModelPart, tensors: Tensors): Promise<Choice[]> {
  const names = new Map(Array.from(valueNames(graph), ([name, tensor]) => [tensor, prefix + name]));
  const choices: Choice[] = [];
  for (const op of graph.ops) {
    if (op.kind === 'routeExperts' && !op.chosen) {
      const bias = op.bias && (await valuesOf(tensors, prefix + op.bias.name));
      const router = new RowRouter(op, op.logits.width);
      const choose = (scores: Float32Array) => {
        router.route(scores, { bias });
        return Array.from(router.expertIds);
      };
      choices.push({ name: names.get(op.logits) ?? '', isPlain: false, choose });
    }
    if (op.kind === 'choosePositions')
      choices.push({ name: names.get(op.scores) ?? '', isPlain: true, choose: chooserOf(op, graph) });
  }
  return choices;
}

/** What an indexer chooses of a row's scores, which are in one line for each group. */
function chooserOf(op: ChoosePositionsOp, { ops }: OpGraph): Choice['choose'] {
  // A cell is seen with the last of its positions.
  const places = ops.find((of) => of.kind === 'cellPlaces' && of.last === op.batch.positions);
  const ratio = places?.kind === 'cellPlaces' ? places.ratio : 1;
  return (scores, position) => {
    const line = scores.length / op.groups;
    return Array.from({ length: op.groups }, (_, group) => {
      const from = group * line;
      return chooseRow(scores.subarray(from, from + Math.floor((position + 1) / ratio)), op).map(
        (place) => from + place,
      );
    }).flat();
  };
}

async function valuesOf(tensors: Tensors, name: string): Promise<Float32Array> {
  const tensor = tensors.get(name);
  assert.ok(tensor, `${name} is in the file`);
  const bytes = new Uint8Array(tensor.byteLength);
  await tensor.source.read(tensor.offset, bytes);
  return new Float32Array(bytes.buffer);
}
