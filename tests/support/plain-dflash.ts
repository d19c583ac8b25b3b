/** A DFlash drafter of the tiny Llama in plain loops and doubles, independent of operators and graphs. */
import { DFLASH, dflashModel, type DflashOptions } from './dflash-model.ts';
import { PlainInputs, PlainTensors } from './plain-decoder.ts';
import { TINY, tinyModel } from './tiny-model.ts';

type Vector = readonly number[];

/** Keys and values of a position, by layer. */
interface Kept {
  readonly keys: Vector;
  readonly values: Vector;
}

/** The drafter of these options, behind the tiny Llama. */
export class PlainDflash {
  readonly #inputs: PlainInputs;
  readonly #kept: Kept[][] = [];

  private constructor(
    readonly of: DflashOptions,
    readonly model: PlainTensors,
    readonly drafter: PlainTensors,
  ) {
    this.#inputs = new PlainInputs(model, TINY, of.features);
  }

  static async open(of: DflashOptions): Promise<PlainDflash> {
    await using model = await tinyModel();
    await using drafter = await dflashModel(of);
    return new PlainDflash(of, await PlainTensors.of(model), await PlainTensors.of(drafter));
  }

  /** The logits of each mask behind the ids, by the model's ids; undefined for what is not in the drafter's vocabulary. */
  logits(ids: readonly number[], count: number): (number | undefined)[][] {
    const before = ids.length - 1;
    for (const [position, features] of this.#inputs.at(ids.slice(0, -1)).entries()) {
      this.#kept[position] ??= this.#keepAll(features, position);
    }
    const { embeddingScale } = DFLASH;
    const embedding = this.of.ids ? this.drafter : this.model;
    let rows = [ids[before] as number, ...Array.from({ length: count }, () => this.of.mask ?? 4)].map(
      (id) => {
        const row = embedding.row('token_embd', id, TINY.width);
        return this.of.extras ? row.map((value) => embeddingScale * value) : row;
      },
    );
    for (let layer = 0; layer < this.of.layers; layer++) rows = this.#layer(rows, { layer, before });
    return rows.slice(1).map((row) => this.#head(row));
  }

  /** The best of the allowed tokens in place of each mask. */
  drafts(ids: readonly number[], count: number, allowed: readonly number[]): number[] {
    if (count === 0) return [];
    return this.logits(ids, count).map((logits) => {
      const of = (id: number) => logits[id] ?? Number.NEGATIVE_INFINITY;
      return allowed.toSorted((a, b) => of(b) - of(a))[0] as number;
    });
  }

  #keepAll(features: Vector, position: number): Kept[] {
    const fused = this.drafter.norm('enc.output_norm', this.drafter.product('fc', features));
    return Array.from({ length: this.of.layers }, (_, layer) => this.#keep(fused, { layer, position }));
  }

  #keep(read: Vector, { layer, position }: { layer: number; position: number }): Kept {
    const keys = this.drafter.product(`blk.${layer}.attn_k`, read);
    const values = this.of.extras ? this.#unit(keys) : this.drafter.product(`blk.${layer}.attn_v`, read);
    return { keys: this.#place(keys, `blk.${layer}.attn_k_norm`, position), values };
  }

  /** Heads without a learned norm. */
  #unit(x: Vector): Vector {
    return this.#heads(x).flatMap((head) => {
      const scale = 1 / Math.sqrt(head.reduce((sum, value) => sum + value * value, 0) / head.length + 1e-5);
      return head.map((value) => value * scale);
    });
  }

  #heads(x: Vector): Vector[] {
    const { headSize } = this.of;
    return Array.from({ length: x.length / headSize }, (_, head) =>
      x.slice(head * headSize, (head + 1) * headSize),
    );
  }

  /** Norms heads and turns their halves. */
  #place(x: Vector, norm: string, position: number): Vector {
    const half = this.of.headSize / 2;
    const factors = this.drafter.get('rope_freqs');
    return this.#heads(x).flatMap((head) => {
      const normed = this.drafter.norm(norm, head);
      return normed.map((value, i) => {
        const pair = i % half;
        const angle = (position * DFLASH.base ** (-pair / half)) / (factors?.[pair] ?? 1);
        const other = normed[i < half ? i + half : i - half] as number;
        return value * Math.cos(angle) + (i < half ? -other : other) * Math.sin(angle);
      });
    });
  }

  #layer(rows: readonly Vector[], { layer, before }: { layer: number; before: number }): Vector[] {
    const prefix = `blk.${layer}.`;
    const reads = rows.map((x) => this.drafter.norm(`${prefix}attn_norm`, x));
    const kept = this.#kept.slice(0, before).map((of) => of[layer] as Kept);
    for (const [at, read] of reads.entries()) kept.push(this.#keep(read, { layer, position: before + at }));
    return rows.map((x, at) => {
      const query = this.drafter.product(`${prefix}attn_q`, reads[at] as Vector);
      const q = this.#place(query, `${prefix}attn_q_norm`, before + at);
      const mixed = this.drafter.product(
        `${prefix}attn_output`,
        this.#attend(q, kept, { layer, at: before + at }),
      );
      const after = add(x, this.#after(`${prefix}post_attention_norm`, mixed));
      const read = this.drafter.norm(`${prefix}ffn_norm`, after);
      const gate = this.drafter.product(`${prefix}ffn_gate`, read);
      const up = this.drafter.product(`${prefix}ffn_up`, read);
      const hidden = gate.map((value, i) => this.#activate(value) * (up[i] as number));
      const out = this.#after(`${prefix}post_ffw_norm`, this.drafter.product(`${prefix}ffn_down`, hidden));
      const scale = this.drafter.get(`${prefix}layer_output_scale`)?.[0] ?? 1;
      return add(after, out).map((value) => value * scale);
    });
  }

  #after(norm: string, x: Vector): Vector {
    return this.of.extras ? this.drafter.norm(norm, x) : x;
  }

  #activate(x: number): number {
    if (!this.of.extras) return x / (1 + Math.exp(-x));
    return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
  }

  #attend(q: Vector, kept: readonly Kept[], { layer, at }: { layer: number; at: number }): Vector {
    const { heads, kvHeads, window, causal } = this.of;
    const sinks = this.drafter.get(`blk.${layer}.attn_sinks`);
    const first = window !== undefined && layer % 2 === 0 ? Math.max(0, at - window + 1) : 0;
    const seen = kept.slice(first, causal ? at + 1 : kept.length);
    return this.#heads(q).flatMap((query, head) => {
      const kv = Math.floor((head * kvHeads) / heads);
      const [keys, values] = [
        seen.map((of) => this.#heads(of.keys)[kv]),
        seen.map((of) => this.#heads(of.values)[kv]),
      ];
      const scores = keys.map((key) => dot(query, key as Vector) / Math.sqrt(query.length));
      const sink = sinks ? [sinks[head] as number] : [];
      const most = Math.max(...scores, ...sink);
      const weights = scores.map((score) => Math.exp(score - most));
      const total = [...weights, ...sink.map((score) => Math.exp(score - most))].reduce((a, b) => a + b, 0);
      return query.map((_, i) =>
        weights.reduce((sum, weight, p) => sum + (weight / total) * (values[p]?.[i] as number), 0),
      );
    });
  }

  #head(x: Vector): (number | undefined)[] {
    const read = this.drafter.norm('output_norm', x);
    const { ids } = this.of;
    const own = ids ? this.drafter.product('output', read) : this.model.product('token_embd', read);
    const capped = this.of.extras
      ? own.map((value) => DFLASH.softCap * Math.tanh(value / DFLASH.softCap))
      : own;
    if (!ids) return [...capped];
    return Array.from({ length: TINY.vocabulary }, (_, id) => capped[ids.indexOf(id)]);
  }
}

function dot(a: Vector, b: Vector): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}

function add(a: Vector, b: Vector): Vector {
  return a.map((value, i) => value + (b[i] as number));
}
