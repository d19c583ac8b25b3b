import type { CollectiveOp, KvAppendOp, Op, State, Tensor, Weight } from '../../../ops/index.ts';
import type { BankAddress } from './command.ts';

/** Quantizes activations to 8 bits for the products that follow: `out` is records of `x`. */
export interface QuantizeOp {
  readonly kind: 'quantize';
  readonly x: Tensor;
  /** Groups of 32 columns that share a scale. */
  readonly span: number;
  readonly out: Tensor;
}

/** `cache[cell(slots[r], positions[r])] = x[r]`: one half of `kvAppend`. */
export interface CacheAppendOp extends Pick<KvAppendOp, 'batch'> {
  readonly kind: 'cacheAppend';
  readonly x: Tensor;
  readonly cache: State;
  readonly blockSize: number;
}

/** The operators that workers compute: all except `kvAppend`, which becomes two calls, and collectives, plus quantization. */
export type CpuOp = Exclude<Op, KvAppendOp | CollectiveOp> | QuantizeOp | CacheAppendOp;

/**
 * What a worker needs to know about a value, and its address in the task's bank (before binding: the number of its
 * operand).
 */
type PlacedValue<Known> = Readonly<Known> & { readonly at: number };
export type PlacedTensor = PlacedValue<Pick<Tensor, 'kind' | 'type' | 'axis' | 'width'>>;
export type PlacedState = PlacedValue<Pick<State, 'kind' | 'type' | 'rows' | 'width'>>;
/** A matrix may lie in another bank than the task's; other weights are brought there. */
export type PlacedWeight = PlacedValue<
  Pick<Weight, 'kind' | 'rows' | 'columns'> & { ggmlType: number; bank: number }
>;

/** An operator as plain data: the same fields, with each value's address. */
export type Placed<T> = T extends Tensor
  ? PlacedTensor
  : T extends State
    ? PlacedState
    : T extends Weight
      ? PlacedWeight
      : T extends object
        ? { readonly [Field in keyof T]: Placed<T[Field]> }
        : T;

/**
 * Copies rows of `columns` bytes from one bank into another, `rowUnit` of them together; memory without rows is one
 * row.
 */
export interface StageCall {
  readonly kind: 'stage';
  readonly columns: number;
  readonly source: BankAddress;
  readonly target: BankAddress;
  readonly rowUnit: number;
}

/** A kernel call as plain data. */
export type CallTable = Placed<CpuOp> | StageCall;

type Fields = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function isValue(value: Fields): boolean {
  return value.kind === 'tensor' || value.kind === 'state' || value.kind === 'weight';
}

/**
 * Maps every field of a description, including nested ones, with `change`; a field for which it returns undefined is
 * unchanged.
 */
function withFields(of: Fields, change: (field: Fields) => unknown): Fields {
  const entries = Object.entries(of).map(([name, field]) => [
    name,
    isRecord(field) && !Array.isArray(field) ? (change(field) ?? withFields(field, change)) : field,
  ]);
  return Object.fromEntries(entries) as Fields;
}

function placed(value: Tensor | State | Weight, at: number): PlacedTensor | PlacedState | PlacedWeight {
  switch (value.kind) {
    case 'tensor':
      return { kind: value.kind, type: value.type, axis: value.axis, width: value.width, at };
    case 'state':
      return { kind: value.kind, type: value.type, rows: value.rows, width: value.width, at };
    case 'weight': {
      const { kind, rows, columns, format } = value;
      return { kind, rows, columns, ggmlType: format.ggmlType, bank: 0, at };
    }
  }
}

/** The operator with an address for each value. */
export function placeValues<O extends CpuOp>(
  op: O,
  at: (value: Tensor | State | Weight) => number,
): Placed<O> {
  const place = (field: Fields) => {
    if (!isValue(field)) return undefined;
    const value = field as unknown as Tensor | State | Weight;
    return placed(value, at(value));
  };
  return withFields(op as unknown as Fields, place) as Placed<O>;
}

/** A call with the numbers of its operands replaced by their addresses. */
export function withAddresses(call: CallTable, address: (operand: number) => BankAddress): CallTable {
  if (call.kind === 'stage') return call;
  const exchange = (field: Fields) => {
    if (!isValue(field)) return undefined;
    const { bank, offset } = address(field.at as number);
    return { ...field, at: offset, ...(field.kind === 'weight' && { bank }) };
  };
  return withFields(call as unknown as Fields, exchange) as unknown as CallTable;
}
