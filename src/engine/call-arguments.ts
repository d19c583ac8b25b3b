import { fail } from '../base/errors.ts';
import {
  checkArguments,
  COUNT,
  describeValue,
  FINITE,
  IDS,
  mapOf,
  objectWith,
  SIGNAL,
  TEXT,
  type ValueKind,
} from '../base/option-values.ts';
import type { SequenceSnapshot } from '../runtime/sequence-snapshot.ts';

/** What the arguments of a model's methods are, by their names. */
const KINDS = {
  ids: IDS,
  from: COUNT,
  length: COUNT,
  slot: COUNT,
  snapshot: {
    expected: 'what saveState, saveSlot or readState has returned',
    is: (value: unknown): boolean => isSnapshot(value),
  },
  name: TEXT,
  location: TEXT,
  scale: FINITE,
  scales: mapOf(FINITE),
  signal: SIGNAL,
  tenant: TEXT,
  model: objectWith('an open model', 'stateShape'),
  source: objectWith('a ByteSource, such as FileSource', 'read'),
  sink: objectWith('a ByteSink, such as FileSink', 'write'),
} satisfies Readonly<Record<string, ValueKind>>;

type Arguments = { readonly [Name in keyof typeof KINDS]?: unknown };

/** Throws `INVALID_ARGUMENT` unless arguments are what their names say; those of `optional` may be missing. */
export function checkCallArguments(required: Arguments, optional: Arguments = {}): void {
  checkArguments<keyof typeof KINDS>(KINDS, required, optional);
}

function isSnapshot(value: unknown): boolean {
  const { ids, states, lineage } = value as Partial<SequenceSnapshot>;
  const isOurs = lineage === undefined || typeof lineage === 'string';
  return isOurs && IDS.is(ids) && Array.isArray(states) && states.every((of) => of instanceof Uint8Array);
}

/** Throws `INVALID_ARGUMENT` for what is no model that answers. */
export function checkModel(model: unknown): void {
  if (typeof (model as { readonly chat?: unknown } | undefined | null)?.chat === 'function') return;
  fail('INVALID_ARGUMENT', { name: 'model', found: describeValue(model), expected: 'an open model' });
}
