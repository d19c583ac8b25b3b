import type { Caller } from '../api-keys.ts';
import { BATCH_PRIORITY } from '../background-work.ts';
import type { Endpoint } from '../endpoint.ts';
import { answerInner, type InnerAnswer } from '../inner-request.ts';
import type { ServerContext } from '../request-context.ts';
import { type ItemKind, OwnedStorage } from '../storage/owned-storage.ts';
import { Tenant } from '../tenant.ts';
import { type BatchLine, jsonLines } from './batch-lines.ts';

/** Who runs a batch, and where. */
export interface BatchPlace {
  readonly server: ServerContext;
  readonly caller: Caller;
}

/** A stored item. */
export interface ItemPlace {
  readonly kind: ItemKind;
  readonly id: string;
}

/** What a batch does with its lines. */
export interface BatchPlan {
  readonly input: ItemPlace;
  /** Where results are, each a line with its `custom_id`. */
  readonly outputs: readonly ItemPlace[];
  /** Seconds since 1970 after which no line begins. */
  readonly expiresAt: number;
  request(value: Readonly<Record<string, unknown>>): { readonly endpoint: Endpoint; readonly body: unknown };
  /** Writes the result of a line: an answer, or why there is none. */
  write(customId: string, result: InnerAnswer | 'canceled' | 'expired'): Promise<void>;
}

/** Why a run ended. */
export type BatchEnd = 'completed' | 'canceled' | 'expired' | 'stopped';

/**
 * Runs the lines of a batch that have no result, several at once, behind all other requests. `signal` cancels it; a server
 * that stops leaves it as it is, to be continued by the next.
 */
export async function runBatch(
  place: BatchPlace,
  plan: BatchPlan,
  { signal, isCanceled }: { readonly signal: AbortSignal; readonly isCanceled: () => boolean },
): Promise<BatchEnd> {
  const { server } = place;
  const stored = storedOf(place);
  const done = await server.background.inLane(() => finishedLines(stored, plan.outputs, server.maxBody));
  const lines = jsonLines(await stored.content(plan.input.kind, plan.input.id), server.maxBody);
  const isExpired = () => Date.now() / 1000 >= plan.expiresAt;
  const isStopped = () => !isCanceled() && (signal.aborted || server.isDraining());
  /** Carries out the next line; false if there is none. */
  const next = async (): Promise<boolean> => {
    if (isStopped()) return false;
    const { done: isOver, value: line } = await lines.next();
    if (isOver) return false;
    const customId = String(line.value?.custom_id);
    if (done.has(customId)) return true;
    if (isCanceled() || isExpired()) {
      await plan.write(customId, isCanceled() ? 'canceled' : 'expired');
      return true;
    }
    const answer = await runLine(place, line, { plan, signal });
    if (isStopped() && answer.status >= 400) return false;
    await plan.write(customId, isCanceled() && answer.status >= 400 ? 'canceled' : answer);
    return true;
  };
  const work = async () => {
    while (await server.background.inLane(next));
  };
  await Promise.all(Array.from({ length: server.gate.parallel }, work));
  await lines.return();
  if (isStopped()) return 'stopped';
  if (isCanceled()) return 'canceled';
  return isExpired() ? 'expired' : 'completed';
}

/** The storage of a batch's owner. */
export function storedOf({ server, caller }: BatchPlace): OwnedStorage {
  return new OwnedStorage(server.storage, caller.owner);
}

async function runLine(
  { server, caller }: BatchPlace,
  line: BatchLine,
  { plan, signal }: { plan: BatchPlan; signal: AbortSignal },
): Promise<InnerAnswer> {
  const { endpoint, body } = plan.request(line.value ?? {});
  const timeLimit = Math.max(1, plan.expiresAt - Date.now() / 1000);
  // Its own limits: a batch takes none of the places of its key's other requests.
  const own = { ...caller, tenant: new Tenant(caller.tenant.name) };
  const terms = { priority: BATCH_PRIORITY, timeLimit };
  return answerInner(server, { endpoint, body, caller: own, terms }, signal);
}

/** The `custom_id`s that have a result. What the end of a process cut off in the middle of a line is removed. */
async function finishedLines(
  stored: OwnedStorage,
  outputs: readonly ItemPlace[],
  maxBody: number,
): Promise<Set<string>> {
  const done = new Set<string>();
  for (const { kind, id } of outputs) {
    if ((await stored.contentBytes(kind, id)) === 0) continue;
    let isCut = false;
    for await (const { value, problem } of jsonLines(await stored.content(kind, id), 2 * maxBody)) {
      if (problem === undefined) done.add(String(value?.custom_id));
      else isCut = true;
    }
    if (isCut) await stored.putContent(kind, id, wholeLines(await stored.content(kind, id), 2 * maxBody));
  }
  return done;
}

async function* wholeLines(
  content: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void> {
  for await (const { value } of jsonLines(content, maxBytes)) {
    if (value) yield new TextEncoder().encode(`${JSON.stringify(value)}\n`);
  }
}
