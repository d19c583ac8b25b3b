import { z } from 'zod';
import { fail, isRocmforgeError } from '../../base/errors.ts';
import { messagesEndpoint } from '../anthropic/messages.ts';
import {
  actionEndpoint,
  deleteEndpoint,
  type Endpoint,
  getEndpoint,
  invalid,
  json,
  postEndpoint,
} from '../endpoint.ts';
import { listOf } from '../fields/list-of.ts';
import { freshId } from '../fresh-id.ts';
import { streamOf } from '../openai/files.ts';
import { pathValue } from '../paths.ts';
import { readQuery } from '../query.ts';
import type { RequestContext } from '../request-context.ts';
import { type BatchPlace, type BatchPlan, runBatch, storedOf } from './batch-run.ts';
import type { InnerAnswer } from '../inner-request.ts';

const WINDOW_MS = 24 * 3600 * 1000;

/** A batch of Anthropic's API, as it is stored; times are in RFC 3339. */
interface MessageBatch {
  readonly id: string;
  readonly type: 'message_batch';
  readonly processing_status: 'in_progress' | 'canceling' | 'ended';
  readonly request_counts: Readonly<
    Record<'processing' | 'succeeded' | 'errored' | 'canceled' | 'expired', number>
  >;
  readonly created_at: string;
  readonly expires_at: string;
  readonly ended_at: string | null;
  readonly cancel_initiated_at: string | null;
  readonly archived_at: null;
}

const createBody = z.object({
  requests: listOf(
    z.object({
      custom_id: z.string().regex(/^[\w-]{1,64}$/, 'expected 1 to 64 letters, digits, _ and -'),
      params: z.record(z.string(), z.unknown()),
    }),
    { min: 1 },
  ),
});

const now = () => new Date().toISOString();

/** `POST /v1/messages/batches`. */
export const createMessageBatchEndpoint = postEndpoint({
  path: '/v1/messages/batches',
  summary: 'Runs requests of /v1/messages behind all other requests (Anthropic’s API).',
  dialect: 'anthropic',
  body: createBody,
  handle: async ({ requests }, call) => {
    const { server, caller, stored } = call;
    const ids = new Set(requests.map(({ custom_id: id }) => id));
    if (ids.size < requests.length) invalid('requests', 'a custom_id is there twice');
    const id = freshId('msgbatch_');
    const counts = { succeeded: 0, errored: 0, canceled: 0, expired: 0 };
    const batch: MessageBatch = {
      id,
      type: 'message_batch',
      processing_status: 'in_progress',
      request_counts: { processing: requests.length, ...counts },
      created_at: now(),
      expires_at: new Date(Date.now() + WINDOW_MS).toISOString(),
      ended_at: null,
      cancel_initiated_at: null,
      archived_at: null,
    };
    await stored.putContent('message_batch', id, lines(requests));
    await stored.put('batch_results', id, {});
    await stored.put('message_batch', id, batch);
    startMessageBatch({ server, caller }, id);
    return json(told(call, batch));
  },
});

async function* lines(requests: readonly object[]): AsyncGenerator<Uint8Array, void> {
  for (const request of requests) yield new TextEncoder().encode(`${JSON.stringify(request)}\n`);
}

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(20),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
});

/** `GET /v1/messages/batches`, the newest first. */
export const messageBatchesEndpoint = getEndpoint({
  path: '/v1/messages/batches',
  summary: 'Lists the batches of messages (Anthropic’s API).',
  dialect: 'anthropic',
  query: listQuery,
  handle: async (call) => {
    const { limit, after_id: after, before_id: before } = readQuery(call, listQuery);
    const items = (await call.stored.list('message_batch')).toReversed();
    const at = (id: string | undefined) => items.findIndex((item) => item.id === id);
    const rest = before === undefined ? items.slice(at(after) + 1) : items.slice(0, Math.max(0, at(before)));
    const page = before === undefined ? rest.slice(0, limit) : rest.slice(-limit);
    const found = await Promise.all(
      page.map(({ id }) => call.stored.find<MessageBatch>('message_batch', id)),
    );
    const data = found.flatMap((batch) => (batch ? [told(call, batch)] : []));
    const [first, last] = [page[0]?.id ?? null, page.at(-1)?.id ?? null];
    return json({ data, has_more: page.length < rest.length, first_id: first, last_id: last });
  },
});

/** `GET /v1/messages/batches/{batch_id}`. */
export const messageBatchEndpoint = getEndpoint({
  path: '/v1/messages/batches/{batch_id}',
  summary: 'Tells how far a batch of messages has come (Anthropic’s API).',
  dialect: 'anthropic',
  handle: async (call) => json(told(call, await batchOf(call))),
});

/** `GET /v1/messages/batches/{batch_id}/results`. */
export const messageBatchResultsEndpoint = getEndpoint({
  path: '/v1/messages/batches/{batch_id}/results',
  summary: 'Returns the results of a batch of messages, one a line (Anthropic’s API).',
  dialect: 'anthropic',
  handle: async (call) => {
    const { id, processing_status: state } = await batchOf(call);
    if (state !== 'ended') fail('STORED_IN_USE', { what: 'the batch', id, state });
    const headers = { 'content-type': 'application/x-jsonl' };
    return new Response(streamOf(await call.stored.content('batch_results', id)), { headers });
  },
});

