import { fail } from '../../base/errors.ts';
import type { AdapterChoice, AdapterSet } from './adapter-set.ts';

/** The adapters that a request names. Throws `INVALID_ARGUMENT` for those that the model was not opened with. */
export function chooseAdapters(
  adapters: AdapterSet | undefined,
  wanted: ReadonlyMap<string, number> | undefined,
): AdapterChoice[] {
  if (adapters) return adapters.choose(wanted);
  if (!wanted || wanted.size === 0) return [];
  const [name] = wanted.keys();
  return fail('INVALID_ARGUMENT', {
    name: 'adapters',
    found: `${name}`,
    expected: 'none: none were loaded',
  });
}
