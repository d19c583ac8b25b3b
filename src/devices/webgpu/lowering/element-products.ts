import type {
  ElementChainIntent,
  ElementProduct,
  ElementProductsIntent,
  ElementStep,
} from '../../../device/index.ts';
import type { Activation, Tensor, Weight } from '../../../ops/index.ts';
import { elementProductsTexts, type GroupProduct, LERP } from '../kernels/element-products.ts';
import { elementValueText } from '../kernels/elementwise.ts';
import { floatText } from '../kernels/library/float-text.ts';
import { activationText, FUNCTIONS } from '../kernels/library/functions.ts';
import { reduceText } from '../kernels/library/reduce.ts';
import { launchElementwise } from './elementwise.ts';
import { type Argument, type Operand, read, write } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { matrixOf } from './matrix.ts';
import { bucketOf } from './staging.ts';
import { denseType, FLOAT_LAYOUT } from './weight-layout.ts';

const THREADS = 256;
/** Threads that compute an output, and outputs per workgroup. */
const TEAM = 32;
const OUTPUTS = THREADS / TEAM;
/** Where fewer workgroups would leave multiprocessors without work, each takes fewer rows. */
const FEW_GROUPS = 128;
const FEW_ROWS = 2;
/** The buffer that combines all vectors of a launch. */
const VECTORS = 'vectors';

/** Independent products, in as few launches as their buffers allow. */
export function emitElementProducts({ products }: ElementProductsIntent, to: Lowering): void {
  const outputs = new Set(to.graph.outputs.map(({ tensor }) => tensor));
  const inner = products.map(({ out }) => out).filter((out) => !outputs.has(out));
  if (inner.length > 1) to.join(inner);
  let launch = new GroupLaunch(to);
  for (const product of products) {
    if (launch.take(product)) continue;
    launch.emit();
    launch = new GroupLaunch(to);
    launch.take(product);
  }
  launch.emit();
}

/** Products of one launch, and the buffers that they bind. */
class GroupLaunch {
  readonly #to: Lowering;
  #products: readonly ElementProduct[] = [];

  constructor(to: Lowering) {
    this.#to = to;
  }

