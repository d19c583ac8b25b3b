import { bindPositional } from './arguments.ts';
import type { Method } from './method.ts';
import { numberOf } from './values.ts';

const INT_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'bit_length',
    (self, args) => {
      bindPositional('bit_length', args, 0);
      const number = numberOf(self) as bigint;
      return number === 0n ? 0n : BigInt((number < 0n ? -number : number).toString(2).length);
    },
  ],
  [
    'conjugate',
    (self, args) => {
      bindPositional('conjugate', args, 0);
      return numberOf(self) as bigint;
    },
  ],
]);

const FLOAT_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'is_integer',
    (self, args) => {
      bindPositional('is_integer', args, 0);
      return Number.isInteger(self);
    },
  ],
]);

/** The methods of numbers, by type name. */
export const NUMBER_METHODS: Readonly<Record<string, ReadonlyMap<string, Method>>> = {
  bool: INT_METHODS,
  int: INT_METHODS,
  float: FLOAT_METHODS,
};
