/** An event of a stream: its data, and its name where the API names events. */
export interface StreamEvent {
  readonly name?: string;
  readonly data: string;
}

/** Milliseconds without an event after which a comment says that the server is still there. */
const PING_MS = 10_000;

/**
 * A response that sends events as they come (server-sent events, WHATWG HTML section 9.2), and comments while none does. The next
 * event is asked for when the client has taken the last ones; a client that leaves makes `leave` be called and ends the events.
 */
export function eventStream(
  events: AsyncGenerator<StreamEvent, void>,
  leave: () => void,
  pingMs = PING_MS,
): Response {
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<StreamEvent, void>> | undefined;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      next ??= events.next();
      const come = await within(next, pingMs);
      if (!come) return controller.enqueue(encoder.encode(': ping\n\n'));
      next = undefined;
      if (come.done) controller.close();
      else controller.enqueue(encoder.encode(eventText(come.value)));
    },
    async cancel() {
      leave();
      await events.return();
    },
  });
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    // Proxies would hold the pieces back.
    'x-accel-buffering': 'no',
  };
  return new Response(body, { headers });
}

/** What a promise resolves with, or undefined where that takes longer. Rejects as it. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function eventText({ name, data }: StreamEvent): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;
}
