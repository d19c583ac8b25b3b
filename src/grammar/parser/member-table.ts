import type { WordLists } from '../regex/word-lists.ts';
import type { Language } from '../regex/language-kinds.ts';

/** In place of an unlimited count; larger than any possible number of members. */
const UNLIMITED = 2 ** 30;
/** A state packs the next member and the number of members so far into 31 bits. */
const MAX_MEMBERS = 30_000;

/**
 * An object's members as the parser needs them: an item's `state` encodes which members are still possible and how many
 * there were, up to the count that matters.
 */
export interface MemberTable {
  /** The number of the word list of the members' names. */
  readonly list: number;
  readonly size: number;
  readonly hasOther: boolean;
  readonly min: number;
  readonly max: number;
  /** By index: the first required member from there on (`size` for none), and how many required members follow. */
  readonly nextRequired: Int32Array;
  readonly requiredFrom: Int32Array;
  /**
   * The place before a member's name; the places before the separator, before another member and before each value
   * follow it.
   */
  readonly place: number;
}

/** Offsets from a member table's place. */
export const MemberPlace = { separator: 1, other: 2, values: 3 } as const;

/** The number of listed members, how many are required, and the bounds on how many may occur. */
export interface MemberCounts {
  readonly size: number;
  readonly required: number;
  readonly hasOther: boolean;
  readonly min: number;
  readonly max: number;
}

/** True when some number of members satisfies the counts. */
export function hasMembers({ size, required, hasOther, min, max }: MemberCounts): boolean {
  return max > 0 && required <= max && (hasOther || size >= Math.max(min, 1));
}

/** The input of a member table: which members are required, and the counts. */
type MembersOfTable = Pick<MemberTable, 'list' | 'place' | 'hasOther' | 'min' | 'max'> & {
  readonly isRequired: readonly boolean[];
};

/** Returns undefined when there are more members than a state can represent. */
export function memberTable(of: MembersOfTable): MemberTable | undefined {
  const { isRequired, min, max, ...more } = of;
  const size = isRequired.length;
  if (size > MAX_MEMBERS || min >= UNLIMITED) return undefined;
  const nextRequired = new Int32Array(size + 1).fill(size);
  const requiredFrom = new Int32Array(size + 1);
  for (let at = size - 1; at >= 0; at--) {
    const isOne = isRequired[at] === true;
    nextRequired[at] = isOne ? at : (nextRequired[at + 1] as number);
    requiredFrom[at] = (requiredFrom[at + 1] as number) + (isOne ? 1 : 0);
  }
  const isAlways = !more.hasOther && max >= size;
  const most = isAlways || max >= UNLIMITED ? Infinity : max;
  const least = (requiredFrom[0] as number) >= min ? 0 : min;
  return { ...more, size, min: least, max: most, nextRequired, requiredFrom };
}

/** The state after a member; `index` is `size` for a member that is not listed. */
export function stateAfterMember(table: MemberTable, state: number, index: number): number {
  const { size, min, max } = table;
  const next = Math.min(index + 1, size);
  const counted = max < Infinity ? max : min;
  return next * (size + 1) + Math.min(counted, countIn(table, state) + 1);
}

/** The names of the listed members that may come next. */
export function nextMembers(table: MemberTable, state: number, words: WordLists, never: Language): Language {
  const { low, high } = nextRange(table, state);
  return low > high ? never : words.between(table.list, low, high);
}

/** True when a member may follow. */
export function canContinue(table: MemberTable, state: number): boolean {
  const { low, high } = nextRange(table, state);
  return low <= high || allowsOther(table, state);
}

/** True when a member that is not listed may follow. */
export function allowsOther(table: MemberTable, state: number): boolean {
  const { hasOther, max } = table;
  return hasOther && requiredIn(table, state) === 0 && countIn(table, state) < max;
}

/** True when no further member is required. */
export function canEnd(table: MemberTable, state: number): boolean {
  return requiredIn(table, state) === 0 && countIn(table, state) >= table.min;
}

function nextRange(table: MemberTable, state: number): { low: number; high: number } {
  const { size, min, max, hasOther, nextRequired } = table;
  const index = indexIn(table, state);
  const count = countIn(table, state);
  const required = nextRequired[index] as number;
  let high = Math.min(required, size - 1);
  // Enough members must remain to reach the minimum.
  if (!hasOther) high = Math.min(high, size + count - min);
  // An optional member must not take the place of a required one.
  const isTight = count + requiredIn(table, state) >= max;
  if (!isTight) return { low: index, high };
  return required < size ? { low: required, high } : { low: 0, high: -1 };
}

function requiredIn(table: MemberTable, state: number): number {
  return table.requiredFrom[indexIn(table, state)] as number;
}

/** Before the last member the count never exceeds `size`, so after it the count is unrestricted. */
function indexIn({ size }: MemberTable, state: number): number {
  return Math.min(size, Math.floor(state / (size + 1)));
}

function countIn(table: MemberTable, state: number): number {
  return state - indexIn(table, state) * (table.size + 1);
}
