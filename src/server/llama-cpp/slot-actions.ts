import { z } from 'zod';
import { fail } from '../../base/errors.ts';
import { readState, writeState } from '../../engine/state-file.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { ANYBODY } from '../api-keys.ts';
import { invalid, json, postEndpoint } from '../endpoint.ts';
import { modelField } from '../generation/sampling-fields.ts';
import type { RequestContext } from '../request-context.ts';
import type { StateFiles } from '../state-files.ts';

/** A plain file name on every system: no folders, nothing hidden, no trailing dot or space. */
const FILE_NAME = /^[\w-](?:[\w .-]{0,126}[\w-])?$/;

const body = z.object({
  model: modelField,
  filename: z
    .string()
    .regex(FILE_NAME, 'expected letters, digits, _, -, and dots or spaces between them')
    .nullish()
    .describe('The name of the file, in the folder of --slot-save-path.'),
});

/** `POST /slots/{id}?action=save|restore|erase`, as in llama.cpp's server. */
export const slotActionEndpoint = postEndpoint({
  path: '/slots/{id}',
  summary: 'Saves the state of a slot (?action=save), restores it (restore) or erases it (erase).',
  body,
  handle: act,
});

async function act(
  { model: name, filename }: z.output<typeof body>,
  call: RequestContext,
): Promise<Response> {
  const { pathname, searchParams } = new URL(call.request.url);
  const { pool, states } = call.server;
  const slot = Number(pathname.slice('/slots/'.length));
  const action = searchParams.get('action');
  if (action !== 'save' && action !== 'restore' && action !== 'erase') {
    invalid('action', 'expected save, restore or erase, in the address');
  }
  if (action === 'erase') {
    using lease = await pool.acquire(name ?? undefined, call.signal);
    return json({
      id_slot: slot,
      n_erased: await lease.model.eraseSlot(slot, call.signal, call.tenant.name),
    });
  }
  if (!states) fail('FEATURE_DISABLED', { what: 'saving slots', option: '--slot-save-path' });
  if (typeof filename !== 'string') invalid('filename', 'is required');
  // Each key has files of its own, whatever their names.
  const { owner } = call.caller;
  const file = owner === ANYBODY ? filename : `${owner}/${filename}`;
  using lease = await pool.acquire(name ?? undefined, call.signal);
  const does = action === 'save' ? save : restore;
  return json({ id_slot: slot, filename, ...(await does(lease.model, { slot, file, states, call })) });
}

interface SlotFile {
  readonly slot: number;
  /** The name of the file in `states`. */
  readonly file: string;
  readonly states: StateFiles;
  readonly call: RequestContext;
}

async function save(model: TextModel, { slot, file, states, call }: SlotFile): Promise<object> {
  const begin = performance.now();
  const snapshot = await model.saveSlot(slot, call.signal, call.tenant.name);
  const n_written = await states.write(file, (sink) => writeState(model, snapshot, sink));
  return { n_saved: snapshot.ids.length, n_written, timings: { save_ms: performance.now() - begin } };
}

async function restore(model: TextModel, { slot, file, states, call }: SlotFile): Promise<object> {
  const begin = performance.now();
  await using source = await states.open(file);
  const snapshot = await readState(model, source, call.signal);
  await model.restoreState(snapshot, slot, call.tenant.name);
  const timings = { restore_ms: performance.now() - begin };
  return { n_restored: snapshot.ids.length, n_read: source.size, timings };
}
