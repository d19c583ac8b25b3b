import { fail, invariant } from '../../../base/errors.ts';
import { type Lifespan, planLifespans } from '../../../device/index.ts';
import {
  capacityOf,
  type OpGraph,
  type State,
  stateBytes,
  type Tensor,
  tensorBytes,
  type Weight,
} from '../../../ops/index.ts';
import type { GpuTarget } from '../gpu-target.ts';
import type { Access, Constant, KernelModule } from '../launching/kernel-module.ts';
import type { LaunchTemplate, PlacedArgument } from './launch-template.ts';
import type { LoweredProgram } from './lowered-program.ts';
import type { WebGpuWeight, WeightChunk } from './webgpu-weight.ts';
import type { WeightLayout } from './weight-layout.ts';

/** Scratch of the lowering's own, alive from the first launch that names it to the last. */
export interface Temporary {
  readonly kind: 'temporary';
  readonly byteLength: number;
}

/** A chunk of a packed weight. */
export interface ChunkOperand {
  readonly kind: 'chunk';
  readonly weight: WebGpuWeight;
  readonly chunk: WeightChunk;
}

/** Memory as operators name it. */
export type Operand = Tensor | State | Temporary | ChunkOperand;

/** An argument: the memory, its WGSL type, and what the kernel does to it. */
export interface Argument {
  readonly operand: Operand;
  readonly type: string;
  readonly access: Access;
}

/** A launch before its scratch has a place. `args` are by the names that the texts give them. */
export interface LaunchPlan {
  readonly name: string;
  readonly texts: readonly string[];
  readonly constants?: Readonly<Record<string, Constant>>;
  readonly args: Readonly<Record<string, Argument>>;
  readonly grid: readonly [number, number?, number?];
}

/** Memory that a kernel leaves as it is. */
export function read(operand: Operand, type = 'array<f32>'): Argument {
  return { operand, type, access: 'read' };
}

/** Memory that a kernel writes. */
export function write(operand: Operand, type = 'array<f32>'): Argument {
  return { operand, type, access: 'write' };
}

/** Collects the launches of a graph, the weights they want and the scratch they share. */
export class Lowering {
  readonly #launches: { readonly plan: LaunchPlan; readonly module: KernelModule }[] = [];
  readonly #weights = new Map<string, WebGpuWeight>();
  readonly #outputs: ReadonlySet<Tensor>;

  constructor(
    readonly graph: OpGraph,
    readonly target: GpuTarget,
  ) {
    this.#outputs = new Set(graph.outputs.map(({ tensor }) => tensor));
  }

  /** Rows that a tensor has room for. */
  capacity(tensor: Tensor): number {
    return capacityOf(tensor.axis, this.graph.shape);
  }

  /** Which of the counts says how many rows of the tensor are in use, for the constant `COUNT`. */
  countOf(tensor: Tensor): number {
    const { axis } = tensor;
    if (axis === 'rows') return 0;
    if (axis === 'outputs') return 1;
    return fail('OP_UNSUPPORTED', {
      device: 'webgpu',
      op: tensor.name,
      why: `its rows run over ${axis}`,
    });
  }

  /** How many rows are in use: `counts[COUNT]` in the texts. */
  get counts(): Argument {
    return { operand: this.graph.batch.counts, type: 'vec2<i32>', access: 'uniform' };
  }

  /** An index tensor with a value a row, four to a vector: `x[i / 4][i % 4]` in the texts. */
  index(tensor: Tensor): Argument {
    const vectors = Math.ceil(tensorBytes(tensor, this.graph.shape) / 16);
    const large = 16 * vectors > this.target.uniformBytes;
    if (large || tensor.role === 'temp') return read(tensor, 'array<vec4<i32>>');
    return { operand: tensor, type: `array<vec4<i32>, ${vectors}>`, access: 'uniform' };
  }

  temporary(byteLength: number): Temporary {
    return { kind: 'temporary', byteLength };
  }

  /** The weights laid out together; naming the same ones in one layout twice gives the same value. */
  weight(parts: readonly Weight[], layout: WeightLayout): WebGpuWeight {
    const key = [layout.name, ...parts.map(({ id }) => id)].join(' ');
    const known = this.#weights.get(key);
    if (known) return known;
    const weight = layout.of(parts, this.target);
    this.#weights.set(key, weight);
    return weight;
  }

  /** A weight of one chunk, as an argument. */
  vector(weight: Weight, layout: WeightLayout): Argument {
    const laidOut = this.weight([weight], layout);
    const [chunk] = laidOut.chunks;
    invariant(chunk && laidOut.chunks.length === 1, 'a vector fits a binding');
    return read({ kind: 'chunk', weight: laidOut, chunk });
  }

  launch(plan: LaunchPlan): void {
    const { name, texts, constants = {} } = plan;
    const parameters = Object.entries(plan.args).map(([parameter, { type, access }]) => ({
      name: parameter,
      type,
      access,
    }));
    const storage = parameters.filter(({ access }) => access !== 'uniform').length;
    invariant(storage <= this.target.storageBindings, `${name} binds ${storage} buffers`);
    this.#launches.push({ plan, module: { name, texts, constants, parameters } });
  }

  finish(): LoweredProgram {
    const spans = this.#lifespans();
    const { offsets, byteLength } = planLifespans([...spans.values()]);
    const places = new Map([...spans.keys()].map((value, i) => [value, offsets[i] as number]));
    return {
      weights: [...this.#weights.values()],
      scratchBytes: byteLength,
      templates: this.#launches.map(({ plan, module }): LaunchTemplate => {
        const [x, y = 1, z = 1] = plan.grid;
        const args = Object.values(plan.args).map(({ operand }) => this.#placed(operand, places));
        return { module, grid: [x, y, z], args };
      }),
    };
  }

  #lifespans(): Map<Tensor | Temporary, Lifespan> {
    const spans = new Map<Tensor | Temporary, { byteLength: number; first: number; last: number }>();
    this.#launches.forEach(({ plan }, index) => {
      for (const { operand } of Object.values(plan.args)) {
        if (!this.#isScratch(operand)) continue;
        const span = spans.get(operand);
        if (span) span.last = index;
        else spans.set(operand, { byteLength: this.#bytesOf(operand), first: index, last: index });
      }
    });
    return spans;
  }

  #isScratch(operand: Operand): operand is Tensor | Temporary {
    if (operand.kind === 'temporary') return true;
    return operand.kind === 'tensor' && operand.role === 'temp' && !this.#outputs.has(operand);
  }

  #bytesOf(operand: Operand): number {
    if (operand.kind === 'tensor') return tensorBytes(operand, this.graph.shape);
    if (operand.kind === 'state') return stateBytes(operand);
    return operand.kind === 'chunk' ? operand.chunk.byteLength : operand.byteLength;
  }

  #placed(operand: Operand, places: ReadonlyMap<Tensor | Temporary, number>): PlacedArgument {
    const byteLength = this.#bytesOf(operand);
    if (byteLength > this.target.bindingBytes) {
      const name = operand.kind === 'tensor' || operand.kind === 'state' ? operand.name : 'scratch';
      const why = `${byteLength} bytes are more than the ${this.target.bindingBytes} of a binding`;
      fail('OP_UNSUPPORTED', { device: 'webgpu', op: name, why });
    }
    if (this.#isScratch(operand)) {
      const offset = places.get(operand);
      invariant(offset !== undefined, 'scratch has a place');
      return { of: 'scratch', offset, byteLength };
    }
    if (operand.kind === 'chunk') return { of: operand.weight, offset: operand.chunk.offset, byteLength };
    return { of: operand, offset: 0, byteLength };
  }
}
