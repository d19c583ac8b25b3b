import type { Op, Tensor, Weight } from '../../../ops/index.ts';
import type { Operand } from './launch-plan.ts';
import type { Lowering } from './lowering.ts';
import { FLOAT_LAYOUT } from './weight-layout.ts';

/**
 * Operators that follow a result element by element, as C++: `text` is made of `value`, the element `n` of a row that stands
 * at `at` of the result, and of the operands.
 */
export class ElementChain {
  readonly ops: Op[] = [];
  readonly operands: { readonly name: string; readonly of: Tensor | Weight }[] = [];
  text: string;
  out: Tensor;

  /** `prefix` makes the operands' names differ from other chains'. */
  constructor(
    start: Tensor,
    readonly prefix: string,
  ) {
    this.text = 'value';
    this.out = start;
  }

  /** Takes an operator over the chain's result in, where `isThere` says its other operands are; else leaves all as it is. */
  take(op: Op, isThere: (tensor: Tensor) => boolean): boolean {
    const others = otherOperands(op, this.out);
    if (!others || !others.every((other) => other.kind === 'weight' || isThere(other))) return false;
    const [first, second] = others.map((other) => this.#name(other));
    switch (op.kind) {
      case 'unary':
        this.text = `${op.fn}_of(${this.text})`;
        break;
      case 'scale':
        this.text = `(${literal(op.factor)} * ${this.text})`;
        break;
      case 'add':
        this.text = `(${this.text} + ${first})`;
        break;
      case 'mul':
        this.text = `(${this.text} * ${first})`;
        break;
      case 'lerp':
        this.text = `mix(${first}, ${second}, ${this.text})`;
        break;
      default:
        return false;
    }
    this.ops.push(op);
    this.out = op.out;
    return true;
  }

  /** The operands as kernel arguments. */
  args(to: Lowering): Operand[] {
    return this.operands.map(({ of }) => (of.kind === 'weight' ? to.weight([of], FLOAT_LAYOUT) : of));
  }

  #name(of: Tensor | Weight): string {
    const name = `${this.prefix}${this.operands.length}`;
    this.operands.push({ name, of });
    return of.kind === 'tensor' ? `${name}[at]` : of.columns === 1 ? `${name}[0]` : `${name}[n]`;
  }
}

/** What an operator reads beside a tensor; undefined for one that is no function of the tensor's elements. */
function otherOperands(op: Op, x: Tensor): readonly (Tensor | Weight)[] | undefined {
  switch (op.kind) {
    case 'unary':
    case 'scale':
      return op.x === x ? [] : undefined;
    case 'add':
    case 'mul':
      if (op.a === op.b) return undefined;
      if (op.a === x) return [op.b];
      return op.b === x ? [op.a] : undefined;
    case 'lerp':
      return op.t === x && op.a !== x && op.b !== x ? [op.a, op.b] : undefined;
    default:
      return undefined;
  }
}

/** A number as its bits, so that nothing is lost in its digits. */
function literal(value: number): string {
  const [bits = 0] = new Uint32Array(Float32Array.of(value).buffer);
  return `bits_as<f32>(0x${bits.toString(16)}u)`;
}
