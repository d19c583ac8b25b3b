import { z } from 'zod';
import { fail, isRocmforgeError } from '../../base/errors.ts';
import { actionEndpoint, type Endpoint, getEndpoint, invalid, json, postEndpoint } from '../endpoint.ts';
import { freshId, nowSeconds } from '../fresh-id.ts';
import { chatEndpoint } from '../openai/chat.ts';
import { completionsEndpoint } from '../openai/completions.ts';
import { embeddingsEndpoint } from '../openai/embeddings.ts';
import { type FileRecord, storedFile } from '../openai/file-record.ts';
import { responsesEndpoint } from '../openai/responses.ts';
import { metadataField } from '../openai/responses-schema.ts';
import { pathValue } from '../paths.ts';
import { readQuery } from '../query.ts';
import { pageOf, pageQuery } from '../storage/pages.ts';
import { type BatchLine, jsonLines } from './batch-lines.ts';
import { type BatchPlace, type BatchPlan, runBatch, storedOf } from './batch-run.ts';
import type { InnerAnswer } from '../inner-request.ts';

/** Maximum lines of a batch, characters of a `custom_id`, and errors of lines that are listed, as in OpenAI's API. */
const MAX_LINES = 50_000;
const MAX_CUSTOM_ID = 512;
const MAX_ERRORS = 100;
const WINDOW_SECONDS = 24 * 3600;

const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map(
  [chatEndpoint, completionsEndpoint, embeddingsEndpoint, responsesEndpoint].map((endpoint) => [
    endpoint.path,
    endpoint,
  ]),
);

type Status =
  | 'validating'
  | 'failed'
  | 'in_progress'
  | 'finalizing'
  | 'completed'
  | 'expired'
  | 'cancelling'
  | 'cancelled';

/** A batch of OpenAI's API. */
interface Batch {
  readonly id: string;
  readonly object: 'batch';
  readonly endpoint: string;
  readonly input_file_id: string;
  readonly completion_window: '24h';
  readonly status: Status;
  readonly created_at: number;
  readonly expires_at: number;
  readonly errors: { readonly object: 'list'; readonly data: readonly object[] } | null;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
  readonly metadata: object | null;
  /** When it reached a status, in seconds since 1970: `completed_at` and others. */
  readonly [time: `${string}_at`]: number | null;
}

/** A stored batch, with the files that its results go to. */
interface BatchRecord {
  readonly batch: Batch;
  readonly outputId: string;
  readonly errorId: string;
}

const createBody = z.object({
  input_file_id: z.string(),
  endpoint: z.enum([...ENDPOINTS.keys()] as [string, ...string[]]),
  completion_window: z.literal('24h'),
  metadata: metadataField,
});

/** `POST /v1/batches`. */
export const createBatchEndpoint = postEndpoint({
  path: '/v1/batches',
  summary: 'Runs the requests of a file, one a line, behind all other requests.',
  body: createBody,
  handle: async ({ input_file_id, endpoint, completion_window, metadata }, { server, caller, stored }) => {
    const file = await storedFile(stored, input_file_id);
    if (file.purpose !== 'batch') invalid('input_file_id', 'the purpose of the file is not batch');
    const created_at = nowSeconds();
    const batch: Batch = {
      id: freshId('batch_'),
      object: 'batch',
      ...{ endpoint, input_file_id, completion_window, created_at },
      status: 'validating',
      expires_at: created_at + WINDOW_SECONDS,
      errors: null,
      output_file_id: null,
      error_file_id: null,
      request_counts: { total: 0, completed: 0, failed: 0 },
      metadata: metadata ?? null,
    };
    const record = { batch, outputId: freshId('file-'), errorId: freshId('file-') };
    await stored.put('batch', batch.id, record);
    await stored.put('file', file.id, { ...file, usedBy: batch.id });
    startBatch({ server, caller }, batch.id);
    return json(batch);
  },
});

const batchesQuery = pageQuery('desc');

/** `GET /v1/batches`. */
export const batchesEndpoint = getEndpoint({
  path: '/v1/batches',
  summary: 'Lists the batches.',
  query: batchesQuery,
  handle: async (call) => {
    const { stored } = call;
    const read = async ({ id }: { id: string }) => (await stored.find<BatchRecord>('batch', id))?.batch;
    return json(await pageOf(await stored.list('batch'), readQuery(call, batchesQuery), read));
  },
});

/** `GET /v1/batches/{batch_id}`. */
export const batchEndpoint = getEndpoint({
  path: '/v1/batches/{batch_id}',
  summary: 'Tells how far a batch has come.',
  handle: async (call) =>
    json((await call.stored.get<BatchRecord>('batch', pathValue(call, 'batch_id'))).batch),
});

