import type { WordLists } from '../regex/word-lists.ts';
import type { Language } from '../regex/language-kinds.ts';

/** More members than any text has. */
const UNLIMITED = 2 ** 30;
/** A state is a number of 31 bits: the next member, and how many there are so far. */
const MAX_MEMBERS = 30_000;

/** Members as the parser needs them: an item counts in `state` which of them may still come, and how many came, as far as it matters. */
export interface MemberTable {
  /** The list of their texts. */
  readonly list: number;
  readonly size: number;
  readonly hasOther: boolean;
  readonly min: number;
  readonly max: number;
  /** By index: the first required member from there, `size` for none, and how many are. */
  readonly nextRequired: Int32Array;
  readonly requiredFrom: Int32Array;
  /** The place before a member's text; after it come those before the separator, another member, and each value. */
  readonly place: number;
}

/** Offsets to the place of a member table. */
export const MemberPlace = { separator: 1, other: 2, values: 3 } as const;

/** How many members there are, how many of them have to be there, and how many may. */
export interface MemberCounts {
  readonly size: number;
  readonly required: number;
  readonly hasOther: boolean;
  readonly min: number;
  readonly max: number;
}

/** True where some members are within the counts. */
export function hasMembers({ size, required, hasOther, min, max }: MemberCounts): boolean {
  return max > 0 && required <= max && (hasOther || size >= Math.max(min, 1));
}

/** What a table is made of: which members have to be there, and the counts. */
type MembersOfTable = Pick<MemberTable, 'list' | 'place' | 'hasOther' | 'min' | 'max'> & {
  readonly isRequired: readonly boolean[];
};

/** Undefined for more members than a state can tell apart. */
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

/** The state after a member; `index` is that of a member that no text names, `size`. */
export function stateBehind(table: MemberTable, state: number, index: number): number {
  const { size, min, max } = table;
  const next = Math.min(index + 1, size);
  const counted = max < Infinity ? max : min;
  return next * (size + 1) + Math.min(counted, countIn(table, state) + 1);
}

/** The texts of the members that may come next. */
export function nextMembers(table: MemberTable, state: number, words: WordLists, never: Language): Language {
  const { low, high } = nextRange(table, state);
  return low > high ? never : words.between(table.list, low, high);
}

/** True where a member may come. */
export function goesOn(table: MemberTable, state: number): boolean {
  const { low, high } = nextRange(table, state);
  return low <= high || takesOther(table, state);
}

/** True where a member may come that is none of those with a text. */
export function takesOther(table: MemberTable, state: number): boolean {
  const { hasOther, max } = table;
  return hasOther && requiredIn(table, state) === 0 && countIn(table, state) < max;
}

/** True where no member has to come. */
export function isEnough(table: MemberTable, state: number): boolean {
  return requiredIn(table, state) === 0 && countIn(table, state) >= table.min;
}

function nextRange(table: MemberTable, state: number): { low: number; high: number } {
  const { size, min, max, hasOther, nextRequired } = table;
  const index = indexIn(table, state);
  const count = countIn(table, state);
  const required = nextRequired[index] as number;
  let high = Math.min(required, size - 1);
  // Those that are left must be enough.
  if (!hasOther) high = Math.min(high, size + count - min);
  // A member that need not come may take the room of one that must.
  const isTight = count + requiredIn(table, state) >= max;
  if (!isTight) return { low: index, high };
  return required < size ? { low: required, high } : { low: 0, high: -1 };
}

function requiredIn(table: MemberTable, state: number): number {
  return table.requiredFrom[indexIn(table, state)] as number;
}

/** Before the last member there are never more than `size`, so that after it the count may be as large as it will. */
function indexIn({ size }: MemberTable, state: number): number {
  return Math.min(size, Math.floor(state / (size + 1)));
}

function countIn(table: MemberTable, state: number): number {
  return state - indexIn(table, state) * (table.size + 1);
}