/** `POST /v1/messages/batches/{batch_id}/cancel`. */
export const cancelMessageBatchEndpoint = actionEndpoint({
  path: '/v1/messages/batches/{batch_id}/cancel',
  summary: 'Cancels a batch of messages (Anthropic’s API).',
  dialect: 'anthropic',
  handle: async (call) => {
    const { server, caller, stored } = call;
    const id = pathValue(call, 'batch_id');
    const batch = await stored.update<MessageBatch>('message_batch', id, (record) =>
      record.processing_status === 'in_progress'
        ? { ...record, processing_status: 'canceling', cancel_initiated_at: now() }
        : record,
    );
    if (batch.processing_status === 'ended') return json(told(call, batch));
    if (!server.background.isRunning(id)) startMessageBatch({ server, caller }, id);
    void server.background.cancel(id);
    return json(told(call, batch));
  },
});

/** `DELETE /v1/messages/batches/{batch_id}`. */
export const deleteMessageBatchEndpoint = deleteEndpoint({
  path: '/v1/messages/batches/{batch_id}',
  summary: 'Removes a batch of messages that has ended (Anthropic’s API).',
  dialect: 'anthropic',
  handle: async (call) => {
    const { id, processing_status: state } = await batchOf(call);
    if (state !== 'ended') fail('STORED_IN_USE', { what: 'the batch', id, state });
    await call.stored.remove('message_batch', id);
    await call.stored.remove('batch_results', id).catch(() => undefined);
    return json({ id, type: 'message_batch_deleted' });
  },
});

/** Continues the batches that an earlier server has not finished, whose keys are still known. */
export async function resumeMessageBatches(
  server: BatchPlace['server'],
  callerOf: (owner: string) => Promise<BatchPlace['caller'] | undefined>,
): Promise<void> {
  for (const { owner, id } of await server.storage.listAll('message_batch')) {
    const caller = await callerOf(owner);
    if (!caller || server.background.isRunning(id)) continue;
    const batch = await storedOf({ server, caller }).find<MessageBatch>('message_batch', id);
    if (batch && batch.processing_status !== 'ended') startMessageBatch({ server, caller }, id);
  }
}

function batchOf(call: RequestContext): Promise<MessageBatch> {
  return call.stored.get<MessageBatch>('message_batch', pathValue(call, 'batch_id'));
}

/** A batch with the address of its results. */
function told({ request }: RequestContext, batch: MessageBatch): object {
  const { origin } = new URL(request.url);
  const address = `${origin}/v1/messages/batches/${batch.id}/results`;
  return { ...batch, results_url: batch.processing_status === 'ended' ? address : null };
}

function startMessageBatch(place: BatchPlace, id: string): void {
  const controller = new AbortController();
  const { background, logger } = place.server;
  background.start(id, controller, async () => {
    try {
      await advance(place, id, controller.signal);
    } catch (error) {
      // The next server continues it.
      logger.warn('batch failed', { batch: id, code: isRocmforgeError(error) ? error.code : 'INTERNAL' });
    }
  });
}

async function advance(place: BatchPlace, id: string, signal: AbortSignal): Promise<void> {
  const stored = storedOf(place);
  const batch = await stored.get<MessageBatch>('message_batch', id);
  using _input = stored.pin('message_batch', id);
  using _output = stored.pin('batch_results', id);
  let isCanceled = batch.processing_status === 'canceling';
  const onAbort = () => {
    // Whoever cancels says so in the record first; a server that stops does not.
    isCanceled ||= !place.server.isDraining();
  };
  signal.addEventListener('abort', onAbort);
  const end = await runBatch(place, new MessagesPlan(place, batch), { signal, isCanceled: () => isCanceled });
  signal.removeEventListener('abort', onAbort);
  if (end === 'stopped') return;
  await stored.update<MessageBatch>('message_batch', id, (record) => ({
    ...record,
    processing_status: 'ended',
    ended_at: now(),
  }));
}

/** A batch of messages, each of which has a result in the end. */
class MessagesPlan implements BatchPlan {
  readonly input;
  readonly outputs;
  readonly expiresAt: number;
  readonly #place: BatchPlace;
  readonly #id: string;

  constructor(place: BatchPlace, { id, expires_at }: MessageBatch) {
    this.#place = place;
    this.#id = id;
    this.input = { kind: 'message_batch', id } as const;
    this.outputs = [{ kind: 'batch_results', id } as const];
    this.expiresAt = Date.parse(expires_at) / 1000;
  }

  request({ params }: Readonly<Record<string, unknown>>): { endpoint: Endpoint; body: unknown } {
    return { endpoint: messagesEndpoint, body: params };
  }

  async write(customId: string, result: InnerAnswer | 'canceled' | 'expired'): Promise<void> {
    const type = typeof result === 'string' ? result : result.status < 400 ? 'succeeded' : 'errored';
    const part = type === 'succeeded' ? 'message' : 'error';
    const rest = typeof result === 'string' ? '' : `,"${part}":${result.body}`;
    const line = `{"custom_id":${JSON.stringify(customId)},"result":{"type":"${type}"${rest}}}\n`;
    const stored = storedOf(this.#place);
    await stored.append('batch_results', this.#id, new TextEncoder().encode(line));
    await stored.update<MessageBatch>('message_batch', this.#id, (record) => {
      const counts = record.request_counts;
      const request_counts = {
        ...counts,
        processing: Math.max(0, counts.processing - 1),
        [type]: counts[type] + 1,
      };
      return { ...record, request_counts };
    });
  }
}