/** `POST /v1/batches/{batch_id}/cancel`. */
export const cancelBatchEndpoint = actionEndpoint({
  path: '/v1/batches/{batch_id}/cancel',
  summary: 'Cancels a batch; the results so far stay.',
  handle: async (call) => {
    const id = pathValue(call, 'batch_id');
    const { batch } = await call.stored.update<BatchRecord>('batch', id, (record) => {
      const { status } = record.batch;
      if (status === 'cancelling' || status === 'cancelled') return record;
      if (status !== 'validating' && status !== 'in_progress') {
        fail('STORED_IN_USE', { what: 'the batch', id, state: status });
      }
      return { ...record, batch: { ...record.batch, status: 'cancelling', cancelling_at: nowSeconds() } };
    });
    if (!call.server.background.isRunning(id)) startBatch({ server: call.server, caller: call.caller }, id);
    void call.server.background.cancel(id);
    return json(batch);
  },
});

/** Continues the batches that an earlier server has not finished, whose keys are still known. */
export async function resumeBatches(
  server: BatchPlace['server'],
  callerOf: (owner: string) => Promise<BatchPlace['caller'] | undefined>,
): Promise<void> {
  for (const { owner, id } of await server.storage.listAll('batch')) {
    const caller = await callerOf(owner);
    if (!caller || server.background.isRunning(id)) continue;
    const record = await storedOf({ server, caller }).find<BatchRecord>('batch', id);
    const { status = 'completed' } = record?.batch ?? {};
    if (['validating', 'in_progress', 'cancelling', 'finalizing'].includes(status)) {
      startBatch({ server, caller }, id);
    }
  }
}

function startBatch(place: BatchPlace, id: string): void {
  const controller = new AbortController();
  place.server.background.start(id, controller, async () => {
    try {
      await advance(place, id, controller.signal);
    } catch (error) {
      const { code, message } = isRocmforgeError(error) ? error : { code: 'INTERNAL', message: 'it failed' };
      place.server.logger.warn('batch failed', { batch: id, code });
      const errors = { object: 'list', data: [{ code, message, line: null, param: null }] } as const;
      await changed(place, id, (batch) => ended(batch, 'failed', { errors })).catch(() => undefined);
    }
  });
}

/** Takes a batch from where it stands to its end. */
async function advance(place: BatchPlace, id: string, signal: AbortSignal): Promise<void> {
  const stored = storedOf(place);
  const { batch, outputId, errorId } = await stored.get<BatchRecord>('batch', id);
  using _input = stored.pin('file', batch.input_file_id);
  let { status } = batch;
  if (status === 'validating')
    ({ status } = await place.server.background.inLane(() => validated(place, batch)));
  if (status === 'failed') return;
  let isCanceled = status === 'cancelling';
  const onAbort = () => {
    // Whoever cancels says so in the record first; a server that stops does not.
    isCanceled ||= !place.server.isDraining();
  };
  signal.addEventListener('abort', onAbort);
  const plan = new FileBatch(place, batch, { outputId, errorId });
  const end = await runBatch(place, plan, { signal, isCanceled: () => isCanceled });
  signal.removeEventListener('abort', onAbort);
  if (end === 'stopped') return;
  const last = ({ completed: 'completed', canceled: 'cancelled', expired: 'expired' } as const)[end];
  const bytes = await Promise.all([outputId, errorId].map((of) => stored.contentBytes('file', of)));
  await changed(place, id, (now) =>
    ended(now, last, {
      output_file_id: bytes[0] ? outputId : null,
      error_file_id: bytes[1] ? errorId : null,
    }),
  );
}

function ended(batch: Batch, status: Status, more: Partial<Batch>): Batch {
  return { ...batch, status, [`${status}_at`]: nowSeconds(), ...more };
}

async function changed(place: BatchPlace, id: string, change: (batch: Batch) => Batch): Promise<Batch> {
  const { batch } = await storedOf(place).update<BatchRecord>('batch', id, (record) => ({
    ...record,
    batch: change(record.batch),
  }));
  return batch;
}

