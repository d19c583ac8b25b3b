import { raise } from './jinja-error.ts';
import type { BinaryOperator } from './nodes.ts';
import { MAX_BITS } from './number-text.ts';
import { percentFormat } from './percent-format.ts';
import { escaped, Str, StrBuilder } from './str.ts';
import { type Context, List, numberOf, Tuple, typeName, Undefined, type Value } from './values.ts';

type Numeric = bigint | number;

/** Applies a binary operator as Python does. */
export function binary(operator: BinaryOperator, a: Value, b: Value, context: Context): Value {
  if (operator === '%' && a instanceof Str) return percentFormat(a, b, context);
  for (const value of [a, b]) if (value instanceof Undefined) value.fail();
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return arithmetic(operator, left, right);
  if (operator === '+') return added(a, b, context);
  if (operator === '*') {
    const [sequence, count] = left === undefined ? [a, right] : [b, left];
    if (typeof count === 'bigint') return repeated(sequence, count, operator, context);
  }
  return unsupported(operator, a, b);
}

function unsupported(operator: string, a: Value, b: Value): never {
  const name = operator === '**' ? '** or pow()' : operator;
  return raise(`unsupported operand type(s) for ${name}: '${typeName(a)}' and '${typeName(b)}'`);
}

function added(a: Value, b: Value, context: Context): Value {
  if (a instanceof Str && b instanceof Str) return joined(a, b, context);
  if (a instanceof Str) raise(`can only concatenate str (not "${typeName(b)}") to str`);
  if (a instanceof List && b instanceof List) return new List(both(a.items, b.items, context));
  if (a instanceof Tuple && b instanceof Tuple) return new Tuple(both(a.items, b.items, context));
  if (a instanceof List) raise(`can only concatenate list (not "${typeName(b)}") to list`);
  return unsupported('+', a, b);
}

/** `a + b`; if one is `Markup`, the other is escaped. */
function joined(a: Str, b: Str, context: Context): Str {
  const safe = a.safe || b.safe;
  const [left, right] = safe ? [escaped(a, context.budget), escaped(b, context.budget)] : [a, b];
  return new StrBuilder(context.budget).add(left).add(right).done(safe);
}

function both(a: readonly Value[], b: readonly Value[], context: Context): Value[] {
  context.budget.spend(a.length + b.length);
  return [...a, ...b];
}

function repeated(sequence: Value, count: bigint, operator: string, context: Context): Value {
  const times = count < 0n ? 0 : Number(count);
  if (sequence instanceof Str) {
    context.budget.checkLength(sequence.text.length * times);
    const builder = new StrBuilder(context.budget);
    if (sequence.text !== '') for (let i = 0; i < times; i++) builder.add(sequence);
    return builder.done(sequence.safe);
  }
  if (!(sequence instanceof List) && !(sequence instanceof Tuple))
    return unsupported(operator, sequence, count);
  context.budget.spend(sequence.items.length * times);
  const items: Value[] = [];
  if (sequence.items.length > 0) for (let i = 0; i < times; i++) items.push(...sequence.items);
  return sequence instanceof List ? new List(items) : new Tuple(items);
}

function arithmetic(operator: BinaryOperator, a: Numeric, b: Numeric): Numeric {
  if (typeof a === 'bigint' && typeof b === 'bigint' && operator !== '/') {
    return operator === '**' ? powerOfInts(a, b) : ofInts(operator, a, b);
  }
  return ofFloats(operator, Number(a), Number(b));
}

function ofInts(operator: Exclude<BinaryOperator, '/' | '**'>, a: bigint, b: bigint): bigint {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      if (bits(a) + bits(b) > MAX_BITS) raise(`an int of more than ${MAX_BITS} bits`);
      return a * b;
    case '//':
      return floorDivided(a, b);
    case '%':
      return a - floorDivided(a, b) * b;
  }
}

function floorDivided(a: bigint, b: bigint): bigint {
  if (b === 0n) raise('integer division or modulo by zero');
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

function powerOfInts(a: bigint, b: bigint): Numeric {
  if (b < 0n) {
    if (a === 0n) raise('0.0 cannot be raised to a negative power');
    return Number(a) ** Number(b);
  }
  if (a !== 0n && a !== 1n && a !== -1n && Number(b) * bits(a) > MAX_BITS) {
    raise(`an int of more than ${MAX_BITS} bits`);
  }
  return a ** b;
}

function bits(value: bigint): number {
  return (value < 0n ? -value : value).toString(16).length * 4;
}

function ofFloats(operator: BinaryOperator, a: number, b: number): number {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      if (b === 0) raise('division by zero');
      return a / b;
    case '//':
      if (b === 0) raise('float floor division by zero');
      return floorDividedFloats(a, b);
    case '%':
      if (b === 0) raise('float modulo');
      return remainder(a, b);
    case '**':
      return floatPower(a, b);
  }
}

/**
 * Subtracts the remainder before dividing: the rounded quotient may be an integer although the exact one is slightly
 * less.
 */
function floorDividedFloats(a: number, b: number): number {
  const rest = remainder(a, b);
  const quotient = (a - rest) / b;
  if (quotient === 0) return a / b < 0 || Object.is(a / b, -0) ? -0 : 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

/** It has the sign of the divisor. */
function remainder(a: number, b: number): number {
  const rest = a % b;
  if (rest === 0) return b < 0 ? -0 : 0;
  return rest < 0 !== b < 0 ? rest + b : rest;
}

function floatPower(a: number, b: number): number {
  if (a === 0 && b < 0) raise('0.0 cannot be raised to a negative power');
  const power = a ** b;
  if (!Number.isFinite(power) && Number.isFinite(a) && Number.isFinite(b)) {
    raise("(34, 'Numerical result out of range')");
  }
  if (a < 0 && !Number.isInteger(b)) raise('complex numbers are not supported');
  return power;
}

/** `-value` or `+value`. */
export function signed(operator: '-' | '+', value: Value): Value {
  if (value instanceof Undefined) value.fail();
  const number = numberOf(value);
  if (number === undefined) raise(`bad operand type for unary ${operator}: '${typeName(value)}'`);
  return operator === '-' ? -number : number;
}
