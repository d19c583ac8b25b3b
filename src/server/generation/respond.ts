import type { RequestContext } from '../request-context.ts';
import { errorBody } from '../error-response.ts';
import { byteStream, eventStream, eventText, type StreamEvent } from '../event-stream.ts';
import type { KeptStream } from '../kept-streams.ts';
import type { StartedGeneration } from './run-task.ts';

/**
 * Streams events made from a generation's. An error on the way becomes the last event; a client that disconnects ends
 * the generation, unless the stream is kept.
 */
export function respondWithEvents(
  call: RequestContext,
  generation: StartedGeneration,
  events: AsyncGenerator<StreamEvent, void>,
  ping?: StreamEvent,
): Response {
  call.isStreaming = true;
  if (call.kept) {
    void keep(call.kept, withErrors(call, events));
    return byteStream(call.kept.read(0));
  }
  const leave = () => {
    call.abort();
    const end = () => call.end();
    void generation.events.return().then(end, end);
  };
  const isLines = call.dialect === 'ollama';
  const { connection } = call.terms;
  return eventStream(withErrors(call, events), leave, { isLines, ping, connection });
}

/** Reads events to their end into a stream that is kept, whoever else reads it. */
async function keep(stream: KeptStream, events: AsyncGenerator<StreamEvent, void>): Promise<void> {
  const encoder = new TextEncoder();
  for await (const event of events) stream.write(encoder.encode(eventText(event)));
  stream.end();
}

async function* withErrors(
  call: RequestContext,
  events: AsyncGenerator<StreamEvent, void>,
): AsyncGenerator<StreamEvent, void> {
  try {
    yield* events;
    call.end(200);
  } catch (error) {
    const typed = call.errorOf(error);
    const { dialect } = call;
    const data = JSON.stringify(errorBody(typed, dialect, call.id));
    yield dialect === 'anthropic' ? { name: 'error', data } : { data };
    call.end(typed.status);
  }
}