/** Checks all lines before the first runs. */
async function validated(place: BatchPlace, { id, endpoint, input_file_id: input }: Batch): Promise<Batch> {
  const content = await storedOf(place).content('file', input);
  const seen = new Set<string>();
  const problems: object[] = [];
  for await (const line of jsonLines(content, place.server.maxBody)) {
    const problem = problemOf(line, endpoint, seen);
    if (problem) problems.push({ code: 'invalid_request', line: line.number, param: null, message: problem });
    if (problems.length === MAX_ERRORS || seen.size > MAX_LINES) break;
  }
  const tooMany = seen.size > MAX_LINES ? `the file has more than ${MAX_LINES} lines` : undefined;
  const message = tooMany ?? (seen.size === 0 && problems.length === 0 ? 'the file is empty' : undefined);
  if (message) problems.push({ code: 'invalid_request', line: null, param: null, message });
  return changed(place, id, (batch) => {
    const request_counts = { ...batch.request_counts, total: seen.size };
    if (batch.status !== 'validating') return { ...batch, request_counts };
    if (problems.length > 0) return ended(batch, 'failed', { errors: { object: 'list', data: problems } });
    return { ...batch, status: 'in_progress', in_progress_at: nowSeconds(), request_counts };
  });
}

function problemOf({ value, problem }: BatchLine, endpoint: string, seen: Set<string>): string | undefined {
  if (!value) return problem;
  const { custom_id: id, method, url, body } = value;
  if (typeof id !== 'string' || id === '' || id.length > MAX_CUSTOM_ID) {
    return `custom_id: expected a text of 1 to ${MAX_CUSTOM_ID} characters`;
  }
  if (seen.has(id)) return `custom_id: ${id} was there before`;
  seen.add(id);
  if (method !== 'POST') return 'method: expected POST';
  if (url !== endpoint) return `url: expected ${endpoint}, the endpoint of the batch`;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'body: expected an object';
  return undefined;
}

/** A batch whose results go to two files: answers, and errors. */
class FileBatch implements BatchPlan {
  readonly input;
  readonly outputs;
  readonly expiresAt: number;
  readonly #place: BatchPlace;
  readonly #batch: Batch;
  readonly #outputId: string;
  readonly #errorId: string;
  /** Settles when all earlier results are written. */
  #written: Promise<unknown> = Promise.resolve();

  constructor(place: BatchPlace, batch: Batch, { outputId, errorId }: Omit<BatchRecord, 'batch'>) {
    this.#place = place;
    this.#batch = batch;
    this.#outputId = outputId;
    this.#errorId = errorId;
    this.input = { kind: 'file', id: batch.input_file_id } as const;
    this.outputs = [outputId, errorId].map((id) => ({ kind: 'file', id }) as const);
    this.expiresAt = batch.expires_at;
  }

  request({ body }: Readonly<Record<string, unknown>>): { endpoint: Endpoint; body: unknown } {
    return { endpoint: ENDPOINTS.get(this.#batch.endpoint) ?? invalid('endpoint', 'is not known'), body };
  }

  write(customId: string, result: InnerAnswer | 'canceled' | 'expired'): Promise<void> {
    const turn = this.#written.then(() => this.#write(customId, result));
    this.#written = turn.catch(() => undefined);
    return turn;
  }

  async #write(customId: string, result: InnerAnswer | 'canceled' | 'expired'): Promise<void> {
    // What was not run has no line, but in the file of errors where its time was over.
    if (result === 'canceled') return;
    const head = `"id":${JSON.stringify(freshId('batch_req_'))},"custom_id":${JSON.stringify(customId)}`;
    const isAnswer = result !== 'expired' && result.status < 400;
    if (result === 'expired') {
      const error = { code: 'batch_expired', message: 'the batch ended before this request began' };
      await this.#append(this.#errorId, `{${head},"response":null,"error":${JSON.stringify(error)}}\n`);
    } else {
      const { status, requestId, body } = result;
      const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${body}}`;
      const id = isAnswer ? this.#outputId : this.#errorId;
      await this.#append(id, `{${head},"response":${response},"error":null}\n`);
    }
    await changed(this.#place, this.#batch.id, (batch) => {
      const { total, completed, failed } = batch.request_counts;
      const request_counts = isAnswer
        ? { total, completed: completed + 1, failed }
        : { total, completed, failed: failed + 1 };
      return { ...batch, request_counts };
    });
  }

  async #append(id: string, line: string): Promise<void> {
    const stored = storedOf(this.#place);
    const isOutput = id === this.#outputId;
    if ((await stored.find('file', id)) === undefined) {
      const file: FileRecord = {
        id,
        created_at: nowSeconds(),
        expires_at: null,
        filename: `${this.#batch.id}_${isOutput ? 'output' : 'error'}.jsonl`,
        purpose: 'batch_output',
        usedBy: this.#batch.id,
      };
      await stored.put('file', id, file);
    }
    await stored.append('file', id, new TextEncoder().encode(line));
  }
}