  /** Adds a product, if all its buffers can be bound with the others'. */
  take(product: ElementProduct): boolean {
    const more = [...this.#products, product];
    const fits = new GroupBuffers(more, this.#to).count <= this.#to.target.storageBindings;
    if (!fits && this.#products.length > 0) return false;
    this.#products = more;
    return true;
  }

  emit(): void {
    const [first] = this.#products as readonly [ElementProduct];
    const to = this.#to;
    const capacity = to.capacity(first.op.x);
    const buffers = new GroupBuffers(this.#products, to);
    let end = 0;
    const placed = this.#products.map((product, p): GroupProduct => {
      const { x, weight } = product.op;
      end += Math.ceil(weight.rows / OUTPUTS);
      const { name, at } = buffers.place(x, 'read');
      return {
        ...{ weight: `weight_${p}`, input: name, inputAt: at / 4 },
        ...{ columns: weight.columns, outputs: weight.rows, end },
        store: storeText(product, buffers),
      };
    });
    const rows = bucketOf(capacity);
    const rowsAtOnce = end < FEW_GROUPS ? Math.min(rows, FEW_ROWS) : rows;
    const fns = new Set(
      this.#products.flatMap(({ steps }) => steps.flatMap(({ op }) => (op.kind === 'unary' ? [op.fn] : []))),
    );
    to.launch({
      name: 'element_products',
      texts: [
        ...elementProductsTexts(placed, denseType(first.op.weight)),
        reduceText(to.target, { team: TEAM, threads: THREADS }),
        ...(fns.size > 0 ? [FUNCTIONS] : []),
        ...[...fns].map((fn) => activationText(fn, nameOf(fn))),
      ],
      constants: {
        THREADS,
        COUNT: to.countOf(first.op.x),
        CAPACITY: capacity,
        ROWS: rows,
        ROWS_AT_ONCE: rowsAtOnce,
      },
      args: { counts: to.counts, ...buffers.args },
      grid: [end, rows / rowsAtOnce],
    });
  }
}

/** The buffers of a launch: weights, the memory that is read and written, and all vectors as one. */
class GroupBuffers {
  readonly #to: Lowering;
  readonly #products: readonly ElementProduct[];
  readonly #memories = { read: new Map<Operand, string>(), write: new Map<Operand, string>() };
  readonly #vectors: readonly Weight[];

  constructor(products: readonly ElementProduct[], to: Lowering) {
    this.#to = to;
    this.#products = products;
    const operands = products.flatMap(({ steps }) => steps.flatMap((step) => step.operands));
    const biases = products.flatMap(({ op }) => (op.bias ? [op.bias] : []));
    this.#vectors = [...new Set([...biases, ...operands.filter((operand) => operand.kind === 'weight')])];
    for (const { op, out } of products) {
      this.place(op.x, 'read');
      this.place(out, 'write');
    }
    for (const operand of operands) if (operand.kind === 'tensor') this.place(operand, 'read');
  }

  get count(): number {
    const { read: from, write: into } = this.#memories;
    return this.#products.length + from.size + into.size + (this.#vectors.length > 0 ? 1 : 0);
  }

  get args(): Readonly<Record<string, Argument>> {
    const { read: from, write: into } = this.#memories;
    const weights = this.#products.map(
      ({ op }, p) => [`weight_${p}`, weightOf(op.weight, this.#to)] as const,
    );
    return {
      ...Object.fromEntries(weights),
      ...Object.fromEntries([...from].map(([memory, name]) => [name, read(memory, 'array<vec4<f32>>')])),
      ...(this.#vectors.length > 0 ? { [VECTORS]: this.#to.vectors(this.#vectors, FLOAT_LAYOUT) } : {}),
      ...Object.fromEntries([...into].map(([memory, name]) => [name, write(memory)])),
    };
  }

  /** The parameter that contains a tensor, and the tensor's offset in elements. */
  place(tensor: Tensor, use: 'read' | 'write'): { readonly name: string; readonly at: number } {
    const { memory, offset } = this.#to.rowsOf(tensor);
    const known = this.#memories[use];
    const name = known.get(memory) ?? `${use === 'read' ? 'rows' : 'y'}_${known.size}`;
    known.set(memory, name);
    return { name, at: offset / 4 };
  }

  /** An operand's element for output `n` of a row, the element `at` of its product. */
  operandText(operand: Tensor | Weight, width: number): string {
    if (operand.kind === 'weight') {
      const before = this.#vectors.slice(0, this.#vectors.indexOf(operand));
      const start = before.reduce((sum, { rows, columns }) => sum + rows * columns, 0);
      if (operand.columns === 1) return `${VECTORS}[${start}u]`;
      const own = operand.columns === width ? 'n' : `n / ${width / operand.columns}u`;
      return `${VECTORS}[${start}u + ${own}]`;
    }
    const { name, at } = this.place(operand, 'read');
    const own = operand.width === width ? 'at' : `at / ${width / operand.width}u`;
    return `${name}[(${at}u + ${own}) / 4u][(${at}u + ${own}) % 4u]`;
  }
}

/** A weight of one chunk, in vectors. */
function weightOf(weight: Weight, to: Lowering): Argument {
  const matrix = matrixOf([weight], to);
  const [chunk] = matrix.weight.chunks;
  return matrix.argument(chunk as NonNullable<typeof chunk>);
}

function storeText({ op, steps, out }: ElementProduct, buffers: GroupBuffers): string {
  const sum = op.bias ? `(value + ${buffers.operandText(op.bias, out.width)})` : 'value';
  const value = steps.reduce(
    (text, step) => stepText(step, text, (operand) => buffers.operandText(operand, out.width)),
    sum,
  );
  const { name, at } = buffers.place(out, 'write');
  return `${name}[${at}u + at] = ${value};`;
}

function stepText(
  { op, operands }: ElementStep,
  value: string,
  textOf: (operand: Tensor | Weight) => string,
): string {
  const [first, second] = operands.map(textOf);
  switch (op.kind) {
    case 'unary':
      return `${nameOf(op.fn)}(${value})`;
    case 'clamp':
      return `clamp(${value}, ${floatText(op.low)}, ${floatText(op.high)})`;
    case 'scale':
      return `(${floatText(op.factor)} * ${value})`;
    case 'add':
      return `(${value} + ${first})`;
    case 'mul':
      return `(${value} * ${first})`;
    case 'lerp':
      return `lerp(${first}, ${second}, ${value})`;
  }
}

/** The name of an activation function in texts. */
function nameOf(fn: Activation): string {
  return `${fn}_of`;
}

/** One launch for the elementwise operators after a tensor. */
export function emitElementChain({ x, steps, out }: ElementChainIntent, to: Lowering): void {
  const operands = steps.flatMap((step) => step.operands);
  const textOf = (operand: Tensor | Weight) => {
    const name = `e${operands.indexOf(operand)}`;
    if (operand.kind === 'tensor') {
      return operand.width === out.width ? `${name}[at]` : `${name}[at / ${out.width / operand.width}u]`;
    }
    if (operand.columns === 1) return `${name}[0]`;
    const part = out.width / operand.columns;
    return part === 1 ? `${name}[at % WIDTH]` : `${name}[at % WIDTH / ${part}u]`;
  };
  const text = steps.reduce((value, step) => stepText(step, value, textOf), 'x[at]');
  const fns = new Set(steps.flatMap(({ op }) => (op.kind === 'unary' ? [op.fn] : [])));
  launchElementwise(to, 'element_chain', {
    texts: [
      ...(fns.size > 0 ? [FUNCTIONS] : []),
      ...[...fns].map((fn) => activationText(fn, nameOf(fn))),
      LERP,
      elementValueText(text),
    ],
    args: {
      x: read(x),
      ...Object.fromEntries(
        operands.map((operand, i) => [
          `e${i}`,
          operand.kind === 'weight' ? to.vector(operand, FLOAT_LAYOUT) : read(operand),
        ]),
      ),
    },
    out,
  });
}
