/** An event of a stream: its data, and its name if the API names events. */
export interface StreamEvent {
  readonly name?: string;
  readonly data: string;
}

/** Milliseconds without an event after which a comment keeps the connection alive. */
const PING_MS = 10_000;

/** How a stream that has no events is kept alive. */
interface PingOptions {
  readonly pingMs?: number;
  readonly isLines?: boolean;
  readonly ping?: StreamEvent | undefined;
}

/**
 * A response that sends events as they occur (server-sent events, WHATWG HTML section 9.2), and comments while there
 * are none, or `ping` where an API has such an event. The next event is requested once the client has taken the previous ones; when the client disconnects,
 * `leave` is called and the events end. With `isLines` each event is a line of JSON (NDJSON).
 */
export function eventStream(
  events: AsyncGenerator<StreamEvent, void>,
  leave: () => void,
  { pingMs = PING_MS, isLines = false, ping }: PingOptions = {},
): Response {
  const encoder = new TextEncoder();
  // A timer for the whole stream, since one for each event costs as much as the event.
  let pinging: ReturnType<typeof setInterval> | undefined;
  let sentAt = performance.now();
  const pingText = ping ? eventText(ping) : ': ping\n\n';
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Lines of JSON have no comments.
      if (isLines) return;
      pinging = setInterval(() => {
        const isIdle = performance.now() - sentAt >= pingMs;
        if (isIdle && (controller.desiredSize ?? 0) > 0) send(controller, pingText);
      }, pingMs / 4);
    },
    async pull(controller) {
      try {
        const { done, value } = await events.next();
        if (!done) return send(controller, isLines ? `${value.data}\n` : eventText(value));
        clearInterval(pinging);
        controller.close();
      } catch (error) {
        clearInterval(pinging);
        throw error;
      }
    },
    async cancel() {
      clearInterval(pinging);
      leave();
      await events.return();
    },
  });
  function send(controller: ReadableStreamDefaultController<Uint8Array>, line: string): void {
    controller.enqueue(encoder.encode(line));
    sentAt = performance.now();
  }
  return new Response(body, {
    headers: streamHeaders(isLines ? 'application/x-ndjson' : 'text/event-stream; charset=utf-8'),
  });
}

/** A response of events that are there as bytes already. Its reader may leave at any time. */
export function byteStream(bytes: AsyncGenerator<Uint8Array, void>): Response {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await bytes.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel() {
      // It returns when the next bytes come.
      void bytes.return();
    },
  });
  return new Response(body, { headers: streamHeaders('text/event-stream; charset=utf-8') });
}

function streamHeaders(type: string): Record<string, string> {
  return {
    'content-type': type,
    'cache-control': 'no-cache',
    // Otherwise proxies would buffer the stream.
    'x-accel-buffering': 'no',
  };
}

/** The value of a promise, or undefined if it takes longer than `ms`. Rejects like the promise. */
export async function resultWithin<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
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

/** An event as it is sent. */
export function eventText({ name, data }: StreamEvent): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;
}
