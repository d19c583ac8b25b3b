import { z } from 'zod';
import { fail, isRocmforgeError } from '../../base/errors.ts';
import { actionEndpoint, deleteEndpoint, getEndpoint, invalid, json } from '../endpoint.ts';
import { readForm } from '../form-data.ts';
import { freshId, nowSeconds } from '../fresh-id.ts';
import { pathValue } from '../paths.ts';
import { readQuery } from '../query.ts';
import type { RequestContext } from '../request-context.ts';
import { pageOf, pageQuery } from '../storage/pages.ts';
import { fileObject, type FileRecord, storedFile } from './file-record.ts';

const MAX_FILENAME = 255;
/** Maximum files of a page, as in OpenAI's API. */
const MAX_LISTED = 10_000;

/** The fields of an upload besides the file. */
const uploadFields = z.object({
  purpose: z.enum(['assistants', 'batch', 'evals', 'fine-tune', 'user_data', 'vision']),
  'expires_after[anchor]': z.literal('created_at').optional(),
  'expires_after[seconds]': z.coerce.number().int().min(3600).max(2_592_000).optional(),
});

/** `POST /v1/files`: the content goes to the store while it arrives. */
export const uploadFileEndpoint = actionEndpoint({
  path: '/v1/files',
  summary: 'Stores a file, sent as multipart/form-data with file and purpose.',
  handle: upload,
});

async function upload(call: RequestContext): Promise<Response> {
  const { stored, request } = call;
  stored.requireRoomFor(Number(request.headers.get('content-length') ?? 0));
  const id = freshId('file-');
  let name = '';
  try {
    const fields = await readForm(request, async (filename, content) => {
      name = filename.slice(0, MAX_FILENAME);
      await stored.putContent('file', id, content);
    });
    const { data, error, success } = uploadFields.safeParse(Object.fromEntries(fields));
    if (!success) {
      const [issue] = error.issues;
      return invalid(issue?.path.map(String).join('.') ?? '', issue?.message ?? 'is not valid');
    }
    call.reportIgnored([...fields.keys()].filter((field) => !Object.hasOwn(uploadFields.shape, field)));
    const seconds = data['expires_after[seconds]'];
    const record: FileRecord = {
      id,
      created_at: nowSeconds(),
      expires_at: seconds === undefined ? null : nowSeconds() + seconds,
      filename: name,
      purpose: data.purpose,
    };
    await stored.put('file', id, record);
    return json(await fileObject(stored, record));
  } catch (error) {
    await stored.remove('file', id).catch(() => undefined);
    throw error;
  }
}

const filesQuery = pageQuery('desc', MAX_LISTED).extend({ purpose: z.string().optional() });

/** `GET /v1/files`. */
export const filesEndpoint = getEndpoint({
  path: '/v1/files',
  summary: 'Lists the stored files.',
  query: filesQuery,
  handle: async (call) => {
    const { stored } = call;
    const query = readQuery(call, filesQuery);
    const page = await pageOf(await stored.list('file'), query, async ({ id }) => {
      const record = await present(storedFile(stored, id));
      const isListed = record && (query.purpose === undefined || query.purpose === record.purpose);
      return isListed ? fileObject(stored, record) : undefined;
    });
    return json(page);
  },
});

/** `GET /v1/files/{file_id}`. */
export const fileEndpoint = getEndpoint({
  path: '/v1/files/{file_id}',
  summary: 'Describes a stored file.',
  handle: async (call) =>
    json(await fileObject(call.stored, await storedFile(call.stored, pathValue(call, 'file_id')))),
});

/** `GET /v1/files/{file_id}/content`. */
export const fileContentEndpoint = getEndpoint({
  path: '/v1/files/{file_id}/content',
  summary: 'Returns the content of a stored file.',
  handle: async (call) => {
    const { stored } = call;
    const { id } = await storedFile(stored, pathValue(call, 'file_id'));
    const headers = { 'content-type': 'application/octet-stream' };
    return new Response(streamOf(await stored.content('file', id)), { headers });
  },
});

/** `DELETE /v1/files/{file_id}`. */
export const deleteFileEndpoint = deleteEndpoint({
  path: '/v1/files/{file_id}',
  summary: 'Removes a stored file that no batch reads.',
  handle: async (call) => {
    const { id, usedBy } = await storedFile(call.stored, pathValue(call, 'file_id'));
    if (usedBy !== undefined && call.server.background.isRunning(usedBy)) {
      fail('STORED_IN_USE', { what: 'the file', id, state: `read by ${usedBy}` });
    }
    await call.stored.remove('file', id);
    return json({ id, object: 'file', deleted: true });
  },
});

/** Undefined for what is no longer stored. */
async function present<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isRocmforgeError(error, 'STORED_NOT_FOUND')) return undefined;
    throw error;
  }
}

/** Bytes as a stream that reads them when its client takes them. */
export function streamOf(content: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces = content[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return?.();
    },
  });
}
