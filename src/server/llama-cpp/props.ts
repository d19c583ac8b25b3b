import type { TextModel } from '../../engine/text-model.ts';
import { isRocmforgeError } from '../../base/errors.ts';
import { getEndpoint, json } from '../endpoint.ts';
import type { RequestContext } from '../request-context.ts';
import { buildOf } from '../openai/chat-chunks.ts';
import { defaultFields } from '../sampling-defaults.ts';

/** `GET /props`, as in llama.cpp's server. */
export const propsEndpoint = getEndpoint({
  path: '/props',
  summary: 'Describes the first model: context, slots, defaults and chat template.',
  handle: async (call) => {
    const { pool } = call.server;
    const [first] = pool.list();
    // Looking at a model neither wakes it nor keeps it awake.
    if (first?.model) return json(awakeProps(call.server, first.id, first.model));
    if (first?.state === 'unloaded' && call.server.hasLoaded())
      return json(sleepingProps(call.server, first.id));
    using lease = await pool.acquire(undefined, call.signal);
    return json(awakeProps(call.server, lease.id, lease.model));
  },
});

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
    build_info: buildOf(server),
    is_sleeping: false,
  };
}

/** What is known of a model that sleeps. */
function sleepingProps(server: RequestContext['server'], id: string): object {
  return { model_alias: id, build_info: buildOf(server), is_sleeping: true };
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
