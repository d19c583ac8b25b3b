import { z } from 'zod';
import type { TextModel } from '../../engine/text-model.ts';
import { isRocmforgeError } from '../../base/errors.ts';
import { getEndpoint, json } from '../endpoint.ts';
import type { RequestContext } from '../request-context.ts';
import { buildOf } from '../openai/chat-chunks.ts';
import { readQuery } from '../query.ts';
import { defaultFields } from '../sampling-defaults.ts';

const query = z.object({ model: z.string().optional() });

/** `GET /props`, as in llama.cpp's server. */
export const propsEndpoint = getEndpoint({
  path: '/props',
  summary: 'Describes a model, or the first one: context, slots, defaults and chat template.',
  query,
  handle: async (call) => {
    const { pool } = call.server;
    const { model: name } = readQuery(call, query);
    const of = name === undefined ? pool.list()[0] : pool.statusOf(name);
    // Looking at a model neither wakes it nor keeps it awake.
    if (of?.model) return json(awakeProps(call.server, of.id, of.model));
    if (of?.state === 'unloaded' && call.server.hasLoaded()) return json(sleepingProps(call.server, of.id));
    using lease = await pool.acquire(of?.id, call.signal);
    return json(awakeProps(call.server, lease.id, lease.model));
  },
});

/** What the server is, whichever model is asked about. */
function serverProps(server: RequestContext['server']): object {
  const { pool, maxModels, autoload } = server;
  const isRouter = pool.list().length > 1;
  const router = { max_instances: maxModels ?? null, models_autoload: autoload };
  return { role: isRouter ? 'router' : 'model', ...(isRouter && router), build_info: buildOf(server) };
}

function awakeProps(server: RequestContext['server'], id: string, model: TextModel): object {
  const { bos, eos } = model.tokenizer.special;
  const name = (token: number | undefined) => (token === undefined ? '' : model.tokenizer.tokenText(token));
  const params = defaultFields(model, server.sampling);
  return {
    default_generation_settings: { n_ctx: model.context, params },
    total_slots: model.activity.slots,
    // Folders concern only the operator of the server.
    model_path: model.gguf.name.replace(/^.*[\\/]/s, ''),
    model_alias: id,
    modalities: { vision: false, audio: false },
    chat_template: templateOf(model),
    system_prompt: server.systemPrompt ?? '',
    bos_token: name(bos),
    eos_token: name(eos),
    ...serverProps(server),
    is_sleeping: false,
  };
}

/** What is known of a model that sleeps. */
function sleepingProps(server: RequestContext['server'], id: string): object {
  return { model_alias: id, ...serverProps(server), is_sleeping: true };
}

/** The source of the model's chat template; empty if it has none. */
function templateOf(model: TextModel): string {
  try {
    return model.chatTemplate.source;
  } catch (error) {
    if (isRocmforgeError(error, 'CHAT_TEMPLATE_MISSING')) return '';
    throw error;
  }
}
