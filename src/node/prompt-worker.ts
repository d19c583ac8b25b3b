import { servePrompts } from '../engine/remote/prompt-thread.ts';
import { type PromptSource, textOf } from './load-model-in-worker.ts';
import { ownWorkerPort } from './worker-port.ts';

/** Entry point of the thread that renders a model's long conversations. */
servePrompts<PromptSource>(ownWorkerPort(), async ({ location, headers, chatTemplate }, logger) => {
  const { text } = await textOf(location, { headers, chatTemplate, logger });
  return text;
});
