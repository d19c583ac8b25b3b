import { z } from 'zod';
import { fail } from '../../base/errors.ts';
import { type Endpoint, invalid, json, postEndpoint } from '../endpoint.ts';
import type { ModelFiles } from '../model-files.ts';
import type { RequestContext } from '../request-context.ts';
import { modelName } from './ollama-fields.ts';

/** A model under either of its names in Ollama's API. */
const named = z.object({
  model: z.string().nullish().describe('A name of /api/tags.'),
  name: z.string().nullish().describe("The older name of the field 'model'."),
});

type Named = z.output<typeof named>;

const streamed = named.extend({ stream: z.boolean().nullish().describe('Line by line. Default true.') });

/** `POST /api/pull`: a model that is there already is ready; nothing is downloaded. */
export const ollamaPullEndpoint = postEndpoint({
  path: '/api/pull',
  summary: 'Says that a model is there, in the format of Ollama; others are not downloaded.',
  dialect: 'ollama',
  body: streamed.extend({ insecure: z.boolean().nullish() }),
  handle: async (request, { server: { pool } }) => {
    const id = nameOf(request);
    await pool.refresh();
    if (!pool.list().some((status) => status.id === id)) {
      const why = 'models are not downloaded: put the file into the folder of --models';
      fail('OPERATION_UNSUPPORTED', { what: `pull ${id.slice(0, 200)}`, why });
    }
    if (request.stream === false) return json({ status: 'success' });
    const lines = ['pulling manifest', 'success'].map((status) => `${JSON.stringify({ status })}\n`);
    return new Response(lines.join(''), { headers: { 'content-type': 'application/x-ndjson' } });
  },
});

/** `POST /api/copy`. */
export const ollamaCopyEndpoint = postEndpoint({
  path: '/api/copy',
  summary: 'Makes a model available under another name, in the format of Ollama.',
  dialect: 'ollama',
  body: z.object({ source: z.string(), destination: z.string() }),
  handle: async ({ source, destination }, { server }) => {
    await filesOf(server, 'copying models').copy(modelName(source), modelName(destination));
    await server.pool.refresh();
    return new Response(null, { status: 200 });
  },
});

/** `DELETE /api/delete`. */
export const ollamaDeleteEndpoint: Endpoint = {
  ...postEndpoint({
    path: '/api/delete',
    summary: 'Unloads a model and deletes its files, in the format of Ollama.',
    dialect: 'ollama',
    body: named,
    handle: async (request, { server }) => {
      const files = filesOf(server, 'deleting models');
      const id = nameOf(request);
      await server.pool.unload(id);
      await files.remove(id);
      await server.pool.refresh();
      return new Response(null, { status: 200 });
    },
  }),
  method: 'DELETE',
};

/** `POST /api/create`, which is refused. */
export const ollamaCreateEndpoint = postEndpoint({
  path: '/api/create',
  summary: 'Refused: models are GGUF files.',
  dialect: 'ollama',
  body: z.looseObject(streamed.shape),
  handle: (request) => {
    const why =
      'models are GGUF files: quantize and merge them with llama.cpp, and send system messages and options';
    return fail('OPERATION_UNSUPPORTED', { what: `create ${nameOf(request).slice(0, 200)}`, why });
  },
});

/** `POST /api/push`, which is refused. */
export const ollamaPushEndpoint = postEndpoint({
  path: '/api/push',
  summary: 'Refused: nothing is uploaded.',
  dialect: 'ollama',
  body: streamed.extend({ insecure: z.boolean().nullish() }),
  handle: (request) => {
    const why = 'the server sends no files to others';
    return fail('OPERATION_UNSUPPORTED', { what: `push ${nameOf(request).slice(0, 200)}`, why });
  },
});

function nameOf({ model, name }: Named): string {
  return modelName(model ?? name ?? invalid('model', 'is required'));
}

/** Throws `FEATURE_DISABLED`. */
function filesOf({ files }: RequestContext['server'], what: string): ModelFiles {
  return files ?? fail('FEATURE_DISABLED', { what, option: '--manage-models with --models' });
}
