import { servePrompts } from '../engine/remote/prompt-thread.ts';
import { type PromptSource, textOf } from './load-model-in-worker.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry of the thread that writes a model's long conversations down. */
servePrompts<PromptSource>(ownWorkerPort(), async ({ location, headers, chatTemplate }, logger) => {
  const { text } = await textOf(location, { headers, chatTemplate, logger });
  return text;
});
